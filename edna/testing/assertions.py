"""What a disguise promises, as assertions: it can be undone exactly, and meanwhile nothing of the person is to be read; and that the
report for data protection is the one in the repository.

Each fails with an AssertionError that names tables and columns, never what is in them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Model

import edna
from edna.testing.dumps import Dump, application_dump, differences
from edna.testing.search import Needle, places
from edna.words import count

_SHORTEST: Final = 3


@contextmanager
def everything_returns(*, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> Iterator[None]:
    """At the end of the block every table of the application is what it was at its beginning, byte for byte; also if it ends with an error.

    ``ignore`` names tables (``django_session``) and columns (``auth_user.last_login``) that may be others.
    """
    before = application_dump(using=using, ignore=ignore)
    try:
        yield
    finally:
        assert_same(before, application_dump(using=using, ignore=ignore), using=using, ignore=ignore)


def assert_same(before: Dump, after: Dump, *, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> None:
    """Two dumps are the same."""
    if differing := differences(before, after, using=using, ignore=ignore):
        raise AssertionError("\n".join(["Not everything is as it was:", *differing]))


def assert_nothing_left(*needles: Needle, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> None:
    """None of these texts stands in any table, edna's own and sessions included, in whatever spelling.

    ``ignore`` names tables and columns that may hold them. A text has at least three characters: a shorter one, such as a small primary
    key, is found by chance in any column.

    Raises:
        ValueError: nothing to look for, or too short a text.
    """
    if not needles or not all(needle if isinstance(needle, str | bytes) else True for needle in needles):
        raise ValueError("name what must not be found: an e-mail address, a name, a text")
    if any(isinstance(needle, str | bytes) and len(needle) < _SHORTEST for needle in needles):
        raise ValueError(
            f"A text of fewer than {_SHORTEST} characters is found in every table by chance: name an e-mail address, a name, a text."
        )
    named = {repr(needle): needle for needle in needles}
    if found := places(named, using=using, ignore=ignore):
        raise AssertionError("\n".join(["Something of the person is left:", *found]))


def assert_nothing_left_of(
    user: Model, disguise: str, *, params: Mapping[str, Any] | None = None, ignore: Collection[str] = ()
) -> None:
    """A rehearsal: once ``disguise`` is applied to the user, none of the values that it took from them is to be read in any table, in
    sessions, or in the name of a file. What was done is undone at the end, whether the user has a key or not.

    Which values, their own rows say: as `edna_audit --principal` finds them. What somebody else has in the same column is
    not counted, nor is another principal's user name or e-mail address that stood in a row of this one.
    """
    # Late: this module is imported before applications are ready.
    from edna import registry
    from edna.auditing import search, values

    using = registry.database_of(user, type(user))
    with transaction.atomic(using=using):
        if not edna.is_registered(user):
            edna.register_principals([user])
        wanted = values.of_plan(edna.plan(disguise, user, params=params), user)
        edna.disguise(disguise, user, params=params)
        wanted.hidden.clear()
        found = search.search(wanted, ignore=ignore).certain
        transaction.set_rollback(True, using=using)
    if found:
        lines = [f"{place.name} holds {', '.join(sorted(place.holds))}, {count(place.rows, 'row')}" for place in found]
        raise AssertionError("\n".join([f"After {disguise}, something of the person is left:", *lines]))


def assert_report_is_current(path: str | Path, *, facts: Mapping[str, str] | None = None) -> None:
    """The file holds what `edna_audit` prints today: as JSON, HTML or text, by its ending. ``facts`` are those of its ``--facts``."""
    from edna.auditing import html, report, text

    path = Path(path)
    made = report.made(facts=facts)
    option = {".json": " --json", ".html": " --html"}.get(path.suffix, "")
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    if option == " --json":
        same = bool(there) and json.loads(there) == json.loads(json.dumps(made.as_dict()))
    else:
        same = there.strip() == (html.written(made) if option else text.written(made)).strip()
    if not same:
        raise AssertionError(
            f"{path} is not what edna_audit prints: models, disguises or settings have changed since. Write it anew, and look at what is "
            f"different: manage.py edna_audit{option} > {path}"
        )
