"""Sweeps up what nobody needs any more: orphaned pseudoprincipals, and residue of what was interrupted or done behind edna's back.

Guarantees: only what is surely residue goes; whoever reveals later gets everything back, also what named a pseudoprincipal that was
swept. Nothing is done by an entry that this site did not write: it stays as it is, as evidence, and is counted.
Works in pages, each a transaction with a number of statements that depends on the relations to principals alone.
Does not know: pseudoprincipals that texts or other systems name. What it leaves, `edna.operations.upkeep.verification` reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, TypeVar

from django.db import IntegrityError
from django.db.models import Model

from edna import clock, registry, store
from edna.db import transactions
from edna.engine.books import departure, expiry_dates, sessions
from edna.engine.graph.references import without_row
from edna.engine.pseudoprincipals import orphans
from edna.operations import audit, jobs
from edna.operations.store import residue as of_jobs
from edna.operations.store.runs import note_run
from edna.store import residue, serverkeys

_AT_ONCE: Final = 500

#: What a page is of: its number, and more.
Each = TypeVar("Each", bound=tuple[Any, ...])
#: A number, and what it stands for: the key of a session.
Page = Sequence[tuple[int, str]]
#: Numbers of entries, with whom they name.
Entries = Sequence[residue.Named]


@dataclass
class Swept:
    """What a run swept. ``detached`` entries had lost their row without edna's knowing: they are as those of removed principals now.

    ``forged`` it would have swept as well, if this site had written them: they were left as they are.
    """

    pseudoprincipals: int = 0
    detached: int = 0
    session_links: int = 0
    job_rows: int = 0
    forged: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    @property
    def rows(self) -> int:
        """How many were swept."""
        return sum(self.as_dict().values()) - self.forged


def sweep(*, made_by_hand: bool = False, operator: str = "") -> Swept:
    """Sweep everything, and note that in the trail if there is an ``operator``.

    In a project with `edna.on_reveal` functions pseudoprincipals are swept only if ``made_by_hand`` says that sessions make none which
    the application names in other ways than by foreign keys.

    Raises:
        DatabaseBusy: stopped in the middle; run it again.
        ServerKeyUnknown: the server's key is not this site's: what it noted could not be told from what somebody else did.
    """
    using, done = registry.database(), Swept()
    forged: set[int] = set()
    serverkeys.require(using=using)
    for model in registry.principal_models():
        label = model._meta.label_lower
        entries = partial(residue.attached, label, most=_AT_ONCE, using=using)
        done.detached += _each(entries, partial(_detach, model, forged, using=using))
        if orphans.may_be_swept(model, made_by_hand=made_by_hand, using=using):
            entries = partial(residue.unlisted_pseudoprincipals, label, most=_AT_ONCE, using=using)
            let_go = partial(_let_go, model, forged, using=using)
            done.pseudoprincipals += _each(entries, let_go)
    done.session_links, _ = sessions.finish(using=using)
    links = partial(residue.session_links, most=_AT_ONCE, using=using)
    done.session_links += _each(links, partial(_unlink, using=using))
    while count := transactions.run(lambda: of_jobs.delete_without_job(most=_AT_ONCE, using=using), using=using):
        done.job_rows += count
    done.job_rows += jobs.tidy()
    done.forged = len(forged)
    counts = done.as_dict()

    def note() -> None:
        note_run("sweep", counts, using=using)
        if operator:
            audit.note("sweep", operator=operator, rows=done.rows)

    transactions.run(note, using=using)
    return done


def orphaned(model: type[Model]) -> Iterator[int]:
    """The numbers of entries of pseudoprincipals to whom nothing refers now, whether they may be swept or not. Reads only.

    Without those that this site did not write, which are not swept.
    """
    using, label, after = registry.database(), model._meta.label_lower, 0
    while page := residue.unlisted_pseudoprincipals(label, after=after, most=_AT_ONCE, using=using):
        after = page[-1][0]
        yield from _orphans_of(model, [each for each in page if each[2]], using=using)


def _each(read: Callable[..., Sequence[Each]], settle: Callable[[Sequence[Each]], int]) -> int:
    """``settle`` each page that ``read`` returns, from the first key to the last; how many were settled."""
    after = count = 0
    while page := read(after=after):
        after = page[-1][0]
        count += settle(page)
    return count


def _let_go(model: type[Model], forged: set[int], page: Entries, *, using: str) -> int:
    # Looked at without locks first: most are needed, and nobody shall wait for them.
    ids = _ours(_orphans_of(model, page, using=using), page, forged)
    try:
        return transactions.run(lambda: orphans.let_go(model, ids, using=using), using=using) if ids else 0
    except IntegrityError:
        return 0  # somebody has just referred to one of them: the next time


def _orphans_of(model: type[Model], page: Entries, *, using: str) -> list[int]:
    gone = orphans.unreferenced(model, [reference for _, reference, _ in page], using=using)
    return [pk for pk, reference, _ in page if reference in gone]


def _ours(ids: Sequence[int], page: Entries, forged: set[int]) -> list[int]:
    """Those of ``ids`` that this site wrote; the others are added to ``forged``."""
    sound = {pk for pk, _, is_sound in page if is_sound}
    forged.update(pk for pk in ids if pk not in sound)
    return [pk for pk in ids if pk in sound]


def _detach(model: type[Model], forged: set[int], page: Entries, *, using: str) -> int:
    """Entries whose row was deleted by statements that Django did not see: the next one with that key must not be taken for them."""
    missing = set(without_row(model, [reference for _, reference, _ in page], using=using))
    ids = _ours([pk for pk, reference, _ in page if reference in missing], page, forged)

    def work() -> int:
        entries = [each for each in residue.locked_entries(ids, using=using) if each.attached and each.sound]
        still = set(without_row(model, [str(each.reference) for each in entries], using=using))
        gone = [each for each in entries if each.reference in still]
        kept_until = expiry_dates.entry_bucket(clock.today(), listed_before=True, using=using)
        store.save_entries([each.detached(expires_on=kept_until) for each in gone], using=using)
        departure.forget(gone, using=using)
        return len(gone)

    return transactions.run(work, using=using) if ids else 0


def _unlink(page: Page, *, using: str) -> int:
    gone = sessions.ended([key for _, key in page], using=using)
    residue.delete_session_links([pk for pk, key in page if key in gone], using=using)
    return len(gone)
