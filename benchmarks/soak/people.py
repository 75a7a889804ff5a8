"""The people of a soak: a course of WebSubmit, a small Lobsters, and who does what there. Nobody is in two groups."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from typing import Any, Final

from django.core.management import call_command
from django.utils import timezone

import edna
from apps.lobsters_sim.models import User as Member
from apps.websubmit.models import User as Student
from benchmarks.lobsters.site import TAG
from benchmarks.websubmit.course import Course, Scale

#: How many of each group; with ``scale`` 1.
_READERS, _LEAVERS, _IN_JOBS, _MEMBERS, _IN_TOPIC, _DORMANT = 20, 40, 10, 60, 30, 6
_AWAY_DAYS: Final = 3 * 365


def settle(*, scale: float, seed: int) -> dict[str, Any]:
    """Fill an empty database; who there is, with their keys, for the processes of the soak."""

    def some(number: int) -> int:
        return max(4, round(number * scale))

    source = random.Random(seed)
    course = Course(Scale(users=some(200), lectures=5, questions=4), with_slots=some(_LEAVERS), seed=seed)
    readers = course.members[some(_LEAVERS) :][: some(_READERS)]
    in_jobs = course.members[some(_LEAVERS) + some(_READERS) :][: some(_IN_JOBS)]

    call_command("lobsters_seed", scale=max(0.01, 0.1 * scale), no_register=True, verbosity=0)
    Member.objects.update(is_moderator=False, last_login=timezone.now())  # a right that does not come back is no loss
    members = list(Member.objects.filter(deleted_at=None).order_by("pk"))
    source.shuffle(members)
    writers = [member for member in members if member.stories.filter(taggings__tag__tag=TAG).exists()]
    in_topic = writers[: min(some(_IN_TOPIC), max(2, len(writers) // 2))]
    others = [member for member in members if member not in in_topic]
    leavers, dormant = others[: some(_MEMBERS)], others[some(_MEMBERS) :][: some(_DORMANT)]
    edna.register_principals(others[some(_MEMBERS) + some(_DORMANT) :])
    _put_to_sleep(dormant)
    return {
        "lectures": [lecture.pk for lecture in course.lectures],
        "readers": [{"pk": each.user.pk} for each in readers],
        "leavers": [{"pk": each.user.pk, "code": each.recovery_code} for each in course.with_slots],
        "in_jobs": [{"pk": each.user.pk, "key": each.secret_key.expose_text()} for each in in_jobs],
        "members": _registered(leavers),
        "in_topic": _registered(in_topic),
        "dormant": _registered(dormant),
    }


def forget_logins() -> None:
    """The one thing that a soak leaves changed: students log in. To be called before the tables are read, each time."""
    Student.objects.update(last_login=None)


def _registered(members: Sequence[Member]) -> list[dict[str, Any]]:
    """With a recovery slot each: a key that is replaced has one, and the tables are to hold as much before as after."""
    found = []
    for member in members:
        made = edna.register_principal(member)
        assert made.secret_key is not None
        found.append({"pk": member.pk, "key": made.secret_key.expose_text()})
    return found


def _put_to_sleep(members: Sequence[Member]) -> None:
    long_ago = timezone.now() - datetime.timedelta(days=_AWAY_DAYS)
    keys = [member.pk for member in members]
    Member.objects.filter(pk__in=keys).update(last_login=long_ago, created_at=long_ago)
