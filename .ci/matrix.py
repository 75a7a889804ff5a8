"""The suite under other versions of Python, Django and the databases: `make test-matrix`, as root, on Debian or a relative of it.

A column is a release of Debian with the packages that it has, in a directory of its own below a temporary one (debootstrap). The
directories stay, so the next run takes minutes less. What happens in one sees nothing of the machine but its network and its
processors: it has processes and mounts of its own, which end with it. A column `pythonX.Y` is an interpreter of this machine: the
fallback for what no Debian has, on SQLite only.

What came out is in build/matrix: `results.md`, and a log for each column. Knows no test but those in DESELECTED.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "matrix"
PACKAGES = (
    "python3-venv python3-dev gcc libc6-dev pkg-config ca-certificates git openssl procps redis-server postgresql"
)
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
INHERITED = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_DEFAULT_TIMEOUT", "http_proxy", "https_proxy", "no_proxy")

#: Pinned for one Django only. What is tested here is the library, not its types.
OF_ONE_DJANGO = {"django", "django-stubs", "django-stubs-ext"}
#: The environment of whoever develops edna: another Django than the one that is pinned is what a column is for.
DESELECTED = ["tests/test_house.py::test_requirements_pin_all_that_is_asked_for_and_what_is_installed"]
QUICK = "not slow and not browser and not thorough"
#: What runs on the servers; the rest says the same on each, or takes hours on all.
ON_SERVERS = ["tests/integration", "tests/acceptance"]
#: The sample applications make their people in bulk, of which MySQL says no numbers.
NOT_ON_MYSQL = ["apps"]


class Refused(Exception):
    """What is missing, or where it is said what failed."""


@dataclass(frozen=True)
class Column:
    djangos: tuple[str, ...]
    release: str = ""  # of Debian; none: an interpreter of this machine
    python: str = "python3"
    servers: tuple[str, ...] = ()
    packages: str = ""


COLUMNS = {
    "bookworm": Column(("5.2",), "bookworm", "python3", ("mariadb", "postgres"), "mariadb-server libmariadb-dev"),
    "trixie": Column(
        ("5.2", "6.0", "6.1"), "trixie", "python3", ("mariadb", "postgres"), "mariadb-server libmariadb-dev"
    ),
    "sid": Column(("5.2", "6.1"), "sid", "python3", ("mysql", "postgres"), "mysql-server libmysqlclient-dev"),
}


class Place:
    """Where the commands of a column run: in a root of its own, or on this machine in a directory of its own."""

    def __init__(self, name: str, column: Column, directory: Path) -> None:
        self.name, self.column = name, column
        self.directory = directory / name
        self.inside = "" if column.release else str(self.directory)  # the same directory, as commands see it
        self.log = RESULTS / f"{name}.log"

    def make(self, mirror: str) -> None:
        made = self.directory / ".made"
        if not made.exists():
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory.mkdir(parents=True, mode=0o755)
            if self.column.release:
                arguments = ["debootstrap", "--variant=minbase", self.column.release, str(self.directory), mirror]
                if self._call(arguments, dict(os.environ), " ".join(arguments))[0]:
                    raise self._failed()
        if self.column.release:
            starts_no_server = self.directory / "usr/sbin/policy-rc.d"
            starts_no_server.write_text("#!/bin/sh\nexit 101\n")
            starts_no_server.chmod(0o755)
            shutil.copy("/etc/resolv.conf", self.directory / "etc")
            # A mirror may stand still for longer than its lists of unstable are valid. They are signed all the same.
            self.run("apt-get -q -o Acquire::Check-Valid-Until=false update")
            self.run(f"apt-get -q install -y --no-install-recommends {PACKAGES} {self.column.packages}")
            shutil.copy(f"/{CERTIFICATES}", self.directory / CERTIFICATES)  # also those of a proxy
        made.touch()

    def copy_source(self) -> None:
        """The working tree as it is, without what git ignores."""
        source = self.directory / "edna"
        shutil.rmtree(source, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, source / name)

    def install(self, django: str) -> str:
        """The virtual environment for this Django: its directory, as commands see it."""
        pins = [
            line
            for line in (ROOT / "requirements.txt").read_text().splitlines()
            if line.partition("==")[0].lower() not in OF_ONE_DJANGO
        ]
        (self.directory / "constraints.txt").write_text("\n".join([*pins, f"Django=={django}.*", ""]))
        drivers = {"mariadb" if name == "mysql" else name for name in self.column.servers}
        extras = ",".join(["dev", *sorted(drivers)])
        where = f"{self.inside}/venv-{django}"
        self.run(f"test -x {where}/bin/pip || {self.column.python} -m venv {where}")
        self.run(
            f"cd {self.inside}/edna && {where}/bin/pip install -q -c {self.inside}/constraints.txt -e '.[{extras}]'"
        )
        return where

    def run(self, command: str) -> str:
        code, said = self.attempt(command)
        if code:
            raise self._failed()
        return said

    def attempt(self, command: str) -> tuple[int, str]:
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        environment = {
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        } | inherited
        if not self.column.release:
            return self._call(["/bin/sh", "-ec", command], dict(os.environ) | environment, command)
        environment |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "COMMAND": command}
        environment |= {"PIP_CERT": f"/{CERTIFICATES}", "SSL_CERT_FILE": f"/{CERTIFICATES}"}
        mounts = "mount -t proc proc $0/proc && mount --rbind /dev $0/dev"
        enter = f'{mounts} && exec chroot $0 /bin/sh -ec "$COMMAND"'
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-ec", enter, str(self.directory)]
        return self._call(apart, environment, command)

    def _failed(self) -> Refused:
        return Refused(f"{self.name}: a command failed; the end of {self.log} says which, and why.")

    def _call(self, arguments: list[str], environment: dict[str, str], shown: str) -> tuple[int, str]:
        with self.log.open("a+") as log:
            log.write(f"\n$ {shown}\n")
            log.flush()
            began = log.tell()
            done = subprocess.run(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
            log.seek(began)
            return done.returncode, log.read()


@dataclass(frozen=True)
class Result:
    column: str
    python: str
    django: str
    database: str
    passed: bool
    said: str  # pytest's last line
    minutes: float

    def row(self) -> str:
        verdict = "" if self.passed else "**failed**: "
        cells = (self.column, self.python, self.django, self.database, verdict + self.said, f"{self.minutes:.1f}")
        return f"| {' | '.join(cells)} |\n"


def tests(place: Place, venv: str, database: str, arguments: str) -> Result:
    began = time.monotonic()
    folders = "" if database == "sqlite" else " ".join(ON_SERVERS + NOT_ON_MYSQL * (database != "mysql"))
    left_out = " ".join(f"--deselect {name}" for name in DESELECTED)
    pytest = f"{venv}/bin/python -m pytest -q -m '{QUICK}' -p no:cacheprovider {left_out} {folders} {arguments}"
    servers = f"{venv}/bin/python -m benchmarks.kit.servers run --databases {database} --"
    code, said = place.attempt(f"cd {place.inside}/edna && {servers} {pytest}")
    closing = re.findall(r"^.*\b(?:passed|failed|error)\b.* in [\d.:]+.*$", said, re.MULTILINE)
    return Result(
        *(place.name, version(place, f"{venv}/bin/python -V"), version(place, f"{venv}/bin/django-admin --version")),
        named(place, venv, database),
        code == 0,
        re.sub(r" in [\d.]+s.*", "", closing[-1].strip("= ")) if closing else "nothing was run",
        (time.monotonic() - began) / 60,
    )


def named(place: Place, venv: str, database: str) -> str:
    name, command = {
        "sqlite": ("SQLite", f"{venv}/bin/python -c 'import sqlite3; print(sqlite3.sqlite_version)'"),
        "mariadb": ("MariaDB", "mariadbd --version"),
        "mysql": ("MySQL", "mysqld --version"),
        "postgres": ("PostgreSQL", "/usr/lib/postgresql/*/bin/postgres --version"),
    }[database]
    return f"{name} {version(place, command)}"


def version(place: Place, command: str) -> str:
    found = re.search(r"\d+(\.\d+)+", place.run(command))
    return found[0] if found else "?"


def chosen(text: str) -> dict[str, Column]:
    found = {name: COLUMNS.get(name, Column(("5.2",), python=name)) for name in text.split(",")}
    for name, column in found.items():
        if not column.release and not shutil.which(column.python):
            raise Refused(
                f"there is no column {name}: choose among {', '.join(COLUMNS)}, or name an interpreter of this machine."
            )
    return found


def require_means(columns: dict[str, Column]) -> None:
    if not any(column.release for column in columns.values()):
        return
    if os.geteuid() != 0:
        raise Refused("only root can make a system of its own for each release: run this as root, or in a container.")
    if missing := [name for name in ("debootstrap", "unshare", "chroot", "mount") if shutil.which(name) is None]:
        raise Refused(
            f"please install what Debian calls debootstrap, util-linux, coreutils: {', '.join(missing)} is missing."
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test-matrix", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--columns", default=",".join(COLUMNS), help="of %(default)s; or pythonX.Y, of this machine")
    parser.add_argument("--django", help="only with these, such as 5.2,6.1")
    parser.add_argument("--databases", help="only on these, such as sqlite,mysql")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp/edna-matrix"), help="default: %(default)s")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="default: %(default)s")
    parser.add_argument("pytest", nargs="*", help="after --: arguments for pytest")
    arguments = parser.parse_args()
    results: list[Result] = []
    try:
        columns = chosen(arguments.columns)
        require_means(columns)
        arguments.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if arguments.directory.stat().st_uid != os.geteuid():
            raise Refused(f"{arguments.directory} is somebody else's: name another with --directory.")
        RESULTS.mkdir(parents=True, exist_ok=True)
        for name, column in columns.items():
            place = Place(name, column, arguments.directory)
            place.log.unlink(missing_ok=True)
            print(f"{name}: preparing; {place.log} tells", flush=True)
            place.make(arguments.mirror)
            place.copy_source()
            djangos = [django for django in column.djangos if django in (arguments.django or django).split(",")]
            for django in djangos:
                venv = place.install(django)
                databases = ["sqlite", *(column.servers if django == djangos[-1] else ())]
                for database in databases:
                    if database in (arguments.databases or database).split(","):
                        results.append(tests(place, venv, database, " ".join(arguments.pytest)))
                        print(results[-1].row(), end="", flush=True)
    except Refused as refusal:
        print(f"error: {refusal}", file=sys.stderr)
        return 1
    finally:
        if results:
            head = "| column | Python | Django | database | tests | minutes |\n|---|---|---|---|---|---|\n"
            (RESULTS / "results.md").write_text(head + "".join(result.row() for result in results))
    return 0 if results and all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
