"""What a disguise would do to people whom an operator chose, or to everybody, before it is done. Reads, never writes.

The plan is the very `Plan` that is executed. Bounded: a page waits for it, so a plan of more than `MOST_ROWS` rows is not made; the
command line has no such bound.
Keeps: somebody who was removed is answered for like somebody who was never here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db.models import Model

from edna import registry, store
from edna.engine.graph.references import reference_of, without_row
from edna.engine.graph.staff import references as staff_of
from edna.engine.planning import plan as planning
from edna.engine.planning.scope import Scope
from edna.engine.planning.selection import Selection
from edna.engine.planning.steps import Plan, Target
from edna.operations import jobs
from edna.spec import Disguise, validated_params
from edna.store import serverkeys

#: What is read for one preview at most: about 200 megabytes, and some seconds.
MOST_ROWS: Final = 100_000
#: Without any job to go by: measured on one core with SQLite, rounded down.
_PRINCIPALS_PER_SECOND: Final = 50.0
_ROWS_PER_SECOND: Final = 2_000.0
_JOBS_TO_GO_BY: Final = 5
#: A job of fewer spends its time on beginning and ending: its rate says nothing about many.
_FEWEST_TO_GO_BY: Final = 10


@dataclass(frozen=True)
class Chosen:
    """Whom an operator chose, sorted by what can be done for them."""

    principals: tuple[Model, ...]
    #: Those of them who have a key, and are people.
    ready: tuple[Model, ...]
    without_key: int
    #: Owners of what earlier disguises took from somebody: no people, and left out.
    placeholders: int
    #: Of those who have a key: who runs the site, ``you`` not counted; left out or not.
    staff: int = 0
    you: bool = False


@dataclass(frozen=True)
class Preview:
    """``plan`` is None where there are more rows than `MOST_ROWS`. ``people`` may own no row that is meant."""

    plan: Plan | None
    people: int
    seconds: float | None
    #: The measured rate that ``seconds`` goes by; None if no job has been measured.
    people_per_second: float | None
    #: Of everybody, how many have no key: a job for everybody is refused while there are any.
    without_key: int = 0
    #: Of everybody, who runs the site, ``you`` not counted; left out or not. None where they were not counted.
    staff: int | None = None
    #: Whether the operator, as one of those in ``but``, is among everybody.
    you: bool = False


def choose(model: type[Model], principals: Iterable[Model], *, staff: bool = True, but: Sequence[Model] = ()) -> Chosen:
    """In as many statements for many as for one. Those who run the site, and those in ``but``, are ready only with ``staff``."""
    everyone = tuple(principals)
    references = [reference_of(model, principal.pk) for principal in everyone]
    using = registry.database(model)
    entries_found = store.entries_by_reference(model._meta.label_lower, references, using=using)
    found = {entry.reference: entry for entry in entries_found}
    entries = [found.get(reference) for reference in references]
    people = {str(entry.reference) for entry in entries if entry is not None and entry.natural}
    own = {reference_of(model, each.pk) for each in but} & people
    others = (staff_of(model, using=using) & people) - own
    ready = people if staff else people - own - others
    return Chosen(
        everyone,
        tuple(who for who, reference in zip(everyone, references, strict=True) if reference in ready),
        entries.count(None),
        sum(entry is not None and not entry.natural for entry in entries),
        len(others),
        bool(own),
    )


def preview(
    name: str,
    *,
    params: Mapping[str, Any] | None = None,
    principals: Sequence[Model] | None = None,
    staff: bool = False,
    but: Sequence[Model] = (),
) -> Preview:
    """What ``name`` would do to ``principals``, who have keys; to everybody who owns such rows, if that is None.

    Of everybody, those who run the site and those in ``but`` are left out, unless ``staff`` is set.

    Raises:
        UnknownDisguise, InvalidParameters, DanglingReferences, SpecError, ServerKeyUnknown.
    """
    disguise = registry.get(name)
    given = validated_params(disguise, params)
    model = registry.principal_model_for(disguise)
    using = registry.database(model)
    serverkeys.require(using=using)
    if principals is None:
        own = {reference_of(model, each.pk) for each in but}
        return _of_everybody(disguise, given, own=own, staff=staff, using=using)
    references = [reference_of(model, principal.pk) for principal in principals]
    entries = store.entries_by_reference(model._meta.label_lower, references, using=using)
    targets = [Target(entry, (entry,)) for entry in entries]
    plan = planning.build_within(Scope(disguise, targets, params=given, using=using), most=MOST_ROWS)
    return _estimated(disguise, plan, len(targets))


def _of_everybody(
    disguise: type[Disguise], params: Mapping[str, Any], *, own: set[str], staff: bool, using: str
) -> Preview:
    if not _few_rows(disguise, params, using=using):
        return Preview(None, 0, None, None)
    model = registry.principal_model_for(disguise)
    references = planning.owners_with_rows(disguise, params, using=using)
    own &= references
    others = (staff_of(model, using=using) & references) - own
    left_out = set() if staff else own | others
    plan = planning.build_for_everybody(disguise, params=params, using=using, but=left_out)
    references -= left_out
    unknown = sorted(references - store.references_there(model._meta.label_lower, references, using=using))
    # A value that no row of the principal model has, such as 0 for "nobody", is no owner.
    nobody = set(without_row(model, unknown, using=using)) if unknown else set()
    made = _estimated(disguise, plan, len(references - nobody))
    return replace(made, without_key=len(set(unknown) - nobody), staff=len(others), you=bool(own))


def _few_rows(disguise: type[Disguise], params: Mapping[str, Any], *, using: str) -> bool:
    """Whether all steps together mean no more than `MOST_ROWS` rows. Stops counting there."""
    left = MOST_ROWS
    for step in disguise.steps():
        meant = Selection.compile(step.model, ("pk",), owners=(), where=step.where, using=using)
        if meant is not None:
            ((count,),) = meant.counted(most=left + 1).run(owners=None, params=params, using=using)
            left -= count
        if left < 0:
            return False
    return True


def _estimated(disguise: type[Disguise], plan: Plan | None, people: int) -> Preview:
    """Time by what earlier jobs with this disguise took for a person among many; without any, by people and rows."""
    measured = [
        report
        for report in jobs.reports()
        if report.disguise == disguise.name and report.done >= _FEWEST_TO_GO_BY and report.seconds > 0
    ][:_JOBS_TO_GO_BY]
    if measured:
        rate = sum(report.done for report in measured) / sum(report.seconds for report in measured)
        return Preview(plan, people, people / rate, rate)
    seconds = None if plan is None else people / _PRINCIPALS_PER_SECOND + plan.rows / _ROWS_PER_SECOND
    return Preview(plan, people, seconds, None)
