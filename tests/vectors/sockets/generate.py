"""Write the test vectors of sockets: an independent second implementation of docs/format.md, "Sockets".

As its sibling one folder up it imports nothing of edna, and its keys and random numbers are fixed.

    python -m tests.vectors.sockets.generate            writes one JSON file per case beside this one
    python -m tests.vectors.sockets.generate --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds `operation`, its `input`, and either `expect` or `error`, the name of the class that must be raised. Bytes are hexadecimal.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

from nacl import bindings as sodium

from tests.vectors.generate import Pair, blake2b, fixed, flipped, written

HERE = Path(__file__).resolve().parent
Case = dict[str, Any]

AUTH, SECURE = 1, 2
NAMES = {AUTH: "auth", SECURE: "secure"}
#: What each is known by: seeds of Ed25519.
SERVER, CLIENT, STRANGER = fixed("who is asked"), fixed("who asks"), fixed("a stranger")
#: Ephemeral.
ASKS, ANSWERS = Pair("ephemeral of who asks"), Pair("ephemeral of who is asked")
SMALL_ORDER = bytes(32)
SAID = [b"question", b"?" * 900]


def known_by(seed: bytes) -> bytes:
    return sodium.crypto_sign_seed_keypair(seed)[0]


def signature(seed: bytes, message: bytes) -> bytes:
    return sodium.crypto_sign(message, sodium.crypto_sign_seed_keypair(seed)[1])[:64]


def head(profile: int, version: int = 1) -> bytes:
    return b"edna socket\n" + bytes((version, profile))


def transcript(
    profile: int, asks: bytes = ASKS.public, answers: bytes = ANSWERS.public, server: bytes = SERVER
) -> bytes:
    return blake2b(head(profile) + asks + answers + known_by(server), purpose=b"edna.socket.hand")


def keys() -> tuple[bytes, bytes]:
    """To who asks, and to who is asked, as libsodium's kx makes them."""
    shared = sodium.crypto_scalarmult(ASKS.secret, ANSWERS.public)
    both = hashlib.blake2b(shared + ASKS.public + ANSWERS.public, digest_size=64).digest()
    return both[:32], both[32:]


def hello(profile: int, version: int = 1, key: bytes = ASKS.public) -> bytes:
    return head(profile, version) + key


def reply(profile: int, *, seed: bytes = SERVER, key: bytes = ANSWERS.public, of: bytes | None = None) -> bytes:
    signed = transcript(profile, answers=key, server=seed) if of is None else of
    return head(profile) + key + signature(seed, b"edna socket server 1\n" + signed)


def proof(profile: int, *, seed: bytes = CLIENT, of: bytes | None = None) -> bytes:
    return known_by(seed) + signature(seed, b"edna socket client 1\n" + (of or transcript(profile)))


def framed(profile: int, said: list[bytes], *, is_ended: bool = True, key: bytes | None = None) -> list[bytes]:
    """Head, if there is one, and frames, from who is asked to who asks."""
    key, bound = key or keys()[0], transcript(profile)
    parts, made = [*said, *([b""] if is_ended else [])], []
    if profile == SECURE:
        made, state = [fixed("head of a stream", 24)], sodium.crypto_secretstream_xchacha20poly1305_state()
        # The state of a sender is that of a receiver.
        sodium.crypto_secretstream_xchacha20poly1305_init_pull(state, made[0], key)
    for number, part in enumerate(parts):
        is_last = is_ended and number == len(parts) - 1
        if profile == SECURE:
            body = sodium.crypto_secretstream_xchacha20poly1305_push(state, part, bound, 3 if is_last else 0)
        else:
            plain = bytes((is_last,)) + part
            body = plain + blake2b(bound + struct.pack(">Q", number) + plain, purpose=b"edna.socket.auth", key=key)
        made.append(struct.pack(">I", len(body)) + body)
    return made


def answered(profile: int, said: bytes, *, error: bool = False) -> Case:
    given = {"profile": profile, "key": SERVER.hex(), "ephemeral": ANSWERS.secret.hex(), "hello": said.hex()}
    receives, sends = reversed(keys())
    expect = {
        "reply": reply(profile).hex(),
        "receives": receives.hex(),
        "sends": sends.hex(),
        "transcript": transcript(profile).hex(),
    }
    return {"operation": "answer", "input": given, **told(expect, error)}


def agreed(profile: int, said: bytes, *, error: bool = False) -> Case:
    given = {
        "profile": profile,
        "server": known_by(SERVER).hex(),
        "key": CLIENT.hex(),
        "ephemeral": ASKS.secret.hex(),
        "reply": said.hex(),
    }
    receives, sends = keys()
    expect = {
        "hello": hello(profile).hex(),
        "receives": receives.hex(),
        "sends": sends.hex(),
        "proof": proof(profile).hex(),
    }
    return {"operation": "agree", "input": given, **told(expect, error)}


