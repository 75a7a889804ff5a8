"""What the specifications of others' packages promise, told with the real packages: everybody out and back, in each order.

Is written into a project of its own (`test_packages`), and imported there. `told` returns what differs in the end, by table.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.core import serializers
from django.core.management import call_command

import edna

OURS = ("edna", "sessions", "contenttypes")


def prepared() -> None:
    """Tables, and not a word from any check of edna's."""
    call_command("migrate", verbosity=0)
    call_command("check", tags=["edna"], fail_level="WARNING")


def registered(*names: str) -> tuple[list[Any], list[Any]]:
    people = [User.objects.create_user(name, f"{name}@example.org", "x") for name in names]
    return people, [edna.register_principal(person).secret_key for person in people]


def rows() -> dict[str, str]:
    models = [each for each in apps.get_models(include_auto_created=True) if each._meta.app_label not in OURS]
    return {
        each._meta.label: serializers.serialize("json", each._base_manager.order_by("pk"))
        for each in models
        if each._meta.managed and not each._meta.proxy
    }


def told(disguise: str, people: Sequence[Any], keys: Sequence[Any]) -> Mapping[str, int]:
    """How often a table differed after all were out and all were back, of how many stories; who is away is named nowhere."""
    orders = list(itertools.permutations(range(len(people))))
    names, accounts = [str(person) for person in people], [person.pk for person in people]
    differing: dict[str, int] = {"stories": 0}
    for out, back in itertools.product(orders, orders):
        before, receipts = rows(), {}
        for number in out:
            receipts[number] = edna.disguise(disguise, type(people[number]).objects.get(pk=accounts[number]))
            assert not [names[each] for each in receipts if names[each] in str(rows())], (out, back)
        waiting = [*back, *back]  # where rows of two refer to each other, who returned early reveals once more
        for place, number in enumerate(waiting):
            if place >= len(back) and receipts[number] is None:
                continue
            with edna.unlock(secret_key=keys[number]) as unlocked:
                if edna.reveal(receipts[number], unlocked).complete:
                    receipts[number] = None
            away = [names[each] for each in waiting[place + 1 : len(back)]]
            assert not [name for name in away if name in str(rows())], (out, back)
        after = rows()
        differing["stories"] += 1
        for label in (label for label in before if before[label] != after[label]):
            differing[label] = differing.get(label, 0) + 1
    return differing
