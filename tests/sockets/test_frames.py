"""edna.custody.sockets: what AUTH and SECURE refuse of whoever is on the way."""

from __future__ import annotations

import itertools
import socket
import threading
from types import SimpleNamespace

import nacl.bindings
import nacl.signing
import pytest

from edna.custody.sockets.framed import FramedSocket, _Frames, _Wire
from edna.custody.sockets.handshake import Agreed, ClientProfile, ServerProfile
from edna.custody.sockets.profiles import Profile
from edna.errors import ConfigurationError, SocketRefused
from tests.sockets.middle import ANSWER, ONE, TWO, Pair, messages

pytestmark = pytest.mark.long

PROFILES = [Profile.AUTH, Profile.SECURE]
by_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda each: each.name)


def flipped(said: bytes, place: int, bit: int = 1) -> bytes:
    return said[:place] + bytes((said[place] ^ bit,)) + said[place + 1 :]


@by_profile
def test_what_both_say_arrives(profile: Profile) -> None:
    talk = Pair(profile).talk()
    assert talk.is_whole
    for name, (_, size) in messages(profile).items():
        assert len(talk.wire[name]) == size


@by_profile
def test_auth_is_read_on_the_way_and_secure_is_not(profile: Profile) -> None:
    """An auditor reads what is asked; of SECURE it reads who is asked by nothing, and neither question, answer nor who asks."""
    pair = Pair(profile)
    seen = b"".join(pair.talk().wire.values())
    for said in (ONE, TWO, ANSWER, bytes(pair.client.verify_key)):
        assert (said in seen) is (profile is Profile.AUTH)


@by_profile
@pytest.mark.parametrize("name", [name for name in messages(Profile.AUTH) if name != "hello"])
def test_each_flipped_byte_is_refused(profile: Profile, name: str) -> None:
    """Whoever reads it gets nothing of it."""
    is_clients, size = messages(profile)[name]
    before = {"two": ONE, "last": ANSWER}.get(name, b"")
    pair = Pair(profile)
    for place in range(size):
        talk = pair.talk(lambda said_as, said, at=place: flipped(said, at) if said_as == name else said, until=name)
        reader = "server" if is_clients else "client"
        assert reader in talk.refused, place
        assert (talk.server if is_clients else talk.client) == before, place


@by_profile
def test_each_flipped_byte_of_a_hello_is_refused(profile: Profile) -> None:
    """By the server, if it is none any more; and by the client, if the reply is to somebody else's."""
    pair = Pair(profile)
    for place in range(messages(profile)["hello"][1]):
        talk = pair.talk(lambda name, said, at=place: flipped(said, at) if name == "hello" else said, until="reply")
        if place < len("edna socket.") + 2:
            assert "server" in talk.refused, place
        else:
            assert "Somebody else answers" in str(talk.refused["client"]), place
        assert talk.server == b"", place


@by_profile
def test_a_frame_that_is_replayed_left_out_or_brought_too_early_is_refused(profile: Profile) -> None:
    pair = Pair(profile)
    replayed = pair.talk(lambda name, said: said * 2 if name == "one" else said, until="one")
    assert replayed.server == ONE
    assert "changed on the way" in str(replayed.refused["server"])
    left_out = pair.talk(lambda name, said: b"" if name == "one" else said, until="two")
    assert left_out.server == b""
    assert "changed on the way" in str(left_out.refused["server"])
    held: list[bytes] = []

    def reordered(name: str, said: bytes) -> bytes:
        if name == "one":
            held.append(said)
            return b""
        return said + held[0] if name == "two" else said

    swapped = pair.talk(reordered, until="two")
    assert swapped.server == b""
    assert "changed on the way" in str(swapped.refused["server"])


@by_profile
def test_what_a_client_says_counts_in_one_conversation_alone(profile: Profile) -> None:
    """All that it said is played again to the same server, by somebody who listened."""
    pair = Pair(profile)
    former = pair.talk().wire
    again = pair.talk(lambda name, said: said if name == "reply" else former[name], until="two")
    assert again.server == b""
    assert "server" in again.refused
    # And what the server said, to a client.
    again = pair.talk(lambda name, said: former[name] if name == "reply" else said, until="reply")
    assert "Somebody else answers" in str(again.refused["client"])


