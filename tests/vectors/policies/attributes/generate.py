"""Write the test vectors of policies by attributes: an independent second implementation of docs/format.md, "Policy seals".

As its siblings it imports nothing of edna, and its keys and random numbers are fixed. What circl computes it does not compute again:
``made/circl.json`` was written once, by circl 1.6.5, and has the master key, three keys made from it, and one ciphertext of the file key.

    python -m tests.vectors.policies.attributes.generate            writes one JSON file per case beside this one
    python -m tests.vectors.policies.attributes.generate --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds `operation`, its `input`, and either `expect` or `error`, the name of the class that must be raised; `takes_library`, where
it is not decided before circl is asked. Bytes are hexadecimal.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

from nacl import bindings as sodium

from tests.vectors.generate import blake2b, fixed, flipped, written
from tests.vectors.policies.generate import CONTENT, INDEX, MASTER, MONITOR, b64, signature

HERE = Path(__file__).resolve().parent
Case = dict[str, Any]

MADE = json.loads((HERE / "made" / "circl.json").read_text())
CIPHERTEXT, FILE_KEY = bytes.fromhex(MADE["ciphertext"]), fixed("file key")
VEIL = blake2b(b"", purpose=b"edna.policy.veil", key=MASTER)
KEPT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def boxed(plain: bytes, associated: bytes, key: bytes, name: str) -> bytes:
    nonce = fixed(name, 24)
    return nonce + sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, associated, nonce, key)


def sealed(
    *,
    policy: str = MADE["policy"],
    epoch: int = MADE["epoch"],
    suite: int = 2,
    hidden_bytes: int = 4096,
    behind: bytes = b"",
    file_key: bytes = FILE_KEY,
) -> bytes:
    hidden = struct.pack(">I", len(CIPHERTEXT)) + CIPHERTEXT + behind
    hidden += bytes(hidden_bytes - len(hidden))
    plain = struct.pack(">H", len(policy)) + policy.encode() + CONTENT
    head = struct.pack(">BBIII", 0x81, suite, epoch, 24 + len(hidden) + 16, 24 + len(plain) + 16)
    head += boxed(hidden, head, VEIL, "nonce of the veil")
    return head + boxed(plain, head + INDEX, file_key, "nonce")


def opened(
    stored: bytes,
    *,
    key: str = "key",
    veil: bytes = VEIL,
    index: bytes = INDEX,
    error: str = "",
    takes_library: bool = True,
) -> Case:
    given = {"stored": stored.hex(), "key": MADE[key], "veil": veil.hex(), "index": index.hex()}
    told: Case = {"error": error} if error else {"expect": {"policy": MADE["policy"], "content": CONTENT.hex()}}
    return {"operation": "open_seal", "input": given, "takes_library": takes_library, **told}


def labelled(name: str, value: str, epoch: int) -> Case:
    label = "".join(each if each in KEPT else f"_{ord(each):02x}" for each in f"{name}={value}")
    return {
        "operation": "label",
        "input": {"name": name, "value": value, "epoch": epoch},
        "expect": f"{epoch}_{label}",
    }


def formula(text: str, *, spelled: str = "", error: str = "") -> Case:
    return {"operation": "read_formula", "input": text, **({"error": error} if error else {"expect": spelled})}


def parameters(*, said: str = "", error: str = "", purpose: bytes = b"edna policies attributes 1\n") -> Case:
    had = {
        "version": 1,
        "epoch": 7,
        "former": [6],
        "parameters": b64(bytes.fromhex(MADE["parameters"])),
        "veil": b64(VEIL),
    }
    text = json.dumps(had, sort_keys=True)
    file = json.dumps(
        {"said": said or text, "signer": b64(MONITOR), "signature": b64(signature(purpose + text.encode()))}
    )
    expect = {"epoch": 7, "former": [6], "parameters": MADE["parameters"], "veil": VEIL.hex()}
    told: Case = {"error": error} if error else {"expect": expect}
    return {"operation": "read_parameters", "input": {"file": file, "monitor": MONITOR.hex()}, **told}


def cases() -> dict[str, Case]:
    whole, forged, missing = sealed(), "PolicySealForged", "PolicyNotSatisfied"
    return {
        "label": labelled("region", "eu", 7),
        "label-of-signs": labelled("a.b-c_d", "1.2/3:4+5-6_7", 12),
        "formula": formula("region=eu and (build in (1.3, 1.2)) and role = restorer", spelled=MADE["policy"]),
        "formula-flattened": formula("a = 1 or (b = 2 or (a = 1))", spelled="a = 1 or b = 2"),
        "formula-without-brackets": formula("(b = 2 and a = 1) or c = 3", spelled="a = 1 and b = 2 or c = 3"),
        "formula-64": formula(
            f"a in ({', '.join(map(str, range(64)))})", spelled=" or ".join(sorted(f"a = {n}" for n in range(64)))
        ),
        "formula-65": formula(f"a in ({', '.join(map(str, range(65)))})", error="PolicyMalformed"),
        "parameters": parameters(),
        "parameters-changed": parameters(said="{}", error="AttributeParametersForged"),
        "parameters-signed-as-clauses": parameters(
            purpose=b"edna policies clauses 1\n", error="AttributeParametersForged"
        ),
        "seal": opened(whole),
        "seal-longer-veil": opened(sealed(hidden_bytes=8192), error=forged, takes_library=False),
        "seal-another-region": opened(whole, key="key-of-another-region", error=missing),
        "seal-another-epoch": opened(whole, key="key-of-another-epoch", error=missing),
        "seal-epoch-that-the-key-is-not-for": opened(sealed(epoch=8), key="key-of-another-epoch", error=missing),
        "seal-moved": opened(whole, index=fixed("another index"), error=forged),
        "seal-another-file-key": opened(sealed(file_key=fixed("another key")), error=forged),
        "seal-body-changed": opened(flipped(whole, len(whole) - 1), error=forged),
        "seal-policy-spelled-otherwise": opened(sealed(policy="role=restorer"), error=forged),
        "seal-another-veil": opened(whole, veil=fixed("another veil"), error=forged, takes_library=False),
        "seal-epoch-changed": opened(flipped(whole, 5), error=forged, takes_library=False),
        "seal-veiled-changed": opened(flipped(whole, 40), error=forged, takes_library=False),
        "seal-something-behind": opened(sealed(behind=b"\1"), error=forged, takes_library=False),
        "seal-cut": opened(whole[:-1], error=forged, takes_library=False),
        "seal-longer": opened(whole + b"\0", error=forged, takes_library=False),
        "seal-suite-3": opened(sealed(suite=3), error=forged, takes_library=False),
    }


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    return {f"{name}.json": json.dumps(case, indent=1, sort_keys=True) + "\n" for name, case in cases().items()}


if __name__ == "__main__":
    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
