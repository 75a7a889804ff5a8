"""Replies stand below what they answer, the best first, and deleted comments only where an answer hangs on them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from django.template import Context, Template
from django.utils import timezone

from apps.lobsters_sim.models import Comment
from apps.lobsters_sim.threads import Node, thread


def comment(pk: int, parent: int | None = None, confidence: str = "0", **fields: Any) -> Comment:
    now = timezone.now()
    return Comment(
        pk=pk,
        parent_comment_id=parent,
        confidence=Decimal(confidence),
        user_id=fields.pop("user_id", 1),
        created_at=now,
        **fields,
    )


def shape(nodes: list[Node]) -> list[tuple[int, int]]:
    return [(node.comment.pk, node.depth) for node in nodes]


def test_best_first_on_each_level() -> None:
    rows = [comment(1), comment(2, confidence="0.5"), comment(3, 1, "0.1"), comment(4, 1, "0.9"), comment(5, 3)]
    assert shape(thread(rows, {})) == [(2, 0), (1, 0), (4, 1), (3, 1), (5, 2)]


def test_equally_good_ones_in_the_order_in_which_they_were_written() -> None:
    assert shape(thread([comment(3), comment(1), comment(2)], {})) == [(1, 0), (2, 0), (3, 0)]


def test_deleted_ones_stay_for_their_answers_only() -> None:
    rows = [comment(1, is_deleted=True), comment(2, 1, is_moderated=True), comment(3, 1), comment(4, is_deleted=True)]
    assert shape(thread(rows, {})) == [(1, 0), (3, 1)]


def test_a_parent_that_is_not_there_makes_a_top_comment() -> None:
    assert shape(thread([comment(2, 99)], {})) == [(2, 0)]


def test_new_is_what_others_wrote_since() -> None:
    before = timezone.now() - datetime.timedelta(hours=1)
    nodes = thread([comment(1), comment(2, user_id=7)], {}, read_until=before, viewer=7)
    assert {node.comment.pk: node.is_new for node in nodes} == {1: True, 2: False}
    assert not any(node.is_new for node in thread([comment(1)], {}))


def test_the_lists_are_well_nested_however_deep() -> None:
    chain = [comment(1), *(comment(pk, pk - 1) for pk in range(2, 2000)), comment(2001, 3), comment(2002)]
    nodes = thread(chain, {})
    assert len(nodes) == len(chain)
    text = "{% for node in thread %}<li>{% if node.opens %}<ol>{% else %}</li>{{ node.closing }}{% endif %}{% endfor %}"
    html = Template(text).render(Context({"thread": nodes}))
    assert html.count("<ol>") == html.count("</ol>")
    assert html.count("<li>") == html.count("</li>") == len(chain)
    depth = 0
    for part in html.split("<"):
        depth += {"li>": 1, "ol>": 1, "/li>": -1, "/ol>": -1}.get(part, 0)
        assert depth >= 0
    assert depth == 0
