"""Asking first which tables have anything of a person: what somebody is writing while its owner leaves is taken along."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connections, transaction

import edna
from edna import Remove
from edna.engine import finding
from tests.installed import registered

from .conftest import SCHEMAS


@pytest.mark.only_on("mysql")
@pytest.mark.django_db(transaction=True)
def test_a_row_that_is_being_written_goes_along(schema_tables: Any, spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the database ties it to its owner: no lock on the owner's row has waited for whoever writes it."""
    monkeypatch.setattr(finding, "_LEAST_PROBED", 1)
    written = threading.Event()

    def write() -> None:
        with transaction.atomic():
            schema_tables.Trace.objects.create(actor=actor, text="what Ada did")
            written.set()
            slept.wait(1)
        connections.close_all()

    slept = threading.Event()
    with registered(SCHEMAS):
        actor = schema_tables.Actor.objects.create(name="Ada")
        edna.register_principal(actor)
        name = spec("leave", Remove(schema_tables.Trace, owner="actor"))
        writer = threading.Thread(target=write)
        writer.start()
        assert written.wait(10)
        edna.disguise(name, actor)
        writer.join(10)
        assert not schema_tables.Trace.objects.exists()
        schema_tables.Actor.objects.all().delete()
