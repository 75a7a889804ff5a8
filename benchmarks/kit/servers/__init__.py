"""Private servers: made for one run in a temporary directory, reached through a socket there, gone afterwards.

    python -m benchmarks.kit.servers run [--databases sqlite,mariadb,postgres] -- COMMAND ...

runs the command once for each database with `EDNA_DATABASE_URL` set, and exits non-zero if any run did. A server that already
runs on the machine is used only if EDNA_TEST_MARIADB_URL or EDNA_TEST_POSTGRES_URL names it. In Python:

    with private_mariadb() as server:
        ... server.url, server.kill(), server.start() ...

They stop even if this process is killed: a watchdog process holds one end of a pipe, and clears up when the other end closes.
The database servers skip the flushes that protect against a power cut; those made with `to_be_killed` skip nothing that protects
what was committed against the server being killed. Redis keeps nothing at all.
"""

from benchmarks.kit.servers.brokers import private_redis
from benchmarks.kit.servers.databases import (
    DATABASES,
    KNOWN,
    database,
    private_database,
    private_mariadb,
    private_mysql,
    private_postgres,
)
from benchmarks.kit.servers.server import Server, ServerError, in_memory

__all__ = [
    "DATABASES",
    "KNOWN",
    "Server",
    "ServerError",
    "database",
    "in_memory",
    "private_database",
    "private_mariadb",
    "private_mysql",
    "private_postgres",
    "private_redis",
]
