"""Write the test vectors of policies: an independent second implementation of docs/format.md, "Policy seals".

As its sibling one folder up it imports nothing of edna, and its keys and random numbers are fixed.

    python -m tests.vectors.policies.generate            writes one JSON file per case beside this one
    python -m tests.vectors.policies.generate --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds `operation`, its `input`, and either `expect` or `error`, the name of the class that must be raised. Bytes are hexadecimal.
"""

from __future__ import annotations

import base64
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

MASTER, SIGNING = fixed("master key of a monitor"), fixed("signing key of a monitor")
MONITOR = sodium.crypto_sign_seed_keypair(SIGNING)[0]
ONE, OTHER = "build=1.2&region=eu&role=restorer", "build=1.3&region=eu&role=restorer"
INDEX, EPHEMERAL, FILE_KEY, NONCE = fixed("index"), Pair("seal"), fixed("file key"), fixed("nonce", 24)
CONTENT = 5 * fixed("container", 60)


def key_of(clause: str, epoch: int = 1) -> Pair:
    data = struct.pack(">I", epoch) + clause.encode()
    return Pair("", blake2b(data, purpose=b"edna.policy.key1", key=MASTER))


def signature(message: bytes) -> bytes:
    return sodium.crypto_sign(message, sodium.crypto_sign_seed_keypair(SIGNING)[1])[:64]


def box(recipient: bytes) -> bytes:
    nonce = hashlib.blake2b(EPHEMERAL.public + recipient, digest_size=24).digest()
    shared = sodium.crypto_box_beforenm(recipient, EPHEMERAL.secret)
    return sodium.crypto_box_afternm(FILE_KEY, nonce, shared)


def sealed(
    clauses: list[str],
    *,
    name: str | None = None,
    epoch: int = 1,
    version: int = 0x81,
    suite: int = 1,
    stanzas: int = 4,
) -> bytes:
    name = "|".join(clauses) if name is None else name
    boxes = [box(key_of(clause, epoch).public) for clause in clauses]
    boxes += [fixed(f"blank {number}", 48) for number in range(stanzas - len(boxes))]
    plain = struct.pack(">H", len(name)) + name.encode() + CONTENT
    head = struct.pack(">BBIBI", version, suite, epoch, stanzas, 24 + len(plain) + 16)
    head += EPHEMERAL.public + b"".join(reversed(boxes))
    return head + NONCE + sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, head + INDEX, NONCE, FILE_KEY)


def opened(stored: bytes, keys: list[Pair], *, index: bytes = INDEX, policy: str = "", error: str = "") -> Case:
    given = {"stored": stored.hex(), "keys": [key.secret.hex() for key in keys], "index": index.hex()}
    told: Case = {"error": error} if error else {"expect": {"policy": policy, "content": CONTENT.hex()}}
    return {"operation": "open_seal", "input": given, **told}


def clause_list(key: bytes | None = None, *, said: str | None = None, epoch: int = 1) -> str:
    public = key or key_of(ONE).public
    signed = signature(b"edna policies clause key 1\n" + struct.pack(">I", 1) + key_of(ONE).public + ONE.encode())
    clause = {"clause": ONE, "key": b64(public), "signature": b64(signed)}
    text = json.dumps({"version": 1, "epoch": epoch, "former": [], "clauses": [clause]}, sort_keys=True)
    signature_of = b64(signature(b"edna policies clauses 1\n" + text.encode()))
    return json.dumps({"said": said or text, "signer": b64(MONITOR), "signature": signature_of})


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def listed(text: str, *, error: str = "") -> Case:
    told: Case = {"error": error} if error else {"expect": {ONE: key_of(ONE).public.hex()}}
    return {"operation": "read_clauses", "input": {"file": text, "monitor": MONITOR.hex()}, **told}


def tree(nonces: list[bytes]) -> tuple[bytes, list[list[bytes]]]:
    """Root and paths, by the book: the last of an odd level goes up as it is."""
    level = [blake2b(nonce, purpose=b"edna.policy.leaf") for nonce in nonces]
    places, paths = list(range(len(nonces))), [[] for _ in nonces]
    while len(level) > 1:
        for number, place in enumerate(places):
            if place ^ 1 < len(level):
                paths[number].append(level[place ^ 1])
            places[number] = place // 2
        pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
        level = [blake2b(b"".join(pair), purpose=b"edna.policy.node") if len(pair) == 2 else pair[0] for pair in pairs]
    return blake2b(struct.pack(">I", len(nonces)) + level[0], purpose=b"edna.policy.root"), paths


