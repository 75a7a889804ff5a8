"""What the JavaScript makes, the library reads: slots and recovery codes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edna import RecoveryCode, SecretKey
from edna.custody.base import KINDS, Slot, SlotSecret, candidate_ids, slot_tags, unlock_slot
from tests.opener.conftest import Case

pytestmark = pytest.mark.browser

KEY, SECRET, PEPPER = SecretKey(b"K" * 32), SlotSecret(b"S" * 32), b"a server key of any length"


def test_what_is_made_in_javascript_opens_in_the_library(in_node: Callable[..., list[Case]]) -> None:
    """Slots of each kind, where the library looks for them and with its tags; each with a nonce of its own. Codes as they are printed."""
    given = {"secret_key": KEY.expose().hex(), "secret": SECRET.expose().hex(), "pepper": PEPPER.hex()}
    codes = [RecoveryCode.new() for _ in range(50)]

    *made, first, second = in_node(
        [
            *({"operation": "recovery_code_text", "input": code.expose().hex()} for code in codes),
            *({"operation": "make_slot", "input": {**given, "kind": kind}} for kind in KINDS[:2]),
        ]
    )

    assert [each["result"] for each in made] == [str(code) for code in codes]
    for kind, outcome in zip(KINDS, (first, second), strict=False):
        slot = Slot(*(bytes.fromhex(outcome["result"][name]) for name in ("slot_id", "tag", "wrapped")))
        assert unlock_slot(slot, slot_secret=SECRET, peppers=[PEPPER]) == KEY
        assert slot.slot_id == candidate_ids(SECRET, peppers=[PEPPER])[0]
        assert slot.tag == slot_tags(KEY, kind=kind, peppers=[PEPPER])[0]
    assert first["result"]["wrapped"][:50] != second["result"]["wrapped"][:50]
