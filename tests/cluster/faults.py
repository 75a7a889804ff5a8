"""What becomes of a node, or of a connection to it, in the middle of something, and at which moment."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Final
from unittest.mock import patch

from django.db import DatabaseError, InterfaceError, connection

from benchmarks.kit.servers.clusters import Node
from edna.errors import DatabaseBusy
from tests.waiting import eventually, session_of

KILLED, CUT_OFF, BROKEN = "killed", "cut off", "broken"
#: What there is: the node is killed, it is cut off from the others, or one connection to it breaks.
FAULTS: Final = (KILLED, CUT_OFF, BROKEN)
#: How whoever is at work hears of it.
ERRORS: Final = (DatabaseError, InterfaceError, DatabaseBusy)


def strike(node: Node, how: str, session: int | None = None) -> None:
    """On return it is so. A node that was cut off knows that it is alone, unless it is asked in the middle of a commit."""
    if how == KILLED:
        node.kill()
    elif how == CUT_OFF:
        node.isolate()
    else:
        node.ask(f"KILL CONNECTION {session}")


def until_over(node: Node, how: str, session: int | None) -> None:
    """The node does nothing any more of what it was at: it is dead, or alone, or has ended the connection."""
    if how == CUT_OFF:
        eventually(lambda: "non-Primary" in node.ask("SHOW STATUS LIKE 'wsrep_cluster_status'"))
    elif how == BROKEN:
        eventually(lambda: session not in node.sessions())


@contextlib.contextmanager
def before_statement(number: int, node: Node, how: str) -> Iterator[list[str]]:
    """Before so many statements of the block have been sent to the node. What is struck is in the list."""
    struck: list[str] = []
    left = number

    def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal left
        left -= 1
        if left == -1:
            session = session_of(connection)  # type: ignore[arg-type]
            strike(node, how, session)
            until_over(node, how, session)
            struck.append(how)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        yield struck


@contextlib.contextmanager
def while_committing(nodes: Sequence[Node], node: Node, how: str) -> Iterator[list[str]]:
    """While the block's first COMMIT waits for the other nodes, which do not answer until it has happened. Nobody can say then whether they
    have heard of it. What is struck is in the list. On a machine that has too much else to do the others may be missed before that."""
    struck: list[str] = []
    others = [each for each in nodes if each.serves and each is not node]
    commit = connection._commit

    def commit_and_be_struck() -> None:
        if struck:
            commit()
            return
        session = session_of(connection)  # type: ignore[arg-type]
        over = threading.Event()
        watch = connection.Database.connect(user="root", unix_socket=str(node.socket))

        def at_it() -> bool:
            with closing(watch.cursor()) as cursor:
                cursor.execute("SHOW PROCESSLIST")
                return any(number == session and command != "Sleep" for number, _, _, _, command, *_ in cursor)

        def fall() -> None:
            try:
                eventually(lambda: over.is_set() or at_it(), look_seconds=0.001)
                if not over.is_set():
                    struck.append(how)
                    strike(node, how, session)
            finally:
                for other in others:
                    other.freeze(frozen=False)

        for other in others:
            other.freeze()
        fault = threading.Thread(target=fall)
        fault.start()
        try:
            commit()
        finally:
            over.set()
            fault.join()
            watch.close()
            if struck:
                until_over(node, how, session)

    with patch.object(connection, "_commit", commit_and_be_struck):
        yield struck
