"""Asking first which tables have anything of a person: what somebody is writing while its owner leaves is taken along."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import transaction

import edna
from edna import Remove
from edna.engine.planning import search
from tests.installed import registered
from tests.waiting import WAIT_SECONDS, at_once, until_waiting

from .conftest import SCHEMAS


@pytest.mark.only_on("mysql")
@pytest.mark.django_db(transaction=True)
def test_a_row_that_is_being_written_goes_along(schema_tables: Any, spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the database ties it to its owner: no lock on the owner's row has waited for whoever writes it."""
    monkeypatch.setattr(search, "_LEAST_PROBED", 1)
    written = threading.Event()

    def write() -> None:
        with transaction.atomic():
            schema_tables.Trace.objects.create(actor=actor, text="what Ada did")
            written.set()
            until_waiting()

    def leave() -> edna.Receipt:
        assert written.wait(WAIT_SECONDS)
        return edna.disguise(name, actor)

    with registered(SCHEMAS):
        actor = schema_tables.Actor.objects.create(name="Ada")
        edna.register_principal(actor)
        name = spec("leave", Remove(schema_tables.Trace, owner="actor"))
        wrote, receipt = at_once(write, leave)
        assert wrote is None
        assert isinstance(receipt, edna.Receipt), receipt
        assert not schema_tables.Trace.objects.exists()
        schema_tables.Actor.objects.all().delete()
