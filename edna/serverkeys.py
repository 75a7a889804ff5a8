"""The server's keys that a database knows: how one becomes known, how one is forgotten, and how they compare with the configured ones.

Keeps: on a new database, and on one from before keys were known, the configured keys are taken for the site's own, but not where
what carries a MAC says otherwise; after that, a key becomes known by an operator's deliberate act alone, which the audit trail notes.
What is refused under an unknown key is decided where it is sealed (`edna.store.serverkeys`).
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from edna import clock, registry, shards, vouching
from edna.db import transactions
from edna.engine.books import acts, beside, sessions
from edna.engine.files import file_tasks
from edna.engine.forwarding import replay_log
from edna.engine.graph.references import reference_of
from edna.errors import ConfigurationError, ServerKeyRefused
from edna.store import inspection
from edna.store import serverkeys as store
from edna.store import vouching as tags
from edna.store.serverkeys import DIGITS, Standing, digits

__all__ = [
    "PUT_BACK",
    "Former",
    "Line",
    "Standing",
    "add",
    "digits",
    "forget",
    "former",
    "introduce",
    "listing",
    "look",
    "require",
    "standing",
]

logger = logging.getLogger("edna")

#: What to do about a key that the database knows and no list has.
PUT_BACK: Final = (
    "Put it back into MAC_KEYS, behind the present one: what was made under it does not verify, and whose public key was noted under it is "
    "not disguised. Then run manage.py edna_vouch, which lets public keys and jobs do without it. If nothing needs it any more, "
    "manage.py edna_keys forget."
)
#: Of each kind of thing that carries a MAC, but no tag, how many are asked whether they were made under a configured key.
_MOST_ASKED: Final = 1_000


@dataclass(frozen=True)
class Line:
    """A key, by the first digits of its check value. ``place`` is where in the list it stands, from 1, or None if it is not configured;
    ``added_on`` is None if the database does not know it."""

    digits: str
    place: int | None
    added_on: datetime.date | None


def listing() -> list[Line]:
    """The configured keys in their order, then those that the database knows besides."""
    found = standing()
    days = {key.check_value: key.added_on for key in found.known}
    lines = [Line(digits(each), place, days.get(each)) for place, each in enumerate(found.configured, start=1)]
    return [*lines, *(Line(digits(each), None, days[each]) for each in found.missing)]


def standing(*, using: str | None = None) -> Standing:
    """How the configured keys and those that the database knows compare, now."""
    return store.standing(using=using or registry.database())


def look(*, using: str) -> Standing | None:
    """As `standing`; None where there is no table yet, or the settings cannot be read."""
    try:
        return standing(using=using) if store.is_there(using=using) else None
    except ConfigurationError:
        return None


def require(*, using: str | None = None) -> None:
    """
    Raises:
        ServerKeyUnknown: the database does not know the first of the configured keys.
    """
    store.require(using=using or registry.database())


def add(*, operator: str, lost: bool = False) -> list[str]:
    """Let the database know all configured keys; return the digits of those that it did not. With ``lost``, even where the keys are none
    that anything was sealed under: the former ones are gone for good.

    Raises:
        ServerKeyRefused: none of them is a key that the database knows, or nothing in it was made under one of them.
    """
    using = registry.database()

    def work() -> list[bytes]:
        found = standing(using=using)
        # What was made under a key speaks for it, whatever the database believes.
        sure = len(found.unknown) < len(found.configured) or _speaks_for_a_key(using=using)
        if sure is None:
            sure = not found.known
        if not lost and not sure and store.anything_sealed(also=beside.kept().under_a_key(), using=using):
            raise ServerKeyRefused(
                'No key of EDNA["MAC_KEYS"] is one that anything in this database was made under, so none was added. Nothing was changed. '
                "Put the key back that was there before, behind the new one if there is a new one, and try again. If it is lost for good, "
                "and all that was sealed under it, edna_keys add --lost takes the present ones instead."
            )
        return _add(found.unknown, operator=operator, using=using)

    return [digits(each) for each in transactions.run(work, using=using)]


def _add(new: list[bytes], *, operator: str, using: str) -> list[bytes]:
    if new:
        store.add(new, added_on=clock.today(), using=using)
        store.added(new, using=using)
        acts.add("add server key", operator=operator, keys=", ".join(map(digits, new)))
    return new


@dataclass(frozen=True)
class Former:
    """By kind, how many need a key of the list that is not the first one, and how many none that is in the list. Of some kinds only their
    owners can have it made under another one."""

    older: dict[str, int]
    wrong: dict[str, int]
    words: dict[str, tuple[str, str]]
    by_owner: frozenset[str] = frozenset()

    def split(self) -> tuple[dict[str, int], dict[str, int]]:
        """What is older, for operators and for owners."""
        of_owners = {kind: number for kind, number in self.older.items() if kind in self.by_owner}
        return {kind: number for kind, number in self.older.items() if kind not in of_owners}, of_owners

    def in_words(self, numbers: dict[str, int]) -> str:
        return vouching.in_words(numbers, self.words)


def former() -> Former:
    """What is kept under keys of the server that are not the first one. Reads all of it."""
    found = vouching.count(using=registry.database())
    return Former(
        {each.kind: each.found.older for each in found},
        {each.kind: each.found.wrong for each in found},
        {each.kind: each.words for each in found},
        frozenset(each.kind for each in found if each.by_owner),
    )


def forget(beginning: str, *, operator: str, lost: bool = False) -> str:
    """Let the database forget a key that is configured no more: nothing that is kept was made under it. With ``lost``, even where
    something has no tag under the keys that are left, as what was made under that one alone.

    Raises:
        ServerKeyRefused: no key, or more than one, has a check value that begins so, or the key is configured, or something may need it.
    """
    using = registry.database()
    needed = "" if lost else _needs_another()

    def work() -> str:
        found = standing(using=using)
        meant = [key.check_value for key in found.known if key.check_value.hex().startswith(beginning.lower())]
        if len(meant) != 1 or len(beginning) < DIGITS:
            raise ServerKeyRefused(
                f"No one key of this database has a check value that begins with {beginning}. Nothing was changed; give the "
                f"{DIGITS} digits that edna_keys list shows."
            )
        if meant[0] in found.configured:
            raise ServerKeyRefused(
                f'The key {digits(meant[0])} is in EDNA["MAC_KEYS"]. Nothing was changed; take it out of the list everywhere first.'
            )
        if needed:
            raise ServerKeyRefused(
                f"{needed} have no tag under a key of MAC_KEYS, perhaps because they were noted under "
                f"{digits(meant[0])}. Nothing was changed. Put it back behind the present one, run manage.py edna_vouch and edna_files, "
                "then take it out again; manage.py edna_verify names what is still wrong then. Whoever has a key slot or a guardians' "
                "envelope has to use it first. If it is lost for good, or those will not come: edna_keys forget --lost."
            )
        store.forget(meant, using=using)
        store.forgotten(meant, using=using)
        acts.add("forget server key", operator=operator, keys=digits(meant[0]))
        return digits(meant[0])

    return transactions.run(work, using=using)


def _needs_another() -> str:
    found = former()
    return found.in_words(found.wrong)


def introduce(*, using: str) -> None:
    """Take the configured keys for this site's own, where the database knows none yet: it is new, or was made by an earlier release.

    Not where it has things that carry a MAC of the server's, and none of them was made under a configured key.
    """
    if using != registry.database():
        return

    def work() -> bool:
        store.forget_all(using=using)
        found = standing(using=using)
        if not found.known:
            # Where nothing says under which key it was made, the site is new.
            if _speaks_for_a_key(using=using) is False:
                return False
            store.add(found.configured, added_on=clock.today(), using=using)
            found = standing(using=using)
        store.added([key.check_value for key in found.known], using=using)
        return True

    if not transactions.run(work, using=using):
        logger.error(
            'Nothing in this database was made under a key of EDNA["MAC_KEYS"], so that none was taken for its own: disguises are '
            "refused. Put the right key back and run manage.py edna_keys add."
        )


def _speaks_for_a_key(*, using: str) -> bool | None:
    """Whether anything was made under a configured key; None where nothing says under which it was made.

    Of the tags all are asked until one is right: as a rule the first, and a vandal may have put any number of wrong ones in front.
    """
    found: bool | None = None
    for kind in _verdicts(using):
        for verifies in kind:
            if verifies:
                return True
            found = False
    return found


def _verdicts(using: str) -> Iterator[Iterator[bool]]:
    yield tags.verdicts(tags.entries(), using=using)
    yield from beside.kept().verdicts(most=_MOST_ASKED, using=using)
    yield _file_tasks(using)
    yield _logged_updates(using)
    yield _session_links(using)
    for tagged in beside.kept().tagged():
        yield tags.verdicts(tagged, using=using)


def _file_tasks(using: str) -> Iterator[bool]:
    pages = inspection.pending_files(using=using)
    places = [shards.named(using), *(place or None for place in tags.other_places(using=using))]
    asked = (any(file_tasks.is_of(task, each) for each in places) for page in pages for task in page)
    return islice(asked, _MOST_ASKED)


def _logged_updates(using: str) -> Iterator[bool]:
    pages = inspection.replays(using=using)
    return islice((replay_log.is_of_this_site(sealed) for page in pages for _, sealed in page), _MOST_ASKED)


def _session_links(using: str) -> Iterator[bool]:
    """Whether one is of somebody who is there: of nobody else can it be said."""
    linked = set(inspection.some_session_tags(most=_MOST_ASKED, using=using))
    if not linked:
        return
    for model in registry.principal_models():
        label = model._meta.label_lower
        for pk in model._base_manager.using(using).values_list("pk", flat=True).iterator():
            if not linked.isdisjoint(sessions.owner_tags(label, reference_of(model, pk))):
                yield True
                return
    yield False
