"""Several servers that hold the same data, and what stands between them and a client: Galera, a standby, PgBouncer, HAProxy.

All of it runs on this machine, on loopback and on sockets in directories of their own. Knows nothing of edna.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from benchmarks.kit.servers.server import Server, ServerError, private_directory, program

#: Where the systems' packages put what makes a MariaDB a node of a cluster.
_PROVIDERS = ("/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so")
#: Below those that Linux takes for connections, and for servers that ask for any.
_OWN_PORTS = (15_000, 32_000)
#: A node that does not answer is given up after this long, and not after the five seconds of a network across cities.
_IMPATIENT = "evs.keepalive_period=PT0.5S; evs.suspect_timeout=PT2S; evs.inactive_timeout=PT5S"


class Node(Server):
    """A MariaDB of a cluster. `start()` joins the others, and waits until it has what they have."""

    def __init__(self, directory: Path, user: str | None, command: Sequence[str], client: str, others: str) -> None:
        self.socket = directory / "socket"
        self._client = [client, "--no-defaults", f"--socket={self.socket}", "--user=root", "--skip-column-names"]
        self._others = others
        #: Cut off from the others, as far as is known here.
        self.isolated = False
        self._basis = [*command]
        url = f"mysql://root@/edna?socket={quote(str(self.socket))}"
        super().__init__("MariaDB", directory, user, [], url, self.is_synced)

    def begin(self) -> None:
        """Be the first node of a new cluster."""
        self._command = [*self._basis, "--wsrep-new-cluster", "--wsrep-cluster-address=gcomm://"]
        super().start()

    def start(self) -> None:
        self.isolated = False
        self._command = [*self._basis, f"--wsrep-cluster-address=gcomm://{self._others}"]
        super().start()

    @property
    def runs(self) -> bool:
        return self._process is not None

    @property
    def serves(self) -> bool:
        """Whether a balancer would send anybody here."""
        return self.runs and not self.isolated

    def ask(self, sql: str) -> str:
        asked = subprocess.run([*self._client, f"--execute={sql}"], capture_output=True, check=False, text=True)
        return asked.stdout.strip()

    def is_synced(self) -> bool:
        return self.ask("SHOW STATUS LIKE 'wsrep_local_state_comment'").endswith("Synced")

    def is_one_of(self, number: int) -> bool:
        """Whether it has all that so many nodes have, and may be written to. Others have gone for good by then, or have come."""
        wanted = {
            "wsrep_cluster_size": str(number),
            "wsrep_cluster_status": "Primary",
            "wsrep_local_state_comment": "Synced",
            "wsrep_ready": "ON",
        }
        names = ", ".join(f"'{name}'" for name in wanted)
        said = self.ask(f"SHOW STATUS WHERE variable_name IN ({names})")
        return dict(line.split("\t", 1) for line in said.splitlines()) == wanted

    def sessions(self) -> dict[int, str]:
        """Its connections, by number, and what each is doing: `Sleep`, `Query` and the like."""
        rows = (line.split("\t") for line in self.ask("SHOW PROCESSLIST").splitlines())
        return {int(number): command for number, _, _, _, command, *_ in rows}

    def freeze(self, *, frozen: bool = True) -> None:
        """It does nothing, and its connections stay: the kernel takes in for it what others send. Or let it go on."""
        os.kill(self.pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def isolate(self, *, isolated: bool = True) -> None:
        """Cut it off from the others, or let it come back: a network that is down between them."""
        self.isolated = isolated
        self.ask(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={int(isolated)}'")


@contextlib.contextmanager
def private_galera(*, count: int = 2, parent: Path | None = None) -> Iterator[list[Node]]:
    """So many nodes of one Galera cluster, all of which may be written to, with an empty database `edna`."""
    provider = next(filter(os.path.exists, _PROVIDERS), None)
    if provider is None:
        raise ServerError("Galera is not installed: install galera-4 and rsync.")
    program("rsync", package="rsync")  # what a node that joins gets the data by
    daemon = program("mariadbd", package="mariadb-server")
    install = program("mariadb-install-db", package="mariadb-server")
    client = program("mariadb", package="mariadb-client")
    ports = free_ports(3 * count)
    group, increments, transfers = ports[:count], ports[count : 2 * count], ports[2 * count :]
    with contextlib.ExitStack() as stack:
        nodes: list[Node] = []
        for number in range(count):
            directory, user = stack.enter_context(private_directory("mysql", parent))
            others = ",".join(f"127.0.0.1:{port}" for port in group if port != group[number])
            listens = (
                f"gmcast.listen_addr=tcp://127.0.0.1:{group[number]}; ist.recv_addr=127.0.0.1:{increments[number]}"
            )
            command = [
                *(daemon, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}"),
                *(f"--socket={directory}/socket", f"--pid-file={directory}/pid", "--skip-networking"),
                *("--skip-name-resolve", "--character-set-server=utf8mb4", "--collation-server=utf8mb4_unicode_ci"),
                *("--max-allowed-packet=64M", "--innodb-buffer-pool-size=128M", "--innodb-log-file-size=64M"),
                *("--innodb-flush-log-at-trx-commit=2", "--skip-performance-schema", "--max-connections=200"),
                *("--binlog-format=ROW", "--skip-log-bin", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON"),
                *(f"--wsrep-provider={provider}", "--wsrep-cluster-name=edna", f"--wsrep-node-name={number}"),
                *("--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=rsync", "--wsrep-slave-threads=2"),
                f"--wsrep-sst-receive-address=127.0.0.1:{transfers[number]}",
                # Who reads on one node sees what has been committed on another before.
                "--wsrep-sync-wait=7",
                f"--wsrep-provider-options={listens}; gcache.size=16M; {_IMPATIENT}",
            ]
            node = stack.enter_context(contextlib.closing(Node(directory, user, command, client, others)))
            node.run(
                [
                    *(install, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}"),
                    *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
                ]
            )
            nodes.append(node)
        nodes[0].begin()
        for node in nodes[1:]:
            node.start()
        nodes[0].ask("CREATE DATABASE edna")
        yield nodes


@contextlib.contextmanager
def private_pgbouncer(server: Server, *, connections: int = 4) -> Iterator[Server]:
    """A PgBouncer in transaction mode before a private PostgreSQL: clients take turns with so many of its connections."""
    daemon = program("pgbouncer", package="pgbouncer")
    client = program("psql", package="postgresql")
    with private_directory("postgres", None) as (directory, user):
        [port] = free_ports(1)

        def ready() -> bool:
            asked = [client, "--no-psqlrc", f"--host={directory}", f"--port={port}", "--username=edna", "--dbname=edna"]
            return subprocess.run([*asked, "--command=SELECT 1"], capture_output=True, check=False).returncode == 0

        settings = directory / "pgbouncer.ini"
        settings.write_text(
            "[databases]\n"
            f"edna = user=edna host={server.directory}\n"
            "[pgbouncer]\n"
            f"unix_socket_dir = {directory}\nlisten_addr =\nlisten_port = {port}\n"
            f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 200\n"
            "ignore_startup_parameters = extra_float_digits\nserver_round_robin = 1\n"
        )
        url = f"postgres://edna@:{port}/edna?socket={quote(str(directory))}"
        with contextlib.closing(Server("PgBouncer", directory, user, [daemon, str(settings)], url, ready)) as bouncer:
            bouncer.start()
            yield bouncer


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now, and that the kernel gives nobody by itself: a server that was killed finds its own
    free when it starts again."""
    chance = random.SystemRandom()
    found: list[int] = []
    with contextlib.ExitStack() as stack:
        while len(found) < count:
            each, port = stack.enter_context(socket.socket()), chance.randrange(*_OWN_PORTS)
            with contextlib.suppress(OSError):
                each.bind(("127.0.0.1", port))
                found.append(port)
    return found


