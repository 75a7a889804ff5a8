"""Sweeps up what nobody needs any more: orphaned pseudoprincipals, and residue of what was interrupted or done behind edna's back.

Guarantees: only what is surely residue goes; whoever reveals later gets everything back, also what named a pseudoprincipal that was
swept. Works in pages, each a transaction with a number of statements that depends on the relations to principals alone.
Does not know: pseudoprincipals that texts or other systems name. What it leaves, `edna.operations.verifying` reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Final

from django.db import IntegrityError, router
from django.db.models import Model

from edna import registry, store
from edna.engine import expiring, leaving, orphans, sessions, transactions
from edna.engine.references import without_row
from edna.operations import jobs
from edna.store import residue
from edna.store.runs import note_run

_AT_ONCE: Final = 500

Progress = Callable[[str, int], None]
#: A number, and what it stands for: a reference, or the key of a session.
Page = Sequence[tuple[int, str]]
Read = Callable[..., Page]


@dataclass
class Swept:
    """What a run swept. ``detached`` entries had lost their row without edna's knowing: they are as those of removed principals now."""

    pseudoprincipals: int = 0
    detached: int = 0
    session_links: int = 0
    job_rows: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def sweep(*, made_by_hand: bool = False, progress: Progress | None = None) -> Swept:
    """Sweep everything. ``progress(what, count)`` is called after each page.

    In a project with `edna.on_reveal` functions pseudoprincipals are swept only if ``made_by_hand`` says that sessions make none which
    the application names in other ways than by foreign keys.

    Raises:
        DatabaseBusy: stopped in the middle; run it again.
    """
    using, done = _database(), Swept()
    for model in registry.principal_models():
        label = model._meta.label_lower
        read: Read = partial(residue.attached, label, most=_AT_ONCE, using=using)
        done.detached += _each(read, partial(_detach, model, using=using), progress, "detached")
        if orphans.may_be_swept(model, made_by_hand=made_by_hand, using=using):
            read = partial(residue.unlisted_pseudoprincipals, label, most=_AT_ONCE, using=using)
            done.pseudoprincipals += _each(read, partial(_let_go, model, using=using), progress, "pseudoprincipals")
    read = partial(residue.session_links, most=_AT_ONCE, using=using)
    done.session_links = _each(read, partial(_unlink, using=using), progress, "session_links")
    while count := transactions.run(lambda: residue.delete_without_job(most=_AT_ONCE, using=using), using=using):
        done.job_rows += count
    done.job_rows += jobs.tidy()
    note_run("sweep", done.as_dict(), using=using)
    return done


def orphaned(model: type[Model]) -> Iterator[int]:
    """The numbers of entries of pseudoprincipals to whom nothing refers now, whether they may be swept or not. Reads only."""
    using, label, after = _database(), model._meta.label_lower, 0
    while page := residue.unlisted_pseudoprincipals(label, after=after, most=_AT_ONCE, using=using):
        after = page[-1][0]
        yield from _orphans_of(model, page, using=using)


def _each(read: Read, settle: Callable[[Page], int], progress: Progress | None, what: str) -> int:
    """``settle`` each page that ``read`` returns, from the first key to the last; how many were settled."""
    after = count = 0
    while page := read(after=after):
        after = page[-1][0]
        count += settle(page)
        if progress is not None:
            progress(what, count)
    return count


def _let_go(model: type[Model], page: Page, *, using: str) -> int:
    # Looked at without locks first: most are needed, and nobody shall wait for them.
    ids = _orphans_of(model, page, using=using)
    try:
        return transactions.run(lambda: orphans.let_go(model, ids, using=using), using=using) if ids else 0
    except IntegrityError:
        return 0  # somebody has just referred to one of them: the next time


def _orphans_of(model: type[Model], page: Page, *, using: str) -> list[int]:
    gone = orphans.unreferenced(model, [reference for _, reference in page], using=using)
    return [pk for pk, reference in page if reference in gone]


def _detach(model: type[Model], page: Page, *, using: str) -> int:
    """Entries whose row was deleted by statements that Django did not see: the next one with that key must not be taken for them."""
    missing = set(without_row(model, [reference for _, reference in page], using=using))
    ids = [pk for pk, reference in page if reference in missing]

    def work() -> int:
        entries = [each for each in residue.locked_entries(ids, using=using) if each.attached]
        still = set(without_row(model, [str(each.reference) for each in entries], using=using))
        gone = [each for each in entries if each.reference in still]
        kept_until = expiring.entry_bucket(expiring.today(), listed_before=True, using=using)
        store.save_entries([each.detached(expires_on=kept_until) for each in gone], using=using)
        leaving.forget(gone, using=using)
        return len(gone)

    return transactions.run(work, using=using) if ids else 0


def _unlink(page: Page, *, using: str) -> int:
    gone = sessions.ended([key for _, key in page], using=using)
    residue.delete_session_links([pk for pk, key in page if key in gone], using=using)
    return len(gone)


def _database() -> str:
    return router.db_for_write(registry.principal_models()[0])
