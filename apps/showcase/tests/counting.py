"""One way of counting: every place that says how many rows a disguise is about says the same, in each application."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

import edna
from apps.showcase.friendly import count_each

#: Returns the lines of a page's context.
Page = Callable[[edna.Receipt], list[str]]


def counted_alike(
    disguise: str,
    user: Any,
    code: str,
    *,
    monkeypatch: pytest.MonkeyPatch,
    bring_back: Page,
    previewed: Callable[[], list[str]] | None = None,
    listed: Page | None = None,
    with_key: bool = False,
    said: Callable[[Mapping[str, int]], list[str]] = count_each,
    **params: Any,
) -> dict[str, int]:
    """Disguise and come back on the page, after having done it by the command and by the library, and taken that back.

    Plan, history and outcome, the output of the commands, and the lines of the pages must count the same; returns what they count.
    A plan ``with_key`` has rows of pseudoprincipals, which the command and the page that previews cannot know of.
    """
    with edna.unlock(recovery_code=code) as unlocked:
        key = unlocked if with_key else None
        counts = edna.plan(disguise, user, params=params, unlocked=key).counts
        lines = said(counts)
        if not with_key:
            options = [(name, str(value)) for name, value in params.items()]
            assert _command("edna_plan", disguise, principal=str(user.pk), param=options)["counts"] == counts
            if previewed:
                shown = previewed()
                assert [line for line in lines if not any(line in each for each in shown)] == []
        receipt = edna.disguise(disguise, user, params=params, unlocked=key)
        assert {entry.receipt: entry.counts for entry in edna.history(unlocked)}[receipt] == counts
        if listed:
            assert sorted(listed(receipt)) == sorted(lines)
        with _taken_back():
            outcome = edna.reveal(receipt, unlocked)
            assert (outcome.restored, outcome.held, outcome.deferred) == (counts, [], {})
    with _taken_back():
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{code}\n"))
        assert _command("edna_reveal", str(receipt), recovery_code_stdin=True)["restored"] == counts
    assert sorted(bring_back(receipt)) == sorted(lines)
    return counts


def _command(*argv: str, **options: Any) -> dict[str, Any]:
    output = io.StringIO()
    call_command(*argv, json=True, stdout=output, **options)
    document: dict[str, Any] = json.loads(output.getvalue())
    return document


@contextmanager
def _taken_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
