"""Whether edna is well, line by line: what was found, a verdict, and what to do about it.

For the admin site, for `manage.py edna_health`, and for whatever watches its exit status. Reads and never writes, in a bounded number of
statements. Says nothing about any principal. What it takes to ask workers is given to it by whoever runs tasks
(`ask_workers_with`), so that nothing here knows Celery.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.core.checks import Tags, run_checks
from django.utils import timezone

from edna import clock, conf, policy_seals, registry, schedules, serverkeys
from edna.engine.books import beside
from edna.operations import jobs
from edna.operations.retention import holds
from edna.operations.upkeep import figures
from edna.operations.upkeep.figures import Bucket, KeyPool, Queue, Run
from edna.policy_seals import Standing
from edna.words import count

#: Tasks that want doing again and again: after how many days without it somebody should look, and how it is done.
RECURRING: Final[Mapping[str, tuple[int, str]]] = {
    "schedules": (2, "manage.py edna_run_schedules"),
    "expire": (2, "manage.py edna_expire"),
    "sweep": (8, "manage.py edna_sweep"),
    "verify": (8, "manage.py edna_verify"),
    "scrub": (8, "manage.py edna_scrub"),
}

_ask_workers: list[Callable[[], int | None]] = []
_ask_standings: list[Callable[[], Mapping[str, Standing]]] = []


class Verdict(enum.StrEnum):
    OK = "ok"
    ATTENTION = "attention"


@dataclass(frozen=True)
class Line:
    """One thing that was looked at. ``name`` is for programs and stays; ``advice`` is "" where there is nothing to do."""

    name: str
    finding: str
    advice: str
    numbers: dict[str, int | float | str]

    @property
    def verdict(self) -> Verdict:
        return Verdict.ATTENTION if self.advice else Verdict.OK


@dataclass(frozen=True)
class Health:
    """The lines, and the numbers behind them. ``workers`` is None where there are none to ask, or the broker does not answer."""

    lines: tuple[Line, ...]
    queue: Queue
    pool: KeyPool
    storage: tuple[Bucket, ...]
    recurring: dict[str, Run]
    files: int
    workers: int | None
    #: "" where none is configured, "ok" or "unreachable".
    broker: str

    @property
    def ok(self) -> bool:
        return all(line.verdict is Verdict.OK for line in self.lines)

    def as_dict(self) -> dict[str, Any]:
        return {"ok": self.ok, "lines": [{**asdict(line), "verdict": str(line.verdict)} for line in self.lines]}


def ask_workers_with(probe: Callable[[], int | None]) -> None:
    """Let ``probe`` say how many workers answer, None if their broker does not. It never raises, and takes a few seconds at most."""
    _ask_workers[:] = [probe]


def ask_standings_with(probe: Callable[[], Mapping[str, Standing]]) -> None:
    """Let ``probe`` say how workers that answer stand to policies, by their names. As that of `ask_workers_with`."""
    _ask_standings[:] = [probe]


def workers_standing() -> Mapping[str, Standing]:
    """Of none where there are no policies, or no workers."""
    asks = bool(_ask_standings) and conf.job_runner() == "celery" and bool(conf.policies())
    return _ask_standings[0]() if asks else {}


def health() -> Health:
    """Look at everything, now.

    Raises:
        django.db.DatabaseError: the database is away; nothing can be said then.
    """
    asks = bool(_ask_workers) and conf.job_runner() == "celery"
    workers = _ask_workers[0]() if asks else None
    broker = ("unreachable" if workers is None else "ok") if asks else ""
    queue, pool, files, runs = figures.queue(), figures.key_pool(), figures.pending_files(), figures.recurring()
    storage = tuple(figures.storage())
    lines = (
        _server_key(),
        _runners(queue, workers=workers, broker=broker),
        _jobs(queue, forged=len(jobs.forged())),
        _schedules(runs),
        _upkeep(runs),
        _storage(storage),
        _holds(storage),
        _files(files),
        _key_pool(pool),
        _checks(),
        _ledger(),
        *_policies(),
        *_worker_policies(workers_standing()),
        *_further(),
    )
    return Health(lines, queue, pool, storage, runs, files, workers, broker)


def _server_key() -> Line:
    found = serverkeys.standing()
    number, missing = len(found.configured), found.missing
    numbers: dict[str, int | float | str] = {
        "configured": number,
        "unknown": len(found.unknown),
        "missing": len(missing),
    }
    finding = f"{count(number, 'key')} configured, {count(len(found.known), 'key')} known to the database."
    if found.refusal:
        return Line("server_key", f"{finding} Nothing can be disguised.", found.refusal, numbers)
    advice = ""
    if missing:
        finding = f"{finding[:-1]}, of which {', '.join(map(serverkeys.digits, missing))} in no list."
        advice = serverkeys.PUT_BACK
    elif found.unknown:
        finding = f"{finding[:-1]}; {', '.join(map(serverkeys.digits, found.unknown))} is new."
        advice = "Run manage.py edna_keys add before it comes to the front of the list."
    return Line("server_key", finding, advice, numbers)


def _runners(queue: Queue, *, workers: int | None, broker: str) -> Line:
    kind, running = conf.job_runner(), queue.jobs["running"]
    numbers: dict[str, int | float | str] = {"kind": kind, "alive": queue.runners, "jobs": running}
    finding = f"{count(running, 'job')} running, {count(queue.runners, 'runner')} at work."
    advice = ""
    if broker == "unreachable":
        finding = f"The broker does not answer. {finding}"
        advice = "Start the broker; nothing is lost, and jobs go on once beat and workers reach it."
    elif broker:
        numbers["workers"] = workers or 0
        finding = f"{count(workers or 0, 'worker')} answering. {finding}"
        if not workers:
            advice = "Start a worker: celery -A PROJECT worker."
    if not advice and running and not queue.runners:
        advice = (
            "If this stays so, see that celery beat is running: it sends jobs out again."
            if kind == "celery"
            else "Run manage.py edna_run, from cron or as a service: it takes up every job that waits."
        )
    return Line("runners", finding, advice, numbers)


def _jobs(queue: Queue, *, forged: int) -> Line:
    finding = f"{count(queue.left, 'principal')} left to do"
    finding += f", {count(queue.jobs['paused'], 'job')} paused." if queue.jobs["paused"] else "."
    advice = ""
    if queue.failed:
        finding = f"{finding[:-1]}, {queue.failed} failed."
        advice = "manage.py edna_jobs shows the reasons; see to them, then retry the job, or cancel it."
    if forged:
        finding = f"{finding[:-1]}, {count(forged, 'job')} that this site did not note and does not do."
        advice = f"Run manage.py edna_verify and find out who wrote to the database, first of all. {advice}".strip()
    return Line("jobs", finding, advice, {"left": queue.left, "failed": queue.failed, "forged": forged, **queue.jobs})


def _schedules(runs: Mapping[str, Run]) -> Line:
    declared = len(schedules.schedules())
    if not declared:
        return Line("schedules", "No schedule is registered.", "", {"registered": 0})
    finding, late = _last("schedules", runs)
    trouble = runs["schedules"].counts.get("in_trouble", 0) if "schedules" in runs else 0
    advice = "Run manage.py edna_run_schedules every day, from cron or celery beat." if late else ""
    if trouble and not advice:
        finding += f" {count(trouble, 'schedule')} could not be run to its end."
        advice = "Run manage.py edna_run_schedules and see what it says; the log has the class of the error."
    numbers: dict[str, int | float | str] = {"registered": declared, "in_trouble": trouble}
    return Line("schedules", f"{count(declared, 'schedule')}: {finding}", advice, numbers)


def _upkeep(runs: Mapping[str, Run]) -> Line:
    wanted = [name for name in RECURRING if name != "schedules"]
    if conf.retention_days() is None:
        wanted.remove("expire")
    found = {name: _last(name, runs) for name in wanted}
    late = [name for name, (_, overdue) in found.items() if overdue]
    commands = list(dict.fromkeys(RECURRING[name][1] for name in late))
    advice = f"Run regularly, from cron or celery beat: {', '.join(commands)}." if late else ""
    finding = " ".join(f"{name}: {text}" for name, (text, _) in found.items())
    damage = runs["verify"].counts.get("damage", 0) if "verify" in runs else 0
    if damage:
        finding += f" edna_verify found {count(damage, 'row')} that are not as edna wrote them."
    left = runs["sweep"].counts.get("forged", 0) if "sweep" in runs else 0
    if left:
        finding += f" edna_sweep left {count(left, 'entry', 'entries')} that this site did not note."
    if damage or left:
        advice = f"Run manage.py edna_verify and see to what it lists, first of all. {advice}".strip()
    return Line("upkeep", finding, advice, {name: int(overdue) for name, (_, overdue) in found.items()})


def _last(name: str, runs: Mapping[str, Run]) -> tuple[str, bool]:
    """When it was last done, in words, and whether that is too long ago."""
    at = runs[name].finished_at if name in runs else None
    if at is None:
        return "never done.", True
    hours = (timezone.now() - at).total_seconds() / 3600
    ago = f"{count(int(hours), 'hour')} ago" if hours < 48 else f"{int(hours / 24)} days ago"
    return f"last done {ago}.", hours > RECURRING[name][0] * 24


def _storage(storage: Sequence[Bucket]) -> Line:
    bags, size = sum(bucket.bags for bucket in storage), sum(bucket.bytes for bucket in storage)
    today = clock.today()
    over = [bucket for bucket in storage if bucket.expires_on and bucket.expires_on <= today and bucket.held is None]
    coming = next((b for b in storage if b.expires_on and b.expires_on > today), None)
    finding = f"{count(bags, 'bag')}, {size} bytes."
    if coming is not None:
        finding += f" {count(coming.bags, 'bag')} will be erased from {coming.expires_on} on."
    elif conf.retention_days() is None:
        finding += ' Nothing expires: EDNA["RETENTION_DAYS"] is not set.'
    advice = ""
    if over:
        finding += f" {count(sum(bucket.bags for bucket in over), 'bag')} should be gone since {over[0].expires_on}."
        advice = "Run manage.py edna_expire, and let cron or celery beat do it every day."
    return Line("storage", finding, advice, {"bags": bags, "bytes": size, "expired": sum(b.bags for b in over)})


def _holds(storage: Sequence[Bucket]) -> Line:
    number, kept = len(holds.listing()), sum(bucket.bags for bucket in storage if bucket.held is not None)
    finding = f"{count(number, 'legal hold')}, {count(kept, 'bag')} under it." if number else "No legal hold."
    return Line("holds", finding, "", {"holds": number, "bags": kept})


def _files(pending: int) -> Line:
    advice = "Run manage.py edna_files: until then files of disguised rows may still be there." if pending else ""
    return Line("files", f"{count(pending, 'file')} yet to be deleted or written.", advice, {"pending": pending})


def _key_pool(pool: KeyPool) -> Line:
    finding = f"{pool.depth} of {pool.size} key pairs ready in this process; {pool.inline} of {pool.taken} were made on the spot."
    return Line("key_pool", finding, "", {key: value for key, value in asdict(pool).items() if value is not None})


def _checks() -> Line:
    ids = sorted(set(_failing_checks()))
    where = registry.database()
    advice = f"Run manage.py check --tag edna --tag database --database {where}: each says what to do." if ids else ""
    finding = f"Checks that complain: {', '.join(ids)}." if ids else "No system check complains."
    return Line("checks", finding, advice, {"failing": len(ids), "ids": " ".join(ids)})


def _failing_checks() -> Iterator[str]:
    """Their numbers alone: what they say may name models and settings, which is for the console."""
    for message in run_checks(tags=["edna", Tags.database], databases=[registry.database()]):
        if message.id and message.id.startswith("edna.") and not message.is_silenced():
            yield message.id


def _policies() -> Iterator[Line]:
    """How the process that is asked stands; where there are policies."""
    stands = policy_seals.standing()
    if stands is None:
        return
    numbers: dict[str, int | float | str] = {
        "opened": stands.opened,
        "refused": stands.refused,
        "expires_at": stands.expires_at,
    }
    if stands.problem:
        finding = f"This process opens no policy seal: {stands.problem}"
        yield Line("policies", finding, "If it is to open some, docs/policies.md says how it attests.", numbers)
        return
    until = time.strftime("%Y-%m-%d %H:%M", time.gmtime(stands.expires_at))
    finding = f"This process is attested as {stands.attested_as}, until {until} UTC."
    if stands.lacks:
        finding += f" It opens no bag of these policies: {', '.join(stands.lacks)}."
    advice = ""
    if stands.refused or len(stands.lacks) == len(conf.policies()):
        advice = (
            "Reveals that were refused here wait: send them to a worker with the right attributes, or certify this one."
        )
    yield Line("policies", finding, advice, numbers)


def _worker_policies(workers: Mapping[str, Standing]) -> Iterator[Line]:
    """How the workers stand that answer; where there are policies."""
    if not workers:
        return
    failing = [name for name, stands in workers.items() if stands.problem or stands.refused]
    told = []
    for name, stands in sorted(workers.items()):
        if stands.problem:
            told.append(f"{name} opens no policy seal: {stands.problem}")
        else:
            lacks = f", without {', '.join(stands.lacks)}" if stands.lacks else ""
            told.append(f"{name} is attested as {stands.attested_as}{lacks}.")
    finding = f"{count(len(workers), 'worker')} answering. {' '.join(told)}"
    advice = ""
    if failing:
        advice = "What was refused there waits: send it to a worker with the right attributes, or certify these."
    numbers: dict[str, int | float | str] = {"workers": len(workers), "failing": len(failing)}
    yield Line("worker_policies", finding, advice, numbers)


def _further() -> Iterator[Line]:
    """What other applications say of their own tables."""
    for tables in beside.further():
        for line in tables.lines(using=registry.database()):
            yield Line(line.kind, line.finding, line.advice, dict(line.numbers))


def _ledger() -> Line:
    if conf.ledger():
        return Line("ledger", "On: after a backup was restored, disguises can be applied again.", "", {"on": 1})
    finding = "Off: a restored backup brings back data of people who have left, and nothing says whose."
    return Line("ledger", finding, "", {"on": 0})
