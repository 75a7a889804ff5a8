"""edna.custody.guardians.process.server, its orders, routes and connections: a guardian on a socket, and who else is there."""

from __future__ import annotations

import io
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from edna.custody.guardians import quorum
from edna.custody.guardians.process.orders import CHALLENGE_BYTES, checked_status
from edna.custody.guardians.process.policies import Policy, Waiting
from edna.custody.guardians.process.server import Server
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Identity, Roster, to_base64
from edna.custody.sockets.connections import Connections
from edna.errors import ConfigurationError, GuardianRefused
from edna.guardians import files, serving
from tests.guardians.ring import Ring, mailed
from tests.sockets.late import NEVER, all_are_late

pytestmark = pytest.mark.once


@contextmanager
def served(ring: Ring, *, connections: Callable[[], Connections] = Connections) -> Iterator[Roster]:
    """The guardians of a ring on sockets of this process; the roster says where."""
    with ExitStack() as stack:
        members = []
        for number, guardian in ring.guardians.items():
            server = Server(("127.0.0.1", 0), guardian, clock=lambda: int(time.time()), connections=connections())
            stack.enter_context(server)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            members.append(ring.identities[number].member(f"http://127.0.0.1:{server.server_address[1]}"))
        roster = Roster(members, ring.roster.threshold, ring.roster.site_key, site=ring.roster.site)
        for guardian in ring.guardians.values():
            guardian.roster = roster
        yield roster


def port_of(roster: Roster, number: int = 1) -> int:
    return int(roster.member(number).address.rpartition(":")[2])


def asks(port: int, path: str = "/waits") -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", path, b"{}")
    return connection.getresponse().status


def test_a_request_that_is_dripped_in_ends_and_others_are_answered_meanwhile(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2)
    held: list[Connections] = []

    def patient() -> Connections:
        held.append(Connections(request_seconds=NEVER))
        return held[-1]

    with (
        served(ring, connections=patient) as roster,
        socket.create_connection(("127.0.0.1", port_of(roster)), timeout=30) as slow,
    ):
        slow.sendall(b"POST /waits HTTP/1.1\r\n")
        over = threading.Event()

        def drip() -> None:
            try:
                while not over.wait(0.05):
                    slow.sendall(b"X")
            except OSError:
                pass

        dripping = threading.Thread(target=drip)
        dripping.start()
        assert asks(port_of(roster)) == 400
        all_are_late(held[0])
        try:
            assert slow.recv(1) == b""
        except ConnectionResetError:
            pass
        over.set()
        dripping.join()


def test_whoever_waits_longest_gives_way_to_another(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2)
    held: list[Connections] = []

    def few() -> Connections:
        # Nobody gives way for being late here.
        held.append(Connections(most=3, request_seconds=NEVER))
        return held[-1]

    with served(ring, connections=few) as roster, ExitStack() as stack:
        address = ("127.0.0.1", port_of(roster))
        idle = [stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(9)]
        assert asks(address[1]) == 400
        for each in idle[:6]:
            assert each.recv(1) == b""
        assert 1 <= len(held[0]) <= 3


def test_how_many_people_a_guardian_helps_it_tells_the_site_alone(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2)
    challenge = bytes(CHALLENGE_BYTES)
    said = {"challenge": to_base64(challenge)}
    with served(ring) as roster:
        with pytest.raises(GuardianRefused, match="order of the site"):
            HttpTransport(roster).ask(1, "/status", said)
        answer = HttpTransport(roster, site_key=ring.site_key).ask(1, "/status", said, ordered=True)
    assert checked_status(answer, challenge=challenge, member=roster.member(1))["enrolments"] == 0
    with pytest.raises(GuardianRefused, match="somebody else answers"):
        checked_status(answer, challenge=b"\x01" * CHALLENGE_BYTES, member=roster.member(1))
    with pytest.raises(GuardianRefused, match="somebody else answers"):
        checked_status(answer, challenge=challenge, member=roster.member(2))


def test_the_page_of_a_site_may_ask_a_guardian(tmp_path: Path) -> None:
    """A browser asks first. No answer of a guardian depends on who the browser is logged in as."""
    with served(Ring(tmp_path, count=2, threshold=2)) as roster:
        connection = HTTPConnection("127.0.0.1", port_of(roster), timeout=30)
        connection.request("OPTIONS", "/ticket", headers={"Access-Control-Request-Headers": "content-type"})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (204, b"")
        assert answer.getheader("Access-Control-Allow-Origin") == "*"
        assert answer.getheader("Access-Control-Allow-Headers") == "Content-Type"
        connection.request("POST", "/waits", b"{}")
        assert connection.getresponse().getheader("Access-Control-Allow-Origin") == "*"


