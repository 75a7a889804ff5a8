"""The erasure ledger: who is disguised, in a form that says it to this server alone, kept apart from the backups (docs/backups.md).

Whoever was disguised after a backup is in plain sight again once it is restored. `write` puts the ledger into a file, to be kept
elsewhere than the backups; `reapply` finds whom of it the restored database shows, and lets jobs disguise them again. Keeps: nobody is
disguised who is not in the file, and nobody a second time who is under that disguise in the restored ledger, so that it can be
interrupted and run again. The file names nobody: for each row, `reapply` has to guess who it is, from all the principals there are,
with the server's keys. Memory grows with the rows of the file, about 200 bytes each. Long because whoever reads a file has to know all
that was written into it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db.models import Model

from edna import api, clock, conf, registry, shards
from edna.db import transactions
from edna.engine.graph.references import reference_of, unread
from edna.errors import ConfigurationError, EdnaError, FileRefused, InvalidParameters, JobRefused
from edna.operations import audit, jobs
from edna.operations.books.ledger import candidates
from edna.operations.exports import bundle
from edna.operations.jobs import JobReport, JobState
from edna.operations.store import ledger as store
from edna.records.ledgernote import LedgerNote, open_note, what
from edna.records.values import Value
from edna.spec import Disguise, Remove, validated_params
from edna.store import serverkeys

KIND: Final = "ledger"
#: Who the jobs say has started them, behind the operator's name: what an interrupted run has left is found by it.
MARK: Final = "edna_ledger"
_AT_ONCE: Final = 1_000
_PAUSE_SECONDS: Final = 0.5

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Left:
    """Somebody in plain sight whom no job can disguise again, and why: "no_key", "client_mode", "unknown_disguise", "other_parameters"."""

    disguise: str
    params: dict[str, Value]
    model: str
    principal: str
    reason: str


@dataclass
class Reapplied:
    """``again`` counts the people to disguise again, by disguise, ``for_good`` how often that is without a way back; ``already`` are under
    theirs in the restored database; ``absent`` rows are about nobody who has a row there; ``failed`` were not disguised, ``done`` were."""

    rows: int = 0
    again: Counter[str] = field(default_factory=Counter)
    for_good: int = 0
    already: int = 0
    absent: int = 0
    left: list[Left] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    done: int = 0
    failed: int = 0

    @property
    def complete(self) -> bool:
        return not self.left and not self.failed


# Keeping it


def write(path: str, *, progress: Progress | None = None, operator: str = "") -> int:
    """Write the ledger to a new file that only its owner may read; return the number of its rows.

    Raises:
        FileRefused: there is something at ``path`` already.
        ConfigurationError: no ledger is kept, or the server's key is not this site's.
    """
    _require_ledger()
    serverkeys.require(using=registry.database())
    done, using = 0, registry.database()
    total = store.count(using=using)
    with bundle.new_file(path, using=using) as writer:
        if operator:
            audit.note("write ledger", operator=operator, rows=total)
        named = shards.named(using)
        writer.add({"kind": KIND, "written_on": clock.today()} | ({} if named is None else {"database": named}))
        for page in store.pages(using=using):
            writer.add([[index, sealed] for _, index, sealed in page])
            done += len(page)
            if progress is not None:
                progress(done, max(done, total))
    return done


def prune(*, before: str, operator: str = "") -> int:
    """Delete what is about disguises from before a month, such as "2026-11": no backup that is kept is older. Return the number of rows."""
    using, gone = registry.database(), 0
    serverkeys.require(using=using)
    for page in store.pages(using=using):
        old = [
            key
            for key, index, sealed in page
            if open_note(sealed, index=index, server_keys=conf.mac_keys()).month < before
        ]
        if old:
            transactions.run(lambda old=old: store.delete_rows(old, using=using), using=using)  # type: ignore[misc]
            gone += len(old)
    transactions.run(lambda: audit.note("prune", operator=operator, rows=gone, before=before), using=using)
    return gone


# After a restore


@dataclass(frozen=True)
class _Subject:
    """A disguise with its parameters, as rows of the file have them."""

    name: str
    what: bytes
    params: dict[str, Value] = field(compare=False)
    for_good: bool = field(compare=False)


@dataclass(frozen=True)
class _Row:
    subject: _Subject
    month: str
    position: int


#: For the n-th disguise of each person: by subject, the people.
Stages = list[dict[_Subject, list[str]]]


def reapply(path: str, *, dry_run: bool = False, operator: str = "", progress: Progress | None = None) -> Reapplied:
    """Disguise again who is in the file, and in plain sight in a restored database; with ``dry_run``, only say whom it would be.

    Several disguises of one person are applied one after the other, in the order in which they were made, as far as the ledger
    tells: by month, then by how many the person was under before; one that removes their row comes last. ``progress`` counts
    the people looked at, then the jobs' work.

    Raises:
        FileRefused: the file is not a ledger of this site, was cut off or edited; or of another database, whose people have the same
            primary keys.
        BagForged: a row of it takes a key that is not in MAC_KEYS.
        ConfigurationError: ``EDNA["LEDGER"]`` is off, so that nothing would tell who is done.
        JobRefused: jobs of the backup are unfinished.
    """
    _require_ledger()
    interrupted = [] if dry_run else _interrupted_before()
    rows = _read(path)
    for job in interrupted:
        jobs.cancel(job.id, operator=operator)
    found = Reapplied(rows=len(rows))
    stages: Stages = []
    for model in registry.principal_models():
        _look_for(model, rows, stages, found, progress=progress)
    found.absent = found.rows - found.already - sum(found.again.values()) - len(found.left)
    if dry_run:
        return found
    for stage in stages:
        started = [
            job for subject, people in stage.items() for job in _start(subject, people, found, operator=operator)
        ]
        found.jobs += [job.id for job in started]
        for job in started:
            ended = _run(job, progress=progress)
            found.done += ended.done
            found.failed += ended.total - ended.done
    return found


def _interrupted_before() -> list[jobs.JobReport]:
    """Unfinished jobs of earlier calls: none may disguise the same people beside those of this one, nor may one of the backup.

    Raises:
        JobRefused: there are others.
    """
    # Nobody works on those that are not ours.
    unfinished = [job for job in jobs.reports(unfinished=True) if job.sound]
    foreign = [job.id for job in unfinished if not job.operator.endswith(MARK)]
    if foreign:
        raise JobRefused(
            f"The database has unfinished jobs ({', '.join(map(str, foreign[:5]))}), perhaps of the backup. Nothing was changed; "
            "finish them with edna_run, or cancel them with edna_jobs: the ledger knows whom they have disguised since."
        )
    return unfinished


def _read(path: str) -> dict[bytes, _Row]:
    rows: dict[bytes, _Row] = {}
    subjects: dict[bytes, _Subject] = {}
    with bundle.whole_file(path) as reader:
        pieces = reader.pieces()
        match next(pieces, None):
            case {"kind": kind, **said} if kind == KIND:
                _require_of_this_database(said.get("database"), path)
            case _:
                raise FileRefused(f"{path} is no ledger; edna_ledger write makes one. Nothing was changed.")
        for page in pieces:
            for index, sealed in page:
                note = open_note(sealed, index=index, server_keys=conf.mac_keys())
                if note.database:
                    _require_of_this_database(note.database, path)
                subject = _subject(note)
                rows[index] = _Row(subjects.setdefault(subject.what, subject), note.month, note.position)
    return rows


def _require_of_this_database(named: object, path: str) -> None:
    """Whoever has the same primary key in another one is somebody else.

    Raises:
        FileRefused: it is of another, or does not say of which, on a site that has several.
    """
    using = registry.database()
    if named == using or (named is None and not conf.databases()):
        return
    if named is None:
        raise FileRefused(
            f"{path} does not say which database it is of: it was written before EDNA['DATABASES'] named several. It was not reapplied to "
            f"{using!r}, whose people may be others with the same primary keys; reapply it with the settings that it was written under."
        )
    raise FileRefused(
        f"{path} has people of the database {named!r}, and not of {using!r}, where others may have their primary keys. Nothing was changed."
    )


def _subject(note: LedgerNote) -> _Subject:
    subject = what(note.disguise, note.params, for_good=note.for_good)
    return _Subject(note.disguise, subject, note.params, note.for_good)


def _look_for(
    model: type[Model], rows: Mapping[bytes, _Row], stages: Stages, found: Reapplied, *, progress: Progress | None
) -> None:
    """Find out who of the file has a row in this model's table, and is not under the disguise that the file says."""
    label, using, keys = model._meta.label_lower, registry.database(), conf.mac_keys()
    subjects = {row.subject for row in rows.values()}
    reasons = {subject: _why_not(subject, model) for subject in subjects}
    subjects = {subject for subject in subjects if reasons[subject] != "other_model"}
    looked, total = 0, model._base_manager.using(using).count()
    for page in _pages(model, using=using) if subjects else ():
        wanted: dict[bytes, tuple[Model, str, _Row]] = {}
        places: list[list[bytes]] = []
        for person in page:
            reference = reference_of(model, person.pk)
            for subject in subjects:
                indexes = candidates(label, reference, subject.what, keys=keys)
                for index in (index for index in indexes if index in rows):
                    wanted[index] = (person, reference, rows[index])
                if not wanted.keys().isdisjoint(indexes):
                    places.append(indexes)
        _sort_out(wanted, places, reasons, stages, found, label=label, using=using)
        looked += len(page)
        if progress is not None:
            progress(looked, max(looked, total))


