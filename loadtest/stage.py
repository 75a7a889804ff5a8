"""The site and all that it needs, privately: started for one run, on data that is filled in once, gone afterwards whatever happens.

As in production: MariaDB or PostgreSQL, gunicorn with two worker processes of eight threads each, and where a scenario asks for it Redis,
Celery's workers and a beat. Data in memory, if there is room: a disk's moods are no property of edna.
"""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kit.environment import without_settings
from benchmarks.kit.servers import Server, in_memory, private_mariadb, private_postgres, private_redis
from loadtest.scenarios import Site

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = "loadtest.site_settings"
WORKERS, THREADS = 2, 8
GUNICORN = (
    *("--workers", str(WORKERS), "--threads", str(THREADS), "--worker-class", "gthread"),
    *("--keep-alive", "600", "--timeout", "600", "--bind", "127.0.0.1:0", "--log-level", "info", "config.wsgi"),
)
CELERY_PROCESSES = 2
#: PostgreSQL keeps itself in order as in production.
DATABASES = {"mariadb": private_mariadb, "postgres": functools.partial(private_postgres, to_be_measured=True)}
#: What a server's processes are called in the results.
PROGRAMS = {"MariaDB": "mariadbd", "PostgreSQL": "postgres"}
_LISTENING = re.compile(r"Listening at: (http://[\d.:]+)")


class LoadFailed(Exception):
    """The load could not be done; the message is one sentence that says what to look at."""


class Process(Server):
    """A program of the site: `start`, `stop` and `close` are those of a server, which ends even if this process is killed."""

    def __init__(self, name: str, directory: Path, *arguments: str, site: Mapping[str, str], ready: str) -> None:
        directory.mkdir()
        command = ["env", *(f"{key}={value}" for key, value in site.items()), sys.executable, "-m", *arguments]
        super().__init__(name, directory, None, command, "", lambda: ready in self.log())

    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""


@dataclass(frozen=True)
class Running:
    """A site that answers. ``groups`` are its processes by what they are called in the results, without their children;
    ``environment`` is what is set for them."""

    host: str
    groups: Mapping[str, list[int]]
    environment: Mapping[str, str]
    processes: list[Process]

    def logs(self) -> str:
        return "\n".join(f"##### {process.name}\n{process.log()}" for process in self.processes)


class Stage:
    """One application's data, and sites on it, one after the other."""

    def __init__(self, app: str, directory: Path, database: Server) -> None:
        self.app, self.directory, self.database = app, directory, database
        self.people = directory / "people.json"
        self._kept = directory / "kept.pickle"
        self._sites = 0

    def fill(self, *, scale: float, drawn: int, seed: int) -> None:
        self._run(
            "loadtest.prepare",
            *(f"--app={self.app}", f"--scale={scale}", f"--drawn={drawn}", f"--seed={seed}", f"--output={self.people}"),
        )

    def keep(self) -> None:
        """Remember the data as it is now, to `compare` with."""
        self._integrity("keep")

    def compare(self, output: Path) -> None:
        """Write what is not as it was."""
        self._integrity("compare", f"--output={output}")

    def _integrity(self, action: str, *more: str) -> None:
        given = (f"--app={self.app}", f"--people={self.people}", f"--file={self._kept}")
        self._run("loadtest.integrity", action, *given, *more)

    def _run(self, module: str, *arguments: str) -> None:
        process = self.start(module, *arguments)
        try:
            status = process.wait()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if status:
            raise LoadFailed(f"{module} ended with status {status}; why is above.")

    def start(self, module: str, *arguments: str, stdout: int | None = None) -> subprocess.Popen[bytes]:
        """A program of ours beside the site. Ctrl-C in a terminal is for us, who end it."""
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env={**without_settings(), **self._site({})},
            cwd=ROOT,
            stdout=stdout,
            start_new_session=True,
        )

    def _site(self, settings: Mapping[str, str]) -> dict[str, str]:
        """What is set for each process that opens the database."""
        return {
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            "EDNA_DATABASE_URL": self.database.url,
            "EDNA_VAR": str(self.directory / "var"),
            **settings,
        }

    @contextlib.contextmanager
    def site(self, site: Site) -> Iterator[Running]:
        """The site with these settings, as long as the block goes on."""
        self._sites += 1
        directory = self.directory / f"site{self._sites}"
        directory.mkdir()
        groups = {PROGRAMS[self.database.name]: [self.database.pid]}
        settings = self._site(site.settings)
        with contextlib.ExitStack() as stack:
            if site.workers or "EDNA_REQUEST_RATE" in site.settings:
                redis = stack.enter_context(private_redis(parent=self.directory))
                groups["redis"] = [redis.pid]
                settings["EDNA_CACHE_URL"] = f"unix://{redis.directory / 'socket'}"
                if site.workers:
                    settings["EDNA_BROKER_URL"] = redis.url
            gunicorn = _process("gunicorn", directory, "gunicorn", *GUNICORN, site=settings, ready="Booting worker")
            processes = [gunicorn, *(_celery(directory, settings) if site.workers else [])]
            for process in processes:
                stack.enter_context(contextlib.closing(process))
                process.start()
                groups.setdefault("gunicorn" if process is gunicorn else "celery", []).append(process.pid)
            found = _LISTENING.search(gunicorn.log())
            assert found is not None, "gunicorn says where it listens before it starts its workers"
            yield Running(found[1], groups, settings, processes)


def _celery(directory: Path, settings: Mapping[str, str]) -> list[Process]:
    """As docs/celery.md has it."""
    worker = ("-A", "config", "worker", "--concurrency", str(CELERY_PROCESSES), "--loglevel", "info")
    beat = ("-A", "config", "beat", "--schedule", str(directory / "schedule"), "--loglevel", "info")
    return [
        _process("worker", directory, "celery", *worker, site=settings, ready=" ready."),
        _process("beat", directory, "celery", *beat, site=settings, ready="beat: Starting"),
    ]


def _process(name: str, directory: Path, *arguments: str, site: Mapping[str, str], ready: str) -> Process:
    return Process(name, directory / name, *arguments, site=site, ready=ready)


@contextlib.contextmanager
def stage(app: str, database: str = "mariadb") -> Iterator[Stage]:
    """A database server and a directory for one application; `Stage.fill` fills it."""
    directory = Path(tempfile.mkdtemp(prefix="edna-load-", dir=in_memory())).resolve()
    directory.chmod(0o755)  # the servers below it have accounts of their own
    # Never started: what clears up after a server that was killed clears up here, too.
    whole = Server("the stage", directory, None, [], "", lambda: True)
    with contextlib.closing(whole), DATABASES[database](parent=directory) as server:
        yield Stage(app, directory, server)