def test_what_fails_is_said_without_its_content(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Broken(Waiting):
        def opened(self, request: Any) -> Any:
            raise RuntimeError(request.contact)

    def broken(tell: Any) -> Policy:
        return Broken(tell, wait_seconds=0)

    ring = Ring(tmp_path, count=2, threshold=2, policies={1: broken})
    enrolled = ring.enrol()
    with served(ring) as roster:
        refused = quorum.Recovery(enrolled.envelope, roster=roster, transport=HttpTransport(roster)).open()
    assert set(refused) == {1}
    told = capfd.readouterr().err
    assert "RuntimeError" in told
    assert "bea@" not in told


# --- where it listens ---

HERE, TLS = "http://127.0.0.1:8441", "https://guardian.example:8443"
PLACES: dict[str, tuple[str, tuple[str, int] | None, bool, tuple[str, int] | str]] = {
    "at its address": (HERE, None, False, ("127.0.0.1", 8441)),
    "with TLS on all interfaces": (TLS, None, True, ("0.0.0.0", 8443)),
    "with TLS on one interface": (TLS, ("10.0.0.1", 8443), True, ("10.0.0.1", 8443)),
    "behind a proxy": (TLS, ("127.0.0.1", 9000), False, ("127.0.0.1", 9000)),
    "the port of another": (HERE, ("127.0.0.1", 8443), False, "nobody would find it"),
    "TLS that the roster does not say": (HERE, None, True, "without TLS"),
    "no TLS where the roster says it": (TLS, None, False, "--certificate-key are needed"),
}


@pytest.mark.parametrize("what", PLACES)
def test_a_guardian_listens_where_the_roster_says_others_look_for_it(tmp_path: Path, what: str) -> None:
    address, listen, is_tls, expected = PLACES[what]
    member = Ring(tmp_path, count=2, threshold=2).identities[2].member(address)
    if isinstance(expected, str):
        with pytest.raises(ConfigurationError, match=expected):
            serving.listening_at(member, listen, is_tls=is_tls)
    else:
        assert serving.listening_at(member, listen, is_tls=is_tls) == expected


# --- recover ---


def test_recover_takes_codes_as_options_or_from_standard_input_and_without_them_says_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sits there. Of three guardians two are needed: one code is enough beside the one that helps at once."""
    ring = Ring(tmp_path, count=3, threshold=2, policies={1: mailed, 2: mailed})
    enrolled = ring.enrol(pin="4711")
    envelope, output = tmp_path / "bea.envelope", tmp_path / "bea.key"
    envelope.write_text(enrolled.envelope.text)
    ring.now = int(time.time())
    with served(ring) as roster:
        path, said = tmp_path / "roster.json", io.StringIO()
        path.write_text(roster.signed(ring.site_key))

        def recover(*arguments: str) -> None:
            call_command(
                "edna_guardian", "recover", "--roster", str(path), "--site-public-key", to_base64(roster.site_key),
                "--request", str(tmp_path / "request"), "--output", str(output), str(envelope), *arguments,
                stdout=said, stderr=said,
            )  # fmt: skip

        monkeypatch.setattr("sys.stdin", io.StringIO("4711\n"))
        with pytest.raises(CommandError, match="1 of the 2 guardians") as refused:
            recover("--pin-stdin")
        assert "Guardian 1: It waits for its code." in str(refused.value)
        assert not re.search(r"(Guardian \d: )Guardian", str(refused.value) + said.getvalue())
        assert files.read_request(tmp_path / "request")
        (code,) = re.findall(r"the code (\S+) there", ring.mails[2][0][1])
        with pytest.raises(CommandError, match="1 of the 2 guardians"):
            recover("--code", "1:AAAA-AAAA-AAAA", "--pin-stdin")
        monkeypatch.setattr("sys.stdin", io.StringIO("4711\n"))
        recover("--code", f"2:{code}", "--pin-stdin")
    assert output.exists()
    assert not (tmp_path / "request").exists()
    assert said.getvalue().count("This is not the code") == 1


def test_status_says_who_answers_in_the_place_of_a_guardian(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2)
    with served(ring) as roster:
        # Somebody with another key than the roster's.
        members = [
            roster.member(1),
            replace(roster.member(2), verify_key=bytes(Identity.new(2).signing_key.verify_key)),
        ]
        path, said = tmp_path / "roster.json", io.StringIO()
        path.write_text(Roster(members, 2, roster.site_key).signed(ring.site_key))
        files.write_site_key(tmp_path / "site.key", ring.site_key)
        with pytest.raises(SystemExit):
            call_command(
                "edna_guardian", "status", "--roster", str(path), "--site-key", str(tmp_path / "site.key"), stdout=said
            )
    assert "Guardian 1: 0 enrolments" in said.getvalue()
    assert f"Guardian 2: somebody else answers at {members[1].address}" in said.getvalue()