def _sort_out(
    wanted: Mapping[bytes, tuple[Model, str, _Row]],
    places: Sequence[Sequence[bytes]],
    reasons: Mapping[_Subject, str],
    stages: Stages,
    found: Reapplied,
    *,
    label: str,
    using: str,
) -> None:
    known = store.known([index for indexes in places for index in indexes], using=using) if places else set()
    keyless = {person.pk for person in api.unregistered(_each_once(person for person, _, _ in wanted.values()))}
    missing: dict[str, list[_Row]] = {}
    for indexes in places:
        # Under a former key as well as under the present one, if it was done again since: one person, one disguise.
        hits = [index for index in indexes if index in wanted]
        person, reference, row = wanted[hits[0]]
        found.rows -= len(hits) - 1
        if not known.isdisjoint(indexes):
            found.already += 1
            continue
        reason = reasons[row.subject] or ("no_key" if person.pk in keyless else "")
        if reason:
            found.left.append(Left(row.subject.name, row.subject.params, label, reference, reason))
        else:
            found.again[row.subject.name] += 1
            found.for_good += row.subject.for_good
            missing.setdefault(reference, []).append(row)
    for reference, theirs in missing.items():
        for number, row in enumerate(sorted(theirs, key=_order)):
            if number == len(stages):
                stages.append({})
            stages[number].setdefault(row.subject, []).append(reference)


