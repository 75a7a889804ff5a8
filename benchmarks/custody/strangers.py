"""Whether an answer takes longer for somebody known than for a stranger: `python -m benchmarks.custody.strangers`.

Asks in turns, with a wrong password for both, and prints processor time, which others on the machine disturb least. "Same person" is what
two halves of one person's answers differ by: less than that nobody can tell. With the least Argon2id that there is, so that its noise hides
nothing. Works on a database of its own.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import time
from collections.abc import Callable
from typing import Any

KNOWN, UNKNOWN, WRONG = "bea@example.org", "ann@example.org", "a wrong walk home"
WARM_UP = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3000, help="for each of the two (default: %(default)s)")
    rounds = parser.parse_args().rounds
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings_test"
    import django

    django.setup()
    from django.conf import settings
    from django.db import connection
    from django.test.utils import setup_test_environment

    setup_test_environment()
    settings.EDNA["CUSTODY"] = "both"
    connection.creation.create_test_db(verbosity=0)
    try:
        register()
        print("| asked | known p5 / p50 / p95 | unknown p5 / p50 / p95 | medians differ by | same person |")
        print("|---|---|---|---|---|")
        for name, ask in asks().items():
            print(row(name, *measured(ask, rounds)))
    finally:
        connection.creation.destroy_test_db("", verbosity=0)


def register() -> None:
    import edna
    from apps.websubmit.models import User

    for number in range(200):  # an index to look into
        User.objects.create_user(f"somebody{number}@example.org", "x")
    user = User.objects.create_user(KNOWN, "a long walk home")
    edna.register_principal(user, password="a long walk home")


def asks() -> dict[str, Callable[[str], Any]]:
    import base64

    from django.test import Client
    from django.urls import reverse

    from edna import conf
    from edna.custody import base, password

    client = Client()
    (opslimit, memlimit_bytes), *_ = conf.argon2_costs()

    def lookup(identifier: str) -> str:
        pepper = conf.mac_keys()[0]
        secret = password.derive(
            WRONG, identifier=identifier, pepper=pepper, opslimit=opslimit, memlimit_bytes=memlimit_bytes
        )
        return base64.b64encode(base.lookup(secret)).decode()

    lookups = {identifier: lookup(identifier) for identifier in (KNOWN, UNKNOWN)}
    api = reverse("websubmit-privacy:home") + "api/1/"
    headers = {"Sec-Fetch-Site": "same-origin"}

    def salt(identifier: str) -> Any:
        content = {"identifier": identifier}
        return client.post(f"{api}slots/salt", content, content_type="application/json", headers=headers)

    def slots(identifier: str) -> Any:
        content = {"lookups": [lookups[identifier]]}
        return client.post(f"{api}slots/open", content, content_type="application/json", headers=headers)

    def page(identifier: str) -> Any:
        return client.post(reverse("websubmit-privacy:hidden"), {"identifier": identifier, "password": WRONG})

    return {"`slots/salt`": salt, "`slots/open`": slots, "the page of what is hidden": page}


def measured(ask: Callable[[str], Any], rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of the known and of the unknown."""
    found: dict[str, list[float]] = {KNOWN: [], UNKNOWN: []}
    turns = random.Random(1)
    gc.disable()
    for number in range(rounds + WARM_UP):
        for identifier in turns.sample([KNOWN, UNKNOWN], 2):
            began = time.thread_time_ns()
            response = ask(identifier)
            spent = (time.thread_time_ns() - began) / 1e6
            assert response.status_code == 200, response.content
            if number >= WARM_UP:
                found[identifier].append(spent)
        if number % 100 == 0:
            gc.collect()
    gc.enable()
    return found[KNOWN], found[UNKNOWN]


def row(name: str, known: list[float], unknown: list[float]) -> str:
    from benchmarks.kit.percentiles import percentile

    def three(values: list[float]) -> str:
        return " / ".join(f"{percentile(values, at):.3f}" for at in (5, 50, 95))

    apart = abs(percentile(known, 50) - percentile(unknown, 50))
    alone = abs(percentile(known[::2], 50) - percentile(known[1::2], 50))
    return f"| {name} | {three(known)} | {three(unknown)} | {apart * 1000:.1f} µs | {alone * 1000:.1f} µs |"


if __name__ == "__main__":
    main()
