"""edna.custody.sockets.asked and guardians' transport: how those are asked who answer, who are slow, and who hang up."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest

from edna.custody.guardians import quorum
from edna.custody.guardians.process.transport import HttpTransport, host_of
from edna.custody.sockets.asked import Asked
from edna.errors import GuardianRefused
from tests.guardians.ring import Ring
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.once

_ONE_HANGS = """
import threading
from edna.custody.guardians import quorum

def ask(number):
    return threading.Event().wait() if number == 1 else number

print(next(iter(quorum.answers(ask, [1, 2], need=2, timeout_seconds=600))))
"""


@pytest.fixture
def heard() -> Iterator[tuple[str, list[bytes]]]:
    """The address of somebody who answers each connection once and hangs up; and what came in first."""
    came: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                came.append(connection.recv(4096))
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\n" + b'{"so": 1}')

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", came
        listening.shutdown(socket.SHUT_RDWR)


def test_a_request_leaves_as_a_whole_and_who_answers_may_hang_up(
    tmp_path: Path, heard: tuple[str, list[bytes]]
) -> None:
    """A proxy before a guardian closes connections as it likes; the next question opens another."""
    (address, came), ring = heard, Ring(tmp_path, count=3, threshold=2)
    first, *others = ring.roster.members
    transport = HttpTransport(ring.roster_of([replace(first, address=address), *others]))
    assert [transport.ask(1, "/waits", {"token": "x"}) for _ in range(2)] == [{"so": 1}] * 2
    assert [(each.startswith(b"POST /waits "), each.endswith(b'{"token": "x"}')) for each in came] == [(True, True)] * 2


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("127.0.0.1", "127.0.0.1:8443"),
        ("::1", "[::1]:8443"),
        ("guardian.example", "guardian.example:8443"),
        ("wächter.example", "xn--wchter-bua.example:8443"),
    ],
)
def test_a_request_names_whom_it_is_for(host: str, named: str) -> None:
    assert host_of(HTTPConnection(host, 8443)) == named


def test_one_that_does_not_answer_holds_up_not_even_the_end_of_the_process() -> None:
    """Whoever has what they need goes on, and ends."""
    run = subprocess.run([sys.executable, "-c", _ONE_HANGS], capture_output=True, timeout=WAIT_SECONDS, check=True)
    assert run.stdout.split() == [b"2"]


def test_why_one_gave_no_answer_is_said_and_what_is_a_mistake_of_ours_is_raised() -> None:
    def ask(number: int) -> int:
        if number == 1:
            raise GuardianRefused("Guardian 1 cannot be reached.")
        return number // (number - 2)

    assert set(quorum.answers(ask, [1, 3], need=1, timeout_seconds=60)) == {
        quorum.Wrong(1, "Guardian 1 cannot be reached."),
        3,
    }
    with pytest.raises(ZeroDivisionError):
        list(quorum.answers(ask, [2], need=1, timeout_seconds=60))


def test_nobody_is_waited_for_longer_than_was_said() -> None:
    with pytest.raises(TimeoutError):
        Asked(lambda number: threading.Event().wait(60)).next(within_seconds=0)
