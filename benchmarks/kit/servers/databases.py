"""MariaDB, MySQL and PostgreSQL as private servers, each with an empty database `edna`."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from benchmarks.kit.servers.server import Server, in_memory, private_directory, program

#: Those of `make test`.
DATABASES = ("sqlite", "mariadb", "postgres")
#: MySQL cannot be installed beside MariaDB everywhere: it runs where somebody asks for it.
KNOWN = (*DATABASES, "mysql")


@contextlib.contextmanager
def private_mariadb(*, parent: Path | None = None, to_be_killed: bool = False) -> Iterator[Server]:
    """A MariaDB with an empty database `edna`, below `parent` (default: the system's temporary directory)."""
    daemon = program("mariadbd", "mysqld", package="mariadb-server")
    install = program("mariadb-install-db", "mysql_install_db", package="mariadb-server")
    client = program("mariadb", "mysql", package="mariadb-client")
    with private_directory("mysql", parent) as (directory, user):
        socket = directory / "socket"
        as_root = [client, "--no-defaults", f"--socket={socket}", "--user=root"]

        def ready() -> bool:
            return subprocess.run([*as_root, "--execute=SELECT 1"], capture_output=True, check=False).returncode == 0

        command = [
            *(daemon, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}", f"--socket={socket}"),
            *(f"--pid-file={directory}/pid", "--skip-networking", "--skip-log-bin", "--skip-name-resolve"),
            *("--character-set-server=utf8mb4", "--collation-server=utf8mb4_unicode_ci", "--max-allowed-packet=64M"),
            *("--innodb-buffer-pool-size=256M", "--innodb-log-file-size=64M", "--innodb-flush-log-at-trx-commit=2"),
            *("--innodb-fast-shutdown=2", "--skip-performance-schema", "--max-connections=200"),
        ]
        if not to_be_killed:
            command.append("--innodb-doublewrite=0")  # a page half written could not be put together again
        url = f"mysql://root@/edna?socket={quote(str(socket))}"
        with contextlib.closing(Server("MariaDB", directory, user, command, url, ready)) as server:
            server.run(
                [
                    *(install, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}"),
                    *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
                ]
            )
            server.start()
            subprocess.run([*as_root, "--execute=CREATE DATABASE edna"], check=True)
            yield server


@contextlib.contextmanager
def private_mysql(*, parent: Path | None = None, to_be_killed: bool = False) -> Iterator[Server]:
    """A MySQL with an empty database `edna`, below `parent` (default: the system's temporary directory)."""
    daemon, client = program("mysqld", package="mysql-server"), program("mysql", package="mysql-client")
    with private_directory("mysql", parent) as (directory, user):
        socket = directory / "socket"
        as_root = [client, "--no-defaults", f"--socket={socket}", "--user=root"]

        def ready() -> bool:
            return subprocess.run([*as_root, "--execute=SELECT 1"], capture_output=True, check=False).returncode == 0

        basis = [daemon, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}"]
        command = [
            *(*basis, f"--socket={socket}", f"--pid-file={directory}/pid", "--skip-networking", "--disable-log-bin"),
            *("--mysqlx=OFF", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_unicode_ci"),
            *("--max-allowed-packet=64M", "--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=2"),
            *("--innodb-fast-shutdown=2", "--performance-schema=OFF", "--max-connections=200"),
        ]
        if not to_be_killed:
            command.append("--innodb-doublewrite=OFF")  # a page half written could not be put together again
        url = f"mysql://root@/edna?socket={quote(str(socket))}"
        with contextlib.closing(Server("MySQL", directory, user, command, url, ready)) as server:
            server.run([*basis, "--initialize-insecure"])
            server.start()
            subprocess.run([*as_root, "--execute=CREATE DATABASE edna"], check=True)
            yield server


@contextlib.contextmanager
def private_postgres(
    *, parent: Path | None = None, to_be_killed: bool = False, to_be_measured: bool = False
) -> Iterator[Server]:
    """A PostgreSQL with an empty database `edna`, below `parent` (default: the system's temporary directory)."""
    initdb, daemon, client = (program(name, package="postgresql") for name in ("initdb", "postgres", "psql"))
    with private_directory("postgres", parent) as (directory, user):
        psql = [client, "--no-psqlrc", "--quiet", f"--host={directory}", "--username=edna", "--dbname=postgres"]

        def ready() -> bool:
            return subprocess.run([*psql, "--command=SELECT 1"], capture_output=True, check=False).returncode == 0

        command = [daemon, "-D", f"{directory}/data", "-k", str(directory), "-c", "listen_addresses="]
        # Shared memory in files of its directory: a server that is killed leaves none of it in /dev/shm.
        settings = ["fsync=off", "shared_buffers=256MB", "dynamic_shared_memory_type=mmap"]
        if not to_be_measured:
            # Tests say where rows lie and what samples hold: nobody vacuums or analyzes between two of their lines.
            settings += ["autovacuum=off"]
        if not to_be_killed:
            settings += ["full_page_writes=off", "synchronous_commit=off"]
        for setting in settings:
            command += ["-c", setting]
        url = f"postgres://edna@/edna?socket={quote(str(directory))}"
        with contextlib.closing(Server("PostgreSQL", directory, user, command, url, ready)) as server:
            server.run(
                [
                    *(initdb, f"--pgdata={directory}/data", "--username=edna", "--auth=trust", "--no-sync"),
                    *("--encoding=UTF8", "--locale=C.UTF-8"),
                ]
            )
            server.start()
            subprocess.run([*psql, "--command=CREATE DATABASE edna"], check=True)
            yield server


@contextlib.contextmanager
def database(name: str) -> Iterator[str | None]:
    """The URL of the database to test with, its private server running; None is the settings' own SQLite file."""
    configured = os.environ.get(f"EDNA_TEST_{name.upper()}_URL")
    if configured or name == "sqlite":
        yield configured
    else:
        with private_database(name) as url:
            yield url


@contextlib.contextmanager
def private_database(name: str, *, parent: Path | None = None, to_be_measured: bool = False) -> Iterator[str]:
    """The URL of an empty one of its own, gone afterwards: a server, or an SQLite file, in memory if there is room.

    ``to_be_measured``: it keeps itself in order as in production.
    """
    if name == "sqlite":
        with tempfile.TemporaryDirectory(dir=parent or in_memory()) as directory:
            yield f"sqlite:///{directory}/site.sqlite3"
    else:
        postgres = functools.partial(private_postgres, to_be_measured=to_be_measured)
        made = {"mariadb": private_mariadb, "mysql": private_mysql, "postgres": postgres}[name]
        with made(parent=parent) as server:
            yield server.url