def _each_once(people: Iterator[Model]) -> list[Model]:
    return list({person.pk: person for person in people}.values())


def _order(row: _Row) -> tuple[bool, str, int, str]:
    """Nothing is left to disguise of somebody whose own row is gone; so whatever else there was came before."""
    return _removes_the_person(registry.get(row.subject.name)), row.month, row.position, row.subject.name


def _removes_the_person(cls: type[Disguise]) -> bool:
    principals = registry.principal_model_for(cls)._meta.concrete_model
    return any(isinstance(step, Remove) and step.model._meta.concrete_model is principals for step in cls.steps())


def _why_not(subject: _Subject, model: type[Model]) -> str:
    """Why no job can do it, or ""; "other_model" if it is not about these people."""
    cls = registry.disguises().get(subject.name)
    if cls is None:
        return "unknown_disguise"
    try:
        if registry.principal_model_for(cls) is not model:
            return "other_model"
        validated_params(cls, subject.params)
    except EdnaError:
        return "other_parameters"
    needs_receipts = not subject.for_good and (cls.locators or conf.locator_mode()) == "client"
    return "client_mode" if needs_receipts else ""


def _pages(model: type[Model], *, using: str) -> Iterator[list[Model]]:
    """All rows, with nothing but their primary keys."""
    people = model._base_manager.using(using).order_by("pk").only("pk")
    page = list(people[:_AT_ONCE])
    while page:
        yield page
        page = list(people.filter(pk__gt=page[-1].pk)[:_AT_ONCE])


# The jobs


def _start(subject: _Subject, people: Sequence[str], found: Reapplied, *, operator: str) -> list[JobReport]:
    model = registry.principal_model_for(registry.get(subject.name))
    named = unread(model, people, using=registry.database(model))
    mark = f"{operator[:200]} {MARK}".strip()  # the end of it must not be cut off
    try:
        for_good = subject.for_good
        return [
            jobs.start(subject.name, params=subject.params, principals=named, operator=mark, keep_no_way_back=for_good)
        ]
    except InvalidParameters:
        # A job keeps its parameters as texts, and not every one can be written as one.
        label = model._meta.label_lower
        found.left += [Left(subject.name, subject.params, label, each, "other_parameters") for each in people]
        return []


def _run(job: JobReport, *, progress: Progress | None) -> JobReport:
    """Work on a job until it is over; others may help. One that somebody pauses is not waited for."""

    def tell(report: JobReport) -> None:
        if progress is not None:
            progress(report.total - report.left, report.total)

    while job.state is JobState.RUNNING:
        job = jobs.run(job.id, progress=tell)
        if job.state is JobState.RUNNING:
            time.sleep(_PAUSE_SECONDS)
    return job


def _require_ledger() -> None:
    if not conf.ledger():
        raise ConfigurationError('No ledger is kept: set EDNA["LEDGER"] to True first. Nothing was changed.')
