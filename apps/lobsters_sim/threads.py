"""Comments below a story as a tree: replies below what they answer, the best first. Builds it in memory, asks the database nothing."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from .models import Comment


@dataclass
class Node:
    """A comment in its place. Trees are written without recursion: each node says which lists begin and end behind it."""

    comment: Comment
    depth: int = 0
    vote: int = 0
    is_new: bool = False
    opens: bool = False
    ends: int = 0

    @property
    def is_gone(self) -> bool:
        return self.comment.is_deleted or self.comment.is_moderated

    @property
    def closing(self) -> SafeString:
        return mark_safe("</ol></li>" * self.ends)  # noqa: S308 - nothing that anybody wrote


def thread(
    comments: Iterable[Comment],
    votes: Mapping[int, int],
    *,
    read_until: datetime.datetime | None = None,
    viewer: int | None = None,
) -> list[Node]:
    """Top comments and, behind each, its replies, in the order in which a page shows them.

    Deleted comments stay only where an answer hangs on them. New is what others wrote since ``read_until``.
    """
    comments = list(comments)
    known = {comment.pk for comment in comments}
    below: defaultdict[int | None, list[Comment]] = defaultdict(list)
    for comment in sorted(comments, key=lambda comment: (comment.confidence, -comment.pk)):
        below[comment.parent_comment_id if comment.parent_comment_id in known else None].append(comment)
    nodes: list[Node] = []
    waiting = [(comment, 0) for comment in below[None]]
    while waiting:
        comment, depth = waiting.pop()
        new = read_until is not None and comment.created_at > read_until and comment.user_id != viewer
        nodes.append(Node(comment, depth, votes.get(comment.pk, 0), new))
        waiting.extend((reply, depth + 1) for reply in below[comment.pk])
    return _nested(_without_dead_ends(nodes))


def _without_dead_ends(nodes: list[Node]) -> list[Node]:
    kept: list[Node] = []
    for node in reversed(nodes):
        if not node.is_gone or (kept and kept[-1].depth > node.depth):
            kept.append(node)
    return kept[::-1]


def _nested(nodes: list[Node]) -> list[Node]:
    for node, depth in zip(nodes, [*(node.depth for node in nodes[1:]), 0], strict=False):
        node.opens = depth > node.depth
        node.ends = max(node.depth - depth, 0)
    return nodes