@by_profile
def test_what_one_says_is_not_taken_as_what_the_other_says(profile: Profile) -> None:
    pair = Pair(profile)
    kept: list[bytes] = []

    def mirrored(name: str, said: bytes) -> bytes:
        kept.append(said)
        return kept[2] if name == "answer" else said

    talk = pair.talk(mirrored, until="answer")
    assert talk.client == b""
    assert "changed on the way" in str(talk.refused["client"])


@by_profile
def test_an_answer_that_is_cut_off_is_no_whole_answer(profile: Profile) -> None:
    talk = Pair(profile).talk(until="answer")
    assert talk.client == ANSWER
    assert "without saying so" in str(talk.refused["client"])


@by_profile
def test_nothing_counts_behind_a_frame_that_was_refused(profile: Profile) -> None:
    """Whoever goes on reading gets no more, though what follows is as it should be."""
    ours, theirs = socket.socketpair()
    key = nacl.bindings.crypto_kx_keypair()[0]
    sender, receiver = Agreed(profile, bytes(32), key, bytes(32)), Agreed(profile, key, bytes(32), bytes(32))
    with ours, theirs:
        for each in (ours, theirs):
            each.settimeout(60)
        writing = _Frames(_Wire(theirs), sender)
        writing.write(ONE)
        reading = FramedSocket(_Wire(ours), lambda: _Frames(_Wire(ours), receiver))
        assert reading.makefile("rb").read1() == ONE
        theirs.sendall(b"\0\0\0\x30" + bytes(48))
        writing.write(TWO)
        into = bytearray(100)
        with pytest.raises(SocketRefused):
            reading.recv_into(into)
        with pytest.raises(BrokenPipeError):
            reading.recv_into(into)
        with pytest.raises(BrokenPipeError):
            reading.sendall(ONE)


# --- whom ---


@by_profile
def test_another_than_the_one_that_is_expected_is_refused(profile: Profile) -> None:
    stranger = bytes(nacl.signing.SigningKey.generate().verify_key)
    talk = Pair(profile, expected=stranger).talk()
    assert "Somebody else answers" in str(talk.refused["client"])
    assert (talk.server, talk.client) == (b"", b"")


@by_profile
def test_a_client_that_is_not_named_is_not_answered(profile: Profile) -> None:
    """It hears of it when it reads: who is answered, nobody else is told."""
    client = nacl.signing.SigningKey.generate()
    named = Pair(profile, client=client, is_peer={bytes(client.verify_key)}.__contains__)
    assert named.talk().is_whole
    talk = Pair(profile, is_peer={bytes(client.verify_key)}.__contains__).talk()
    assert "not one of those" in str(talk.refused["server"])
    assert (talk.server, talk.client) == (b"", b"")


@by_profile
def test_a_client_that_names_another_s_key_is_not_answered(profile: Profile) -> None:
    client, liar = nacl.signing.SigningKey.generate(), nacl.signing.SigningKey.generate()
    liar.verify_key = client.verify_key
    talk = Pair(profile, client=liar, is_peer={bytes(client.verify_key)}.__contains__).talk()
    assert "does not have the key" in str(talk.refused["server"])
    assert (talk.server, talk.client) == (b"", b"")


@by_profile
def test_whoever_stands_in_between_with_a_key_of_their_own_is_refused_by_both(profile: Profile) -> None:
    """The middle answers in its own name, and asks in its own name: neither hears of it what the other has said."""
    server, client, middle = (nacl.signing.SigningKey.generate() for _ in range(3))
    towards_client = Pair(profile, server=middle, client=client, expected=bytes(server.verify_key)).talk()
    towards_server = Pair(profile, server=server, client=middle, is_peer={bytes(client.verify_key)}.__contains__).talk()
    assert "client" in towards_client.refused
    assert "server" in towards_server.refused
    assert towards_client.server == towards_server.server == b""


