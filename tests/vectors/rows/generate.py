"""Write the test vectors of tags of rows: an independent second implementation of docs/format.md, "Tags of rows".

As its siblings it imports nothing of edna, and its keys are fixed.

    python -m tests.vectors.rows.generate            writes one JSON file per case beside this one
    python -m tests.vectors.rows.generate --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds the `row`, its kind; the `columns` that its tag, or the MAC of a file task, is over; the server's keys; perhaps `database`,
the alias of the one, of several, in which the row is; the `tag`, and whether it is `right`. Bytes are hexadecimal.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

from tests.vectors.generate import BEA, HYBRID_BEA, MAC_KEY, OLD_MAC_KEY, blake2b, fixed, pack, tagged, written

HERE = Path(__file__).resolve().parent

Case = dict[str, Any]

ENTRY, JOB = b"edna.entry.tag.1", b"edna.job.tag.001"


def tag(data: bytes, purpose: bytes, server_key: bytes = MAC_KEY) -> bytes:
    key = blake2b(server_key, purpose=b"edna.tags.key.1")
    return blake2b(data, purpose=purpose, key=key, size=16)


def entry(columns: list[Any], database: str | None = None) -> bytes:
    pk, public_key, model, reference, natural, half = columns
    kind = bool(natural) + (2 if half is not None else 0) + (4 if database is not None else 0)
    data = struct.pack(">q", pk) + public_key + bytes([kind])
    if half is not None:
        data += blake2b(half, purpose=b"edna.entry.half1")
    if database is not None:
        data += database.encode() + b"\0"
    return data + model.encode() + b"\0" + reference.encode()


def job(columns: list[Any], database: str | None = None) -> bytes:
    pk, disguise, params, everybody, schedule, operator, state, for_good = columns
    said = [pk, disguise, sorted(map(list, params.items())), everybody, schedule, operator, state]
    if database is not None:
        return pack([*said, for_good, database])
    return pack([*said, True] if for_good else said)


def file_mac(columns: list[Any], database: str | None = None) -> bytes:
    said = columns if database is None else [*columns, database]
    key = blake2b(MAC_KEY, purpose=b"edna.file.task.k")
    return blake2b(pack(said), purpose=b"edna.file.task", key=key)


def number(public_key: bytes) -> int:
    return int.from_bytes(public_key[:8], "big") >> 1 or 1


def case(kind: str, columns: list[Any], given: bytes, *, right: bool, database: str | None = None) -> Case:
    keys = [MAC_KEY.hex(), OLD_MAC_KEY.hex()]
    told = {"row": kind, "columns": [tagged(each) for each in columns], "tag": given.hex(), "mac_keys": keys}
    return {**told, "right": right, **({} if database is None else {"database": database})}


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    person = [number(BEA.public), BEA.public, "auth.user", "-17", True, None]
    hybrid = [number(HYBRID_BEA.public), HYBRID_BEA.public, "auth.user", "17", False, HYBRID_BEA.whole[:1184]]
    started = [2**62 + 1, "club.blur", {"until": "2026-01-31", "below": "3"}, True, "", "olga", "running", False]
    rows: dict[str, tuple[bytes, Any, list[Any]]] = {
        "entry": (ENTRY, entry, person),
        "entry-hybrid": (ENTRY, entry, hybrid),
        "job": (JOB, job, started),
        "job-for-good": (JOB, job, [*started[:-1], True]),
    }
    every: dict[str, Case] = {}
    for name, (purpose, said, columns) in rows.items():
        kind, moved = name.partition("-")[0], [columns[0] + 1, *columns[1:]]
        alone, here = tag(said(columns), purpose), tag(said(columns, "north"), purpose)
        every |= {
            name: case(kind, columns, alone, right=True),
            f"{name}-of-another-row": case(kind, moved, alone, right=False),
            f"{name}-of-a-database": case(kind, columns, here, right=True, database="north"),
            f"{name}-of-another-database": case(kind, columns, here, right=False, database="south"),
            f"{name}-of-no-database": case(kind, columns, alone, right=False, database="north"),
            f"{name}-of-one-of-several": case(kind, columns, here, right=False),
        }
    waiting = [2**62 + 3, "club.note.attachment", "notes/letter.txt", 8, fixed("digest"), fixed("locator"), True, False]
    every |= {
        "file": case("file", waiting, file_mac(waiting), right=True),
        "file-of-another-row": case("file", [waiting[0] + 1, *waiting[1:]], file_mac(waiting), right=False),
        "file-of-a-database": case("file", waiting, file_mac(waiting, "north"), right=True, database="north"),
        "file-of-another-database": case("file", waiting, file_mac(waiting, "north"), right=False, database="south"),
        "file-of-no-database": case("file", waiting, file_mac(waiting), right=False, database="north"),
        "file-of-one-of-several": case("file", waiting, file_mac(waiting, "north"), right=False),
    }
    # What one says with its label, another with its alias.
    blurred = [*person[:2], "north\0auth.user", *person[3:]]
    every["entry-blurred"] = case("entry", person, tag(entry(blurred), ENTRY), right=False, database="north")
    every["entry-older-key"] = case("entry", person, tag(entry(person), ENTRY, OLD_MAC_KEY), right=True)
    nobody = tag(entry(person, "north"), ENTRY, fixed("no server key"))
    every["entry-of-nobody"] = case("entry", person, nobody, right=False, database="north")
    return {f"{name}.json": json.dumps(each, indent=1, sort_keys=True) + "\n" for name, each in every.items()}


if __name__ == "__main__":
    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
