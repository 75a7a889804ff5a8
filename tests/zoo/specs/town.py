"""Leaving the town, hiding in it, and keeping quiet."""

from __future__ import annotations

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Modify, Param, Remove, placeholders
from tests.zoo.models.town import (
    Attachment,
    Citizen,
    Comment,
    Decree,
    Flag,
    Membership,
    Mention,
    Post,
    Profile,
    Vote,
)


class AnonymousCitizen(edna.Pseudoprincipal):
    model = Citizen
    values = {"email": placeholders.random_email(), "name": "somebody"}


#: What hangs on posts, and goes with them.
_UNDER_POSTS = [
    Remove(Post.tags.through, owner="post__author"),
    Remove(Flag, owner="post__author"),
    Remove(Comment, owner="post__author"),
    Remove(Attachment, owner="comment__post__author"),
    Remove(Mention, owner="comment__post__author"),
    Remove(Mention, owner="post__author"),
    Remove(Vote, owner="post__author"),
]
_UNDER_COMMENTS = [Remove(Attachment, owner="comment__author"), Remove(Mention, owner="comment__author")]


class Leave(Disguise):
    """Everything of a citizen, the account included."""

    name = "zoo.town-leave"
    transformations = [
        Remove(Citizen),
        Remove(Profile, owner="citizen"),
        Remove(Decree, owner="mayor"),
        Remove(Post, owner="author"),
        *_UNDER_POSTS,
        Remove(Comment, owner="author"),
        *_UNDER_COMMENTS,
        Remove(Vote, owner="voter"),
        Remove(Membership, owner="member"),
    ]


class LeaveQuietly(Disguise):
    """The account goes; what was said stays, and belongs to nobody in particular."""

    name = "zoo.town-leave-quietly"
    transformations = [
        Remove(Citizen),
        Remove(Profile, owner="citizen"),
        Decorrelate(Decree, owner="mayor"),
        Decorrelate(Post, owner="author", group_by=edna.ALL),
        Decorrelate(Comment, owner="author", group_by=["post"]),
        Decorrelate(Vote, owner="voter"),
        Remove(Membership, owner="member"),
    ]


class Unpublish(Disguise):
    """Posts only, with what hangs on them."""

    name = "zoo.town-unpublish"
    transformations = [Remove(Post, owner="author"), *_UNDER_POSTS]


class Silence(Disguise):
    """Comments only; replies to them lose their place in the tree."""

    name = "zoo.town-silence"
    transformations = [Remove(Comment, owner="author"), *_UNDER_COMMENTS]


class Hide(Disguise):
    """One pseudoprincipal for each row. For everybody, too."""

    name = "zoo.town-hide"
    applies_to = "staff"
    transformations = [
        Decorrelate(Post, owner="author"),
        Decorrelate(Comment, owner="author"),
        Decorrelate(Vote, owner="voter"),
        Decorrelate(Decree, owner="mayor"),
    ]


class HideByPost(Disguise):
    """One pseudoprincipal for each post that was commented on, one for all votes."""

    name = "zoo.town-hide-by-post"
    transformations = [
        Decorrelate(Comment, owner="author", group_by=["post"]),
        Decorrelate(Vote, owner="voter", group_by=edna.ALL),
    ]


class HideScore(Disguise):
    """By a condition with a parameter."""

    name = "zoo.town-hide-score"
    params = {"score": int}
    transformations = [
        Decorrelate(Post, owner="author", where=Q(score__gte=Param("score")), group_by=["status"]),
        Decorrelate(Comment, owner="author", where=Q(post__score__gte=Param("score")), group_by=edna.ALL),
    ]


class Redact(Disguise):
    """Texts are replaced, everywhere and of every kind of owner."""

    name = "zoo.town-redact"
    applies_to = "staff"
    transformations = [
        Modify(Citizen, set={"name": "[redacted]", "born": placeholders.null()}),
        Modify(Profile, owner="citizen", set={"bio": placeholders.blank()}),
        Modify(
            Post,
            owner="author",
            set={"title": placeholders.random_string(), "body": "[redacted]", "score": 0, "place": placeholders.null()},
        ),
        Modify(Comment, owner="author", set={"text": "[redacted]"}),
        Modify(Attachment, owner="comment__author", set={"text": placeholders.random_string()}),
        Modify(Membership, owner="member", set={"role": "member"}),
    ]


ALL = (AnonymousCitizen, Leave, LeaveQuietly, Unpublish, Silence, Hide, HideByPost, HideScore, Redact)
