"""Starts jobs: notes who is to be disguised. Disguises nobody."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Model, QuerySet

from edna import clock, conf, logs, registry, rows_of_others, signals
from edna.db import transactions
from edna.engine.graph.staff import references as staff_of
from edna.engine.principals import identity_at_work, owners_of_rows
from edna.errors import InvalidParameters, JobRefused
from edna.operations import audit
from edna.operations.jobs.job_reports import JobReport, report, reports_of
from edna.operations.store import jobs as store_jobs
from edna.spec import Disguise, parsed_params, validated_params
from edna.store import serverkeys

#: Of a selection, so many are in memory as instances.
_AT_ONCE: Final = 5_000
#: What is more of a name is cut off, as in the audit trail.
_LONGEST_OPERATOR: Final = 255


# Long: a third are parameters and what they mean.
def start(
    name: str,
    *,
    params: Mapping[str, Any] | None = None,
    principals: Iterable[Model] | None = None,
    operator: str = "",
    schedule: str = "",
    concurrency: int | None = None,
    rate_per_second: float | None = None,
    job_id: int | None = None,
    staff: bool = False,
    but: Iterable[Model] = (),
    left_out: int | None = None,
    keep_no_way_back: bool = False,
) -> JobReport:
    """Note a job for these principals, or for everybody who owns a row that the disguise means, pseudoprincipals included.

    Of everybody, those are left out who run the site (``EDNA["STAFF"]``), unless ``staff`` is set, and those in ``but``. Whoever is
    among ``principals`` was chosen, and is disguised; ``left_out`` notes how many the caller has left out of the choice for that reason.

    Nothing is disguised yet: `run` does that, in this process or others. ``rate_per_second`` (principals) and ``concurrency``
    (processes) limit them all together; the settings say what they are unless given. A job for nobody is finished at once.
    With ``job_id``, the job gets this number; if it has one already, nothing is started: a form that is sent twice starts one job.

    With ``keep_no_way_back`` it is for good, as `edna.disguise` says: nothing is sealed for them, and nobody can reveal it. Without their
    keys, what earlier disguises have sealed for them stays. A schedule starts no such job.

    Raises:
        UnknownDisguise, InvalidParameters; PrincipalError: one of them is not saved, or the disguise is for another principal model.
        UnregisteredOwners: somebody of everybody has no key.
        JobRefused: the disguise keeps its locators with the people (mode ``client``), who would never get them, unless it is for good;
            a step reads what other batches of everybody change; or a limit is no limit.
        ServerKeyUnknown: the server's key is not this site's.
    Nothing was changed then.
    """
    if job_id is not None and (found := reports_of(job=job_id)):
        return found[0]
    cls = registry.get(name)
    given = validated_params(cls, params)
    texts = _as_texts(cls, given)
    if not keep_no_way_back:
        refuse_client_mode(cls)
    if principals is None:
        refuse_batches(cls)
    limits = _limits(concurrency, rate_per_second)
    model, using = registry.principal_model_for(cls), registry.database()
    serverkeys.require(using=using)
    chosen = None if principals is None else list(_references(cls, principals))
    spared = set(_references(cls, but))

    def work() -> int:
        references, number = chosen, left_out
        if references is None:
            spare = spared if staff else spared | staff_of(model, using=using)
            references, number = owners_of_rows(cls, given, but=spare, using=using)
        kind = {"everybody": chosen is None, "left_out": number, "schedule": schedule, "job": job_id}
        kind["keep_no_way_back"] = keep_no_way_back
        return _note(references, operator=operator, using=using, disguise=cls.name, params=texts, **kind, **limits)

    try:
        started = report(transactions.run(work, using=using))
    except IntegrityError:
        if job_id is None or not reports_of(job=job_id):
            raise
        return report(job_id)  # somebody else was first
    logs.event("job_started", area="jobs", job=started.id, disguise=started.disguise, principals=started.total)
    return started


def _limits(concurrency: int | None, rate_per_second: float | None) -> dict[str, Any]:
    """
    Raises:
        JobRefused: one of them is no limit.
    """
    concurrency = conf.job_concurrency() if concurrency is None else concurrency
    rate_per_second = conf.job_rate_per_second() if rate_per_second is None else rate_per_second
    if concurrency < 1 or (rate_per_second is not None and not 0 < rate_per_second < float("inf")):
        raise JobRefused("A job needs a concurrency of at least 1, and a rate above 0 or none; nothing was started.")
    return {"concurrency": concurrency, "rate_per_second": rate_per_second}


def _note(references: Sequence[str], *, operator: str, disguise: str, using: str, **job: Any) -> int:
    """Write the job and its list, in the caller's transaction; return its number."""
    today = clock.today()
    noted = store_jobs.add_job(
        disguise=disguise, operator=operator[:_LONGEST_OPERATOR], today=today, using=using, **job
    )
    total = store_jobs.add_items(noted.id, references, using=using)
    state, over = (noted.state, None) if total else (store_jobs.FINISHED, today)
    store_jobs.save_job(noted, total=total, state=state, finished_on=over, using=using)
    tell_runners(noted.id, using=using)
    way_back = {"way_back": "none"} if noted.keep_no_way_back else {}
    audit.note("start", operator=operator, disguise=disguise, job=noted.id, principals=total, **way_back)
    return noted.id


def _as_texts(cls: type[Disguise], params: Mapping[str, Any]) -> dict[str, str]:
    """The parameters as a form has them, which is how a job keeps them."""
    texts = {}
    for name, value in params.items():
        if isinstance(value, (datetime.datetime, datetime.date)):
            texts[name] = value.isoformat()
        else:
            texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    if parsed_params(cls, texts) != params:
        raise InvalidParameters(f"{cls.name}: a parameter cannot be written as text; a job needs that.")
    return texts


def refuse_client_mode(cls: type[Disguise]) -> None:
    if (cls.locators or conf.locator_mode()) == "client":
        raise JobRefused(
            f"{cls.name} keeps its locators with the people (mode client), and a job has nobody to give them to; apply it "
            "with edna_disguise --all --receipts, or to one person at a time."
        )


def refuse_batches(cls: type[Disguise]) -> None:
    """Of everybody, later batches would not find what earlier ones have changed. A selection is each of them alone, one after the other.

    Raises:
        JobRefused
    """
    if reason := rows_of_others.refusal(cls):
        raise JobRefused(f"{reason} Apply it with edna.disguise_all, or edna_disguise --all, which take all at once.")


def _references(cls: type[Disguise], principals: Iterable[Model]) -> Iterator[str]:
    """Of each of them once."""
    seen: set[str] = set()
    # A large selection is not to be in memory as instances.
    found = principals.iterator(chunk_size=_AT_ONCE) if isinstance(principals, QuerySet) else principals
    for principal in found:
        _, reference, _ = identity_at_work(principal, disguise=cls)
        if reference not in seen:
            seen.add(reference)
            yield reference


def tell_runners(job: int, *, using: str) -> None:
    """That a runner is wanted, once that is committed. Robust: whoever listens may fail without failing this."""

    def tell() -> None:
        signals.job_ready.send_robust(sender=None, job=job)

    transaction.on_commit(tell, using=using, robust=True)