@contextlib.contextmanager
def private_standby(primary: Server) -> Iterator[Standby]:
    """A PostgreSQL that follows a private one, by streaming. `promote()` makes it the one that is written to."""
    copy, daemon, client, control = (
        program(name, package="postgresql") for name in ("pg_basebackup", "postgres", "psql", "pg_ctl")
    )
    with private_directory("postgres", None) as (directory, user):
        psql = [
            client,
            "--no-psqlrc",
            "--quiet",
            "--tuples-only",
            "--no-align",
            f"--host={directory}",
            "--username=edna",
        ]
        command = [
            daemon,
            "-D",
            f"{directory}/data",
            "-k",
            str(directory),
            "-c",
            "listen_addresses=",
            "-c",
            "fsync=off",
        ]
        command += ["-c", "dynamic_shared_memory_type=mmap", "-c", "synchronous_standby_names="]
        promote = [control, "promote", f"--pgdata={directory}/data"]
        with contextlib.closing(Standby(directory, user, command, psql, promote)) as standby:
            standby.run(
                [
                    *(copy, f"--host={primary.directory}", "--username=edna", f"--pgdata={directory}/data"),
                    *("--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"),
                ]
            )
            standby.start()
            yield standby


class Standby(Server):
    def __init__(
        self, directory: Path, user: str | None, command: list[str], psql: list[str], promote: list[str]
    ) -> None:
        self._psql, self._promote = psql, promote
        url = f"postgres://edna@/edna?socket={quote(str(directory))}"
        super().__init__("PostgreSQL", directory, user, command, url, lambda: self.ask("SELECT 1") == "1")

    def ask(self, sql: str) -> str:
        asked = [*self._psql, "--dbname=edna", f"--command={sql}"]
        return subprocess.run(asked, capture_output=True, check=False, text=True).stdout.strip()

    def pause(self) -> None:
        """It goes on receiving, and shows nothing of it."""
        self.ask("SELECT pg_wal_replay_pause()")

    def promote(self) -> None:
        self.run(self._promote)


