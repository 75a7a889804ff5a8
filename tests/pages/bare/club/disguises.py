"""What members may do by themselves, and what only the staff may."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy

import edna
from edna import Decorrelate, Disguise, Remove

from .models import Comment, Note

RIGHTS = {"is_staff": False, "is_superuser": False}


@edna.register
class Leave(Disguise):
    name = "club.leave"
    title = gettext_lazy("Delete your account")
    description = gettext_lazy("Your account and your notes leave the site. You can come back.")
    self_service = True
    transformations = [
        Remove(Comment, owner="author"),
        Remove(Comment, owner="note__author"),
        Remove(Note, owner="author"),
        Remove(User.groups.through, owner="user", returning=edna.NOTHING),
        Remove(User.user_permissions.through, owner="user", returning=edna.NOTHING),
        Remove(User, returning=RIGHTS),
    ]


@edna.register
class Disown(Disguise):
    """Your remarks stay where they are, without your name."""

    name = "club.disown-remarks"
    self_service = True
    asks_for_key = False
    transformations = [Decorrelate(Comment, owner="author", group_by=edna.ALL)]


@edna.register
class Tidy(Disguise):
    """Nobody is offered this by a page."""

    name = "club.tidy"
    asks_for_key = False
    transformations = [Remove(Comment, owner="author")]
