"""What the tests of all sample applications share."""

from __future__ import annotations

import io
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

import edna
from apps.showcase import tour as showcase
from edna import serverkeys

Run = Callable[..., str]
Sabotage = Callable[..., Any]


@pytest.fixture(scope="session")
def migrated() -> Callable[..., Any]:
    """`call_command` for tours, which has the first one migrated and copies that for the others: migrating takes longer than the tour."""
    copies: list[sqlite3.Connection] = []

    def call(name: str, *args: Any, **options: Any) -> Any:
        if name != "migrate":
            return call_command(name, *args, **options)
        connection.ensure_connection()
        if copies:
            copies[0].backup(connection.connection)
            serverkeys.introduce(using=connection.alias)  # as the receivers of `migrate` do
        else:
            call_command(name, *args, **options)
            copies.append(sqlite3.connect(":memory:"))
            connection.connection.backup(copies[0])
        return None

    return call


@pytest.fixture
def tour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any, migrated: Callable[..., Any]
) -> Iterator[Run]:
    """Runs the guided tour of an application in this process. It uses no test database: it makes one of its own.

    Whatever it says fits into a terminal.
    """
    monkeypatch.setattr(settings, "VAR", tmp_path, raising=False)
    monkeypatch.setattr(showcase, "call_command", migrated)

    def run(*application: str, **options: Any) -> str:
        output = io.StringIO()
        try:
            call_command("demo", *application, stdout=output, **options)
        finally:
            run.output = output.getvalue()  # type: ignore[attr-defined]
        assert options or max(map(len, output.getvalue().splitlines())) <= 100
        return output.getvalue()

    with django_db_blocker.unblock():
        yield run


@pytest.fixture
def sabotaged(tour: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, Sabotage, str], None]:
    """Runs a tour in which a function of edna does something else, and expects that this claim of the tour fails."""

    def run(application: str, name: str, sabotage: Sabotage, claim: str) -> None:
        original = getattr(edna, name)
        monkeypatch.setattr(edna, name, lambda *args, **kwargs: sabotage(original, *args, **kwargs))
        with pytest.raises(CommandError) as failure:
            tour(application)
        assert failure.value.returncode == 1
        assert "checks failed" in str(failure.value)
        assert any(claim in failed for failed in _failed(tour.output))
        assert "checks held" not in tour.output

    return run


def _failed(output: str) -> list[str]:
    """The claims that did not hold; long ones go on in indented lines."""
    claims = re.findall(r"^  ✗ (.*(?:\n {6}.*)*)", output, re.MULTILINE)
    return [" ".join(claim.split()) for claim in claims]
