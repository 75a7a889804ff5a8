"""Prints how this database's driver hands over a `Piece`: what the table of the test was copied from."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

HOLDER = uuid.UUID("11111111-2222-4333-8444-555555555555")
PIECE = uuid.UUID("aaaaaaaa-2222-4333-8444-555555555555")

#: As Python has it.
VALUES: dict[str, Any] = {
    "id": PIECE,
    "owner": HOLDER,
    "before": PIECE,
    "char": "ümlaut ' \" \\ 🦓",
    "text": "line\nline",
    "slug": "a-slug",
    "email": "bea@example.org",
    "url": "https://example.org/?a=b",
    "file": "notes/a.txt",
    "flag": True,
    "maybe": False,
    "small": -7,
    "integer": 2**31 - 1,
    "positive": 0,
    "big": -(2**63),
    "real": 0.1,
    "decimal": Decimal("1234567.125"),
    "whole": Decimal("5.00"),
    "date": datetime.date(2026, 2, 28),
    "time": datetime.time(23, 59, 59, 123456),
    "moment": datetime.datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=datetime.UTC),
    "span": datetime.timedelta(days=400, microseconds=1),
    "uid": uuid.UUID("0fffffff-2222-4333-8444-555555555555"),
    "json": {"z": [1, 2.5, None, True], "aa": {"ü": "x"}, "b": 10**20},
    "binary": bytes(range(256)),
    "ip": "2001:db8::1",
    "nothing": None,
}