def proved(profile: int, said: bytes, *, peers: list[bytes] | None = None, error: bool = False) -> Case:
    peers = [CLIENT] if peers is None else peers
    given = {
        **answered(profile, hello(profile))["input"],
        "proof": said.hex(),
        "peers": [known_by(each).hex() for each in peers],
    }
    return {"operation": "prove", "input": given, **told(known_by(CLIENT).hex(), error)}


def read(profile: int, wire: list[bytes], *, error: bool = False) -> Case:
    given = {
        "profile": profile,
        "receives": keys()[0].hex(),
        "transcript": transcript(profile).hex(),
        "wire": b"".join(wire).hex(),
    }
    return {"operation": "read", "input": given, **told([each.hex() for each in SAID], error)}


def told(expect: Any, error: bool) -> Case:
    return {"error": "SocketRefused"} if error else {"expect": expect}


def of_profile(profile: int) -> dict[str, Case]:
    other = AUTH if profile == SECURE else SECURE
    whole = framed(profile, SAID)
    first = len(whole) - 3
    signed = transcript(profile)
    return {
        "answer": answered(profile, hello(profile)),
        "answer-other-profile": answered(profile, hello(other), error=True),
        "answer-other-version": answered(profile, hello(profile, 2), error=True),
        "answer-key-of-small-order": answered(profile, hello(profile, key=SMALL_ORDER), error=True),
        "answer-http": answered(
            profile, b"POST /ticket HTTP/1.1\r\nHost: 127.0.0.1:84431\r\n"[: len(hello(profile))], error=True
        ),
        "agree": agreed(profile, reply(profile)),
        "agree-other-profile": agreed(profile, reply(other), error=True),
        "agree-profile-changed": agreed(profile, head(profile) + reply(other)[14:], error=True),
        "agree-somebody-else": agreed(profile, reply(profile, seed=STRANGER), error=True),
        "agree-former-reply": agreed(
            profile, reply(profile, of=transcript(profile, asks=Pair("x").public)), error=True
        ),
        "agree-signature-of-who-asks": agreed(
            profile, head(profile) + ANSWERS.public + signature(SERVER, b"edna socket client 1\n" + signed), error=True
        ),
        "agree-key-of-small-order": agreed(profile, reply(profile, key=SMALL_ORDER), error=True),
        "agree-http": agreed(profile, b"HTTP/1.1 400 Bad Request\r\n".ljust(110, b"x"), error=True),
        "prove": proved(profile, proof(profile)),
        "prove-not-answered": proved(profile, proof(profile), peers=[STRANGER], error=True),
        "prove-another-s-key": proved(profile, known_by(CLIENT) + proof(profile, seed=STRANGER)[32:], error=True),
        "prove-other-profile": proved(profile, proof(other), error=True),
        "prove-to-somebody-else": proved(profile, proof(profile, of=transcript(profile, server=STRANGER)), error=True),
        "read": read(profile, whole),
        "read-changed": read(profile, [*whole[:-1], flipped(whole[-1], len(whole[-1]) - 1)], error=True),
        "read-end-changed": read(profile, [*whole[:-1], flipped(whole[-1], 4)], error=True),
        "read-twice": read(profile, [*whole[: first + 1], whole[first], *whole[first + 1 :]], error=True),
        "read-swapped": read(profile, [*whole[:first], whole[first + 1], whole[first], whole[-1]], error=True),
        "read-left-out": read(profile, [*whole[:first], *whole[first + 1 :]], error=True),
        "read-cut": read(profile, whole[:-1], error=True),
        "read-cut-in-a-frame": read(profile, [*whole[:-1], whole[-1][:-1]], error=True),
        "read-of-the-other-direction": read(profile, framed(profile, SAID, key=keys()[1]), error=True),
        "read-of-the-other-profile": read(profile, framed(other, SAID), error=True),
        "read-nothing-in-between": read(profile, framed(profile, [b"", *SAID]), error=True),
        "read-too-long": read(profile, [*whole[:first], struct.pack(">I", 70_000)], error=True),
    }


def cases() -> dict[str, Case]:
    return {f"{NAMES[profile]}-{name}": case for profile in NAMES for name, case in of_profile(profile).items()}


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    return {f"{name}.json": json.dumps(case, indent=1, sort_keys=True) + "\n" for name, case in cases().items()}


if __name__ == "__main__":
    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