def path(count: int, number: int, *, error: str = "", of: int | None = None, cut: int = 0) -> Case:
    nonces = [fixed(f"nonce {each}") for each in range(count)]
    root, paths = tree(nonces)
    neighbours = [each.hex() for each in paths[number]]
    given = {
        "nonce": nonces[number].hex(),
        "number": number,
        "count": of or count,
        "neighbours": neighbours[: len(neighbours) - cut],
        "root": root.hex(),
    }
    return {"operation": "check_path", "input": given, **({"error": error} if error else {"expect": True})}


def policy(text: str, *, clauses: str = "", error: str = "") -> Case:
    return {"operation": "read_policy", "input": text, **({"error": error} if error else {"expect": clauses})}


def cases() -> dict[str, Case]:
    one, both = sealed([ONE]), sealed([ONE, OTHER])
    five = [f"host=h{number}" for number in range(5)]
    forged, missing = "PolicySealForged", "PolicyNotSatisfied"
    body = 11 + 32 + 4 * 48
    return {
        "policy": policy("region = eu and role = restorer and build in (1.2, 1.3)", clauses=f"{ONE}|{OTHER}"),
        "policy-absorbed": policy("(a = 1 or b = 2) and a = 1", clauses="a=1"),
        "policy-64": policy(
            f"a in ({', '.join(map(str, range(64)))})", clauses="|".join(sorted(f"a={n}" for n in range(64)))
        ),
        "policy-65": policy(f"a in ({', '.join(map(str, range(65)))})", error="PolicyMalformed"),
        "policy-not": policy("not a = 1", error="PolicyMalformed"),
        "clause-key": {
            "operation": "clause_key",
            "input": {"master": MASTER.hex(), "epoch": 7, "clause": ONE},
            "expect": key_of(ONE, 7).secret.hex(),
        },
        "seal": opened(one, [key_of(ONE)], policy=ONE),
        "seal-filled-up": opened(sealed([ONE], name=ONE.ljust(256, "\0")), [key_of(ONE)], policy=ONE),
        "seal-of-two": opened(both, [key_of(OTHER)], policy=f"{ONE}|{OTHER}"),
        "seal-of-five": opened(sealed(five, stanzas=8), [key_of("x=1"), key_of(five[3])], policy="|".join(five)),
        "seal-another-clause": opened(one, [key_of(OTHER)], error=missing),
        "seal-another-epoch": opened(one, [key_of(ONE, 2)], error=missing),
        "seal-no-key": opened(one, [], error=missing),
        "seal-moved": opened(one, [key_of(ONE)], index=fixed("another index"), error=forged),
        "seal-epoch-changed": opened(flipped(one, 5), [key_of(ONE)], error=forged),
        "seal-blank-changed": opened(flipped(one, 50), [key_of(ONE)], error=forged),
        "seal-stanza-changed": opened(flipped(one, body - 1), [key_of(ONE)], error=missing),
        "seal-ephemeral-changed": opened(flipped(one, 11), [key_of(ONE)], error=missing),
        "seal-body-changed": opened(flipped(one, len(one) - 1), [key_of(ONE)], error=forged),
        "seal-cut": opened(one[:-1], [key_of(ONE)], error=forged),
        "seal-longer": opened(one + b"\0", [key_of(ONE)], error=forged),
        "seal-of-nothing": opened(b"", [key_of(ONE)], error=forged),
        "seal-version-2": opened(sealed([ONE], version=0x82), [key_of(ONE)], error=forged),
        "seal-suite-2": opened(sealed([ONE], suite=2), [key_of(ONE)], error=forged),
        "seal-three-stanzas": opened(sealed([ONE], stanzas=3), [key_of(ONE)], error=forged),
        "seal-policy-spelled-otherwise": opened(sealed([ONE], name=f"{OTHER}|{ONE}"), [key_of(ONE)], error=forged),
        "list": listed(clause_list()),
        "list-changed": listed(clause_list(said='{"version": 1}'), error="ClauseListForged"),
        "list-of-rubbish": listed("[]", error="ClauseListForged"),
        "list-key-of-another": listed(clause_list(key_of(OTHER).public), error="ClauseKeyForged"),
        "list-key-of-another-epoch": listed(clause_list(epoch=2), error="ClauseKeyForged"),
        "path-of-one": path(1, 0),
        "path-of-seven-last": path(7, 6),
        "path-of-seven": path(7, 2),
        "path-cut": path(7, 2, cut=1, error="NonceRefused"),
        "path-of-other-count": path(7, 2, of=8, error="NonceRefused"),
    }


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    return {f"{name}.json": json.dumps(case, indent=1, sort_keys=True) + "\n" for name, case in cases().items()}


if __name__ == "__main__":
    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
