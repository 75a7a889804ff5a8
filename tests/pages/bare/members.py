"""The bare project with something of everything, for whoever goes through its pages and has them go wrong."""

from __future__ import annotations

from django.contrib.auth.models import User

import edna
from tests.pages.bare.club.models import Comment
from tests.pages.bare.conftest import join
from tests.pages.mishaps.site import PASSWORD, Site, brought_back


def club() -> Site:
    bea = join("bea", PASSWORD)
    join("carl", PASSWORD)
    waits = edna.disguise("club.disown-remarks", bea.user)
    Comment.objects.get(text="bea agrees").delete()
    with bea.unlock() as unlocked:
        waiting = brought_back(waits, unlocked)
    Comment.objects.create(author=bea.user, note=bea.user.notes.earliest("pk"), text="bea agrees with herself")
    receipt = edna.disguise("club.tidy", bea.user)
    Comment.objects.create(author=bea.user, note=bea.user.notes.earliest("pk"), text="and again")
    return Site(
        "bare",
        "bea",
        bea.user,
        User.objects.create_user("staff", password=PASSWORD, is_staff=True),
        User.objects.create_user("fresh", password=PASSWORD),
        "django.contrib.auth.backends.ModelBackend",
        {"name": "club.leave"},
        "carl",
        receipt=str(receipt),
        code=str(bea.recovery_code),
        waiting=waiting,
        beside=("club.Note", "club.Comment"),
    )