class Proxy(Server):
    """What a site connects to in place of a database server, which it may change without telling anybody."""

    def cut(self) -> None:
        """End every connection."""
        for name in ("first", "second"):
            self._tell(f"shutdown sessions server databases/{name}")

    def turn_to_the_second(self) -> None:
        self._tell("set server databases/second state ready")
        self._tell("set server databases/first state maint")
        self.cut()

    def _tell(self, command: str) -> None:
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(self.directory / "control"))
            control.sendall(command.encode() + b"\n")
            control.shutdown(socket.SHUT_WR)
            said = control.recv(4096).strip()
        if said:
            raise ServerError(f"The proxy refused: {said.decode(errors='replace')}")


@contextlib.contextmanager
def private_proxy(first: Server, second: Server | None = None) -> Iterator[Proxy]:
    """HAProxy before one private PostgreSQL, or two of which the first is used until it is told otherwise."""
    daemon = program("haproxy", package="haproxy")
    second = second or first
    with private_directory("haproxy", None) as (directory, _):
        listens = directory / ".s.PGSQL.5432"
        settings = directory / "haproxy.cfg"
        settings.write_text(
            f"global\n stats socket {directory}/control level admin\n"
            "defaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n retries 0\n"
            f"frontend site\n bind unix@{listens} mode 777\n default_backend databases\n"
            f"backend databases\n server first unix@{first.directory}/.s.PGSQL.5432\n"
            f" server second unix@{second.directory}/.s.PGSQL.5432 disabled\n"
        )
        directory.chmod(0o755)
        url = f"postgres://edna@/edna?socket={quote(str(directory))}"
        command = [daemon, "-db", "-f", str(settings)]
        with contextlib.closing(Proxy("HAProxy", directory, None, command, url, listens.exists)) as proxy:
            proxy.start()
            yield proxy
