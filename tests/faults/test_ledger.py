"""Killed at every step while a ledger is kept: a row is there if and only if somebody is disguised."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import override_settings

from tests.faults.operations import DEEP, OPERATIONS, Operation
from tests.faults.runs import Run
from tests.faults.test_kill import kill_at_every_step

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("applications"), pytest.mark.django_db(transaction=True)]
if not DEEP:
    pytestmark.append(pytest.mark.once)  # of a table more in the same transactions; test_kill kills on each database

NAMES = ("disguise", "disguise everybody", "reveal removed rows", "reveal in part", "reveal the first of two")


@pytest.fixture(autouse=True)
def keeping_a_ledger(applications: None) -> Iterator[None]:
    with override_settings(EDNA={**settings.EDNA, "LEDGER": True}):
        yield


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each.name in NAMES], ids=str)
def test_killed_at_every_step(operation: Operation) -> None:
    """`Run` compares every table with what it was before or after, the ledger's among them; in the end it is empty again."""
    run = Run(operation)
    assert run.before.edna["edna_ledgerentry"] or run.done["edna_ledgerentry"]
    kill_at_every_step(run)
