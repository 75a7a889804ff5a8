"""What members can disguise. Never changes, either."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Modify, Param, Remove, placeholders

from .models import Message, Note, Vote


@edna.register
class Leave(Disguise):
    name = "club.leave"
    transformations = [
        Remove(Vote, owner="voter"),
        Remove(Vote, owner="note__author"),
        Remove(Note, owner="author"),
        Remove(Message, owner=["sender", "recipient"]),
        Remove(User.groups.through, owner="user"),
        Remove(User.user_permissions.through, owner="user"),
        Remove(User),
    ]


@edna.register
class Veil(Disguise):
    name = "club.veil"
    transformations = [Decorrelate(Note, owner="author"), Decorrelate(Vote, owner="voter")]


@edna.register
class Blur(Disguise):
    name = "club.blur"
    params = {"below": int}
    transformations = [
        Modify(
            Note,
            owner="author",
            where=Q(price__lt=Param("below")),
            set={"text": placeholders.constant("[blurred]"), "price": placeholders.null()},
        )
    ]


@edna.on_reveal("club.by-hand")
def come_back(revealed: Any) -> None:
    assert [bytes(blob) for blob in revealed.blobs] == [b"kept elsewhere"]
