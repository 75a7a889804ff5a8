"""edna.custody.sockets.profiles, and the servers and clients that take one."""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import nacl.signing
import pytest
from django.core.management import CommandError, call_command

from edna.custody.guardians import quorum
from edna.custody.guardians.process.server import Server
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Roster, to_base64
from edna.custody.policies.evidence import ManifestProver
from edna.custody.policies.process.client import MonitorClient
from edna.custody.policies.process.server import Server as MonitorServer
from edna.custody.sockets.connections import Connections
from edna.custody.sockets.profiles import Address, Profile
from edna.errors import ConfigurationError, GuardianRefused, MonitorUnavailable
from edna.guardians import serving
from edna.policies import serving as monitor_serving
from tests.guardians.ring import SECRET, Ring
from tests.policies.parties import EU_RESTORER, Party
from tests.sockets.late import NEVER, all_are_late
from tests.waiting import eventually

pytestmark = pytest.mark.long

PROFILES = [Profile.AUTH, Profile.SECURE]
by_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.name)


def running(stack: ExitStack, server: Any) -> int:
    """The port at which it answers until the end of the test."""
    stack.enter_context(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    stack.callback(thread.join)
    stack.callback(server.shutdown)
    return int(server.server_address[1])


@contextmanager
def served(
    ring: Ring, scheme: str, *, peers: tuple[str, ...] = (), held: list[Connections] | None = None
) -> Iterator[Roster]:
    """The guardians of a ring, as the roster says by this scheme. ``held`` gets the connections of each, who give their clients time."""
    with ExitStack() as stack:
        members = []
        for number, guardian in ring.guardians.items():
            guardian.roster = ring.roster_of(
                [each.member(f"{scheme}://127.0.0.1:1") for each in ring.identities.values()]
            )
            profile = serving.profile_of(None, peers, guardian=guardian)
            connections = Connections(request_seconds=NEVER, rest_seconds=NEVER)
            if held is not None:
                held.append(connections)
            server = Server(
                ("127.0.0.1", 0), guardian, clock=lambda: int(time.time()), profile=profile, connections=connections
            )
            members.append(ring.identities[number].member(f"{scheme}://127.0.0.1:{running(stack, server)}"))
        roster = ring.roster_of(members)
        for guardian in ring.guardians.values():
            guardian.roster = roster
        yield roster


# --- addresses ---


@pytest.mark.parametrize(
    ("text", "scheme", "port", "profile"),
    [
        ("http://127.0.0.1:8441", "http", 8441, None),
        ("http://localhost", "http", 80, None),
        ("https://guardian.example", "https", 443, None),
        ("auth://guardian.example:8443/", "auth", 8443, Profile.AUTH),
        ("secure://[2001:db8::1]:8443", "secure", 8443, Profile.SECURE),
    ],
)
def test_an_address_says_how_to_speak(text: str, scheme: str, port: int, profile: Profile | None) -> None:
    address = Address.parse(text, whose="guardian")
    assert (address.scheme, address.port, address.profile) == (scheme, port, profile)


@pytest.mark.parametrize(
    "text",
    [
        "secure://guardian.example",
        "secure://",
        "reg://guardian.example:1",
        "secure://a@guardian.example:1",
        "secure://h:1/x",
        "h:1",
        "secure://guardian.example:99999",
        "http://guardian.example:8443",
    ],
)
def test_an_address_at_which_nobody_could_be_asked_or_in_clear_over_the_network_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        Address.parse(text, whose="guardian")


# --- guardians ---


@by_profile
def test_guardians_help_through_a_profile_and_answer_the_site_alone(tmp_path: Path, profile: Profile) -> None:
    """Who is not the site is not even asked what they want; with a key that is named besides, they are."""
    ring = Ring(tmp_path, count=3, threshold=2)
    ring.now = int(time.time())
    other = nacl.signing.SigningKey.generate()
    with served(ring, profile.scheme, peers=(to_base64(bytes(other.verify_key)),)) as roster:
        transport = HttpTransport(roster, site_key=ring.site_key)
        envelope = quorum.enrol(SECRET, roster=roster, transport=transport, contact="bea@example.org").envelope
        recovery = quorum.Recovery(envelope, roster=roster, transport=transport)
        assert recovery.open() == {}
        assert recovery.finish() == SECRET
        refused = quorum.Recovery(envelope, roster=roster, transport=HttpTransport(roster)).open()
        assert set(refused) == {1, 2, 3}
        assert "does not answer the key" in str(refused[1])
        named = HttpTransport(roster, site_key=other)
        assert (
            named.ask(1, "/ticket", {"enrolment": to_base64(envelope.head.enrolment), "token": to_base64(bytes(32))})
            == {}
        )


def test_whoever_comes_is_answered_where_a_guardian_says_so(tmp_path: Path) -> None:
    """So that people can ask with the command, and a site with its keys at rest."""
    ring = Ring(tmp_path, count=2, threshold=2)
    with served(ring, "secure", peers=("any",)) as roster, pytest.raises(GuardianRefused, match="no such address"):
        HttpTransport(roster).ask(1, "/nothing", {})
    with pytest.raises(ConfigurationError, match="name them"), served(ring, "auth", peers=("any",)):
        pass


def test_a_guardian_that_speaks_otherwise_than_the_roster_says_is_not_asked(tmp_path: Path) -> None:
    """In clear, though SECURE was wanted: nothing is said to it."""
    ring = Ring(tmp_path, count=2, threshold=2)
    for speaks, wanted, why in (
        ("http", "secure", "does not speak SECURE"),
        ("http", "auth", "does not speak AUTH"),
        ("auth", "secure", "not with this profile"),
        ("secure", "auth", "not with this profile"),
        ("secure", "http", "cannot be reached"),
    ):
        with served(ring, speaks) as roster:
            members = [
                ring.identities[each.number].member(f"{wanted}://127.0.0.1:{each.address.rpartition(':')[2]}")
                for each in roster.members
            ]
            lying = ring.roster_of(members)
            with pytest.raises(GuardianRefused, match=why):
                HttpTransport(lying, site_key=ring.site_key).ask(1, "/waits", {})


def test_a_guardian_with_another_key_than_the_roster_s_is_refused(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2)
    with served(ring, "secure") as roster:
        members = [ring.identities[number].member(roster.member(3 - number).address) for number in ring.identities]
        swapped = ring.roster_of(members)
        with pytest.raises(GuardianRefused, match="Somebody else answers"):
            HttpTransport(swapped, site_key=ring.site_key).ask(1, "/waits", {})


@by_profile
def test_a_connection_is_used_again_and_made_again_when_the_guardian_has_ended_it(
    tmp_path: Path, profile: Profile
) -> None:
    ring = Ring(tmp_path, count=2, threshold=2)
    held: list[Connections] = []
    with served(ring, profile.scheme, held=held) as roster:
        transport = HttpTransport(roster, site_key=ring.site_key)
        guardian = ring.guardians[1]

        def asked() -> None:
            with pytest.raises(GuardianRefused, match="no such address"):
                transport.ask(1, "/nothing", {})

        asked()
        kept = transport._idle[1][0]
        asked()
        assert transport._idle[1] == [kept]

        def over() -> bool:
            all_are_late(held[0])  # once more, where the answer was there before the guardian had done with it
            return _is_over(kept)

        eventually(over, what="the guardian ends what rests")
        asked()
        assert transport._idle[1] != [kept]
        assert guardian.number == 1


@by_profile
def test_who_never_comes_to_an_end_of_the_handshake_is_hung_up_on(tmp_path: Path, profile: Profile) -> None:
    """And with them who says something else than a hello; others are answered meanwhile."""
    ring = Ring(tmp_path, count=2, threshold=2)
    held: list[Connections] = []
    with served(ring, profile.scheme, held=held) as roster:
        port = int(roster.member(1).address.rpartition(":")[2])
        for said in (b"edna socket\n", b"POST /waits HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as other:
                other.sendall(said)
                with pytest.raises(GuardianRefused, match="no such address"):
                    HttpTransport(roster, site_key=ring.site_key).ask(1, "/nothing", {})
                all_are_late(held[0])
                try:
                    assert other.recv(1) == b""
                except ConnectionResetError:
                    pass


def _is_over(connection: Any) -> bool:
    """Whether the other side has ended it: there is something to read, and nobody has asked."""
    connected = connection.sock._wire._connected
    connected.settimeout(0)
    try:
        return connected.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


NAMES: dict[str, tuple[str, str | None, tuple[str, ...], str]] = {
    "another than the roster's": ("secure://127.0.0.1:1", "auth", (), "not the profile auth"),
    "in clear": ("secure://127.0.0.1:1", "reg", (), "not the profile reg"),
    "one that the roster does not say": ("https://127.0.0.1:1", "secure", (), "not the profile secure"),
    "no key": ("secure://127.0.0.1:1", None, ("bea",), "--peer is a public key"),
}


@pytest.mark.parametrize("what", NAMES)
def test_a_guardian_takes_no_profile_by_which_nobody_would_find_it(tmp_path: Path, what: str) -> None:
    address, name, peers, why = NAMES[what]
    ring = Ring(tmp_path, count=2, threshold=2)
    guardian = ring.guardians[1]
    guardian.roster = ring.roster_of([each.member(address) for each in ring.identities.values()])
    with pytest.raises(ConfigurationError, match=why):
        serving.profile_of(name, peers, guardian=guardian)
    assert serving.listening_at(guardian.roster.member(1), None, is_tls=address.startswith("https")) == ("127.0.0.1", 1)


def test_with_a_profile_a_guardian_listens_on_all_interfaces_and_in_clear_on_the_loopback_alone(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2)
    member = ring.identities[1].member("secure://guardian.example:8443")
    assert serving.listening_at(member, None, is_tls=False) == ("0.0.0.0", 8443)
    guardian = ring.guardians[1]
    with pytest.raises(ConfigurationError, match="needs a certificate, or the profile secure"):
        Server(("0.0.0.0", 0), guardian, clock=lambda: 0)
    guardian.roster = ring.roster_of(
        [each.member("secure://guardian.example:8443") for each in ring.identities.values()]
    )
    Server(
        ("0.0.0.0", 0), guardian, clock=lambda: 0, profile=serving.profile_of("secure", (), guardian=guardian)
    ).server_close()


# --- monitors ---


@by_profile
def test_a_worker_attests_through_a_profile(profile: Profile) -> None:
    """The monitor answers workers that it has certificates about, and nobody else; they know it by its key."""
    party = Party()
    worker = party.worker(EU_RESTORER)
    with ExitStack() as stack:
        stack.callback(party.monitor.close)
        speaks = monitor_serving.profile_of(profile.scheme, (), monitor=party.monitor)
        address = f"{profile.scheme}://127.0.0.1:{running(stack, MonitorServer(('127.0.0.1', 0), party.monitor, profile=speaks))}"
        monitor = party.monitor.public_key
        client = MonitorClient(address, monitor=monitor, key=worker.key)
        assert len(client.credential(worker, clauses=party.clauses).clauses) == 1
        client.check()
        stranger = ManifestProver(worker.file, nacl.signing.SigningKey.generate())
        for key, known_by, why in (
            (stranger.key, monitor, "does not answer the key"),
            (worker.key, bytes(stranger.key.verify_key), "Somebody else answers"),
        ):
            with pytest.raises(MonitorUnavailable, match=why):
                MonitorClient(address, monitor=known_by, key=key).check()
        with pytest.raises(MonitorUnavailable):
            MonitorClient(address.replace(profile.scheme, "http"), monitor=monitor).check()
        # Certified since.
        party.certify(("worker", to_base64(bytes(stranger.key.verify_key))), EU_RESTORER)
        MonitorClient(address, monitor=monitor, key=stranger.key).check()


def test_a_monitor_takes_no_peer_that_is_no_key_and_not_a_profile_and_tls(tmp_path: Path) -> None:
    party = Party()
    with pytest.raises(ConfigurationError, match="--peer is no public key"):
        monitor_serving.profile_of("secure", ("bea",), monitor=party.monitor)
    assert monitor_serving.profile_of("reg", (), monitor=party.monitor) is None
    said = io.StringIO()
    call_command("edna_monitor", "init", "--folder", str(tmp_path / "monitor"), stdout=said)
    with pytest.raises(CommandError, match="profile secure"):
        call_command(
            "edna_monitor", "serve", "--folder", str(tmp_path / "monitor"), "--listen", "192.0.2.1:8600", "--profile", "reg",
            stdout=said, stderr=said,
        )  # fmt: skip