def test_anybody_may_be_answered_where_nobody_listens_and_not_where_everybody_does() -> None:
    key = nacl.signing.SigningKey.generate()
    assert Pair(Profile.SECURE, is_peer=None).talk().is_whole
    with pytest.raises(ConfigurationError, match="name them"):
        ServerProfile(Profile.AUTH, key, None)


# --- downgrades ---


@pytest.mark.parametrize(("wants", "speaks"), [PROFILES, PROFILES[::-1]], ids=lambda each: each.name)
def test_no_other_profile_is_taken_than_both_want(wants: Profile, speaks: Profile) -> None:
    pair = Pair(speaks, wants=wants)
    talk = pair.talk()
    assert "another profile" in str(talk.refused["server"])
    assert talk.wire["reply"] == b""

    # Whoever is on the way writes what each wants to hear.
    def rewritten(name: str, said: bytes) -> bytes:
        other = {"hello": speaks, "reply": wants}.get(name)
        return said if other is None else said[:13] + bytes((other,)) + said[14:]

    talk = pair.talk(rewritten)
    assert "Somebody else answers" in str(talk.refused["client"])
    assert (talk.server, talk.client) == (b"", b"")


@by_profile
def test_a_server_in_clear_is_refused_by_whoever_wants_a_profile(profile: Profile) -> None:
    talk = Pair(profile).talk(
        lambda name, said: b"HTTP/1.1 200 OK\r\n".ljust(110, b"x") if name == "reply" else said, until="reply"
    )
    assert f"does not speak {profile.name}" in str(talk.refused["client"])


# --- sizes and times ---


@by_profile
def test_as_much_as_there_is_goes_through_in_as_many_frames_as_it_takes(profile: Profile) -> None:
    ours, theirs = socket.socketpair()
    key, client = nacl.signing.SigningKey.generate(), nacl.signing.SigningKey.generate()
    said = bytes(range(256)) * 1000
    heard = bytearray()

    def answer() -> None:
        framed = FramedSocket.of_server(
            theirs, ServerProfile(profile, key, lambda peer: peer == bytes(client.verify_key))
        )
        with framed.makefile("rb") as asked, framed.makefile("wb") as answered:
            heard.extend(asked.read(len(said)))
            answered.write(heard)
        framed.close()

    for each in (ours, theirs):
        each.settimeout(60)
    answering = threading.Thread(target=answer)
    answering.start()
    framed = FramedSocket.of_client(ours, ClientProfile(profile, bytes(key.verify_key), client))
    framed.sendall(said)
    with framed.makefile("rb") as answered:
        framed.close()
        assert answered.read() == said
    answering.join()
    assert heard == said
    assert ours.fileno() == theirs.fileno() == -1


@by_profile
def test_a_frame_that_says_it_is_longer_than_frames_are_is_not_waited_for(profile: Profile) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        theirs.sendall(bytes(24 if profile is Profile.SECURE else 0) + b"\0\1\0\x41")
        with pytest.raises(SocketRefused, match="longer than frames are"):
            _Frames(_Wire(ours), Agreed(profile, bytes(32), bytes(32), bytes(32))).read(None)


@by_profile
def test_a_frame_that_drips_in_ends_with_the_time_out(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time-out of a socket counts anew for each byte; this one does not. A second and a byte pass at each look at the clock."""
    ours, theirs = socket.socketpair()
    looks = itertools.count(1)

    def look() -> float:
        theirs.sendall(b"e")
        return float(next(looks))

    monkeypatch.setattr("edna.custody.sockets.framed.time", SimpleNamespace(monotonic=look))
    key = nacl.signing.SigningKey.generate()
    with ours, theirs:
        ours.settimeout(30)
        with pytest.raises(TimeoutError):
            FramedSocket.of_client(ours, ClientProfile(profile, bytes(key.verify_key), key))
    assert 30 < next(looks) < 40, "110 bytes are expected"
