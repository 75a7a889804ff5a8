"""What a disguise promises, as assertions: it can be undone exactly, and meanwhile nothing of the person is to be read.

Each fails with an AssertionError that names tables and columns, never what is in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from django.db import DEFAULT_DB_ALIAS

from edna.testing.dumps import Dump, application_dump, differences
from edna.testing.search import Needle, places

_SHORTEST: Final = 3


@contextmanager
def everything_returns(*, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> Iterator[None]:
    """At the end of the block every table of the application is what it was at its beginning, byte for byte.

    ``ignore`` names tables (``django_session``) and columns (``auth_user.last_login``) that may be others.
    """
    before = application_dump(using=using, ignore=ignore)
    yield
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
