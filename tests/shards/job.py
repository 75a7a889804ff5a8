"""A job in each shard, from its start to the way back: `python -m tests.shards.job STAGE`. What a later stage has to know is in a file."""

from __future__ import annotations

import json
import pickle
import sys
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402

import edna  # noqa: E402
from edna.operations import jobs  # noqa: E402
from edna.testing import assert_nothing_left  # noqa: E402
from tests.shards.run import SHARDS, everything, manage, member, migrate  # noqa: E402

PEOPLE = 40
STATE = settings.SCRATCH / "state"


def begin() -> Any:
    """The same primary keys in both shards."""
    migrate()
    keys: dict[str, list[str]] = {}
    for alias in SHARDS:
        people = [member(alias, f"{alias}-wanderer-{key}", key=key) for key in range(1, PEOPLE + 1)]
        made = edna.register_principals(people)
        keys[alias] = [each.secret_key.expose_text() for each in made if each.secret_key is not None]
    STATE.write_bytes(pickle.dumps((keys, {alias: everything(alias) for alias in SHARDS})))
    for alias in SHARDS:
        with edna.on(alias):
            jobs.start("club.leave", concurrency=1)
    return look()


def look(*databases: str) -> Any:
    """By database, how far its job is."""
    found = {}
    for alias in databases or SHARDS:
        with edna.on(alias):
            (each,) = jobs.reports()
        found[alias] = {"done": each.done, "left": each.left, "failed": each.failed, "state": str(each.state)}
    return found


def end() -> Any:
    """Everybody is away once, and nothing of them is anywhere; then all is as it was."""
    keys, before = pickle.loads(STATE.read_bytes())
    for alias in SHARDS:
        assert User.objects.using(alias).count() == 0
        assert_nothing_left(*(f"{other}-wanderer" for other in SHARDS), "hello from the", using=alias)
        manage("edna_verify", "--database", alias)
    for alias in SHARDS:
        for key in keys[alias]:
            with edna.unlock(secret_key=key) as unlocked:
                assert unlocked.using == alias
                (entry,) = edna.history(unlocked)
                assert edna.reveal(entry.receipt, unlocked).complete
    assert {alias: everything(alias) for alias in SHARDS} == before
    return look()


if __name__ == "__main__":
    print(json.dumps({"begin": begin, "look": look, "end": end}[sys.argv[1]](*sys.argv[2:])))
