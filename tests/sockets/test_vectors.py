"""The vectors of sockets, read by the library."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nacl.bindings
import nacl.signing
import pytest

from edna import errors
from edna.custody.sockets import framed, handshake
from edna.custody.sockets.handshake import Agreed, Answering, Asking, ClientProfile, ServerProfile
from edna.custody.sockets.profiles import Profile
from tests.vectors.sockets.generate import all_cases

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "sockets"
CASES = {path.stem: json.loads(path.read_text()) for path in sorted(VECTORS.glob("*.json"))}
raw = bytes.fromhex


def key(text: str) -> nacl.signing.SigningKey:
    return nacl.signing.SigningKey(raw(text))


def ephemeral(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = raw(given["ephemeral"])
    pair = nacl.bindings.crypto_scalarmult_base(secret), secret
    monkeypatch.setattr(handshake.nacl.bindings, "crypto_kx_keypair", lambda: pair)


def answering(given: Any, monkeypatch: pytest.MonkeyPatch, peers: Any = ()) -> Answering:
    ephemeral(given, monkeypatch)
    served = ServerProfile(Profile(given["profile"]), key(given["key"]), {raw(each) for each in peers}.__contains__)
    return Answering(served, raw(given["hello"]))


def run_answer(given: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    made = answering(given, monkeypatch)
    agreed = made.agreed
    return {
        "reply": made.reply.hex(),
        "receives": agreed.receives.hex(),
        "sends": agreed.sends.hex(),
        "transcript": agreed.transcript.hex(),
    }


def run_agree(given: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    ephemeral(given, monkeypatch)
    asking = Asking(ClientProfile(Profile(given["profile"]), raw(given["server"]), key(given["key"])))
    agreed = asking.agree(raw(given["reply"]))
    return {
        "hello": asking.hello.hex(),
        "receives": agreed.receives.hex(),
        "sends": agreed.sends.hex(),
        "proof": asking.proof(agreed).hex(),
    }


def run_prove(given: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    return answering(given, monkeypatch, given["peers"]).check(raw(given["proof"])).hex()


def run_read(given: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(raw(given["wire"]))
        theirs.shutdown(socket.SHUT_WR)
        agreed = Agreed(Profile(given["profile"]), raw(given["receives"]), bytes(32), raw(given["transcript"]))
        frames, said = framed._Frames(framed._Wire(ours), agreed), []
        while True:
            each, is_last = frames.read(None)
            if is_last:
                return said
            said.append(each.hex())


OPERATIONS: dict[str, Callable[[Any, pytest.MonkeyPatch], Any]] = {
    "answer": run_answer,
    "agree": run_agree,
    "prove": run_prove,
    "read": run_read,
}


@pytest.mark.parametrize("name", CASES)
def test_a_vector_of_sockets_gives_what_it_says_or_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = CASES[name]
    run = OPERATIONS[said["operation"]]
    if "error" not in said:
        assert run(said["input"], monkeypatch) == said["expect"]
        return
    with pytest.raises(errors.EdnaError) as caught:
        run(said["input"], monkeypatch)
    assert type(caught.value) is getattr(errors, said["error"])


def test_the_vectors_of_sockets_are_those_of_their_generator() -> None:
    assert all_cases() == {path.name: path.read_text() for path in VECTORS.glob("*.json")}
    generator = (VECTORS / "generate.py").read_text().splitlines()
    assert not [line for line in generator if line.startswith(("import edna", "from edna"))]
    assert {said["operation"] for said in CASES.values()} == set(OPERATIONS)
