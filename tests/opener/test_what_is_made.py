"""What the JavaScript makes, the library reads: slots, recovery codes, texts of keys, and what is sealed to a key of either kind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edna import RecoveryCode, SecretKey
from edna.crypto.keys import ContentKey, HybridSecretKey, half_tag
from edna.crypto.sealing import open_sealed, rewrap, seal
from edna.custody.base import KINDS, Slot, SlotSecret, candidate_ids, slot_tags, unlock_slot
from tests.opener.conftest import Case

pytestmark = pytest.mark.browser

KEY, SECRET, PEPPER = SecretKey(b"K" * 32), SlotSecret(b"S" * 32), b"a server key of any length"
HYBRID = HybridSecretKey(b"K" * 32)
OF_HYBRID = {"seed": HYBRID.expose().hex()}


@pytest.mark.parametrize("key", [KEY, HYBRID], ids=["x25519", "x-wing"])
def test_what_is_made_in_javascript_opens_in_the_library(key: SecretKey, in_node: Callable[..., list[Case]]) -> None:
    """Slots of each kind, where the library looks for them and with its tags; each with a nonce of its own. Codes as they are printed."""
    given = {"secret": SECRET.expose().hex(), "pepper": PEPPER.hex()}
    given |= OF_HYBRID if key is HYBRID else {"secret_key": KEY.expose().hex()}
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
        assert unlock_slot(slot, slot_secret=SECRET, peppers=[PEPPER]) == key
        assert slot.slot_id == candidate_ids(SECRET, peppers=[PEPPER])[0]
        assert slot.tag == slot_tags(key, kind=kind, peppers=[PEPPER])[0]
    assert first["result"]["wrapped"][:50] != second["result"]["wrapped"][:50]


@pytest.mark.parametrize("key", [KEY, HYBRID], ids=["x25519", "x-wing"])
def test_two_libraries_agree_on_what_is_sealed_to_a_key(key: SecretKey, in_node: Callable[..., list[Case]]) -> None:
    """What libsodium seals in JavaScript opens with the package `cryptography`, or with PyNaCl; never twice the same bytes."""
    file_key = ContentKey.new()
    sealed = seal(b"what was there", recipients=[KEY.public_key], content_key=file_key)
    given = OF_HYBRID if key is HYBRID else {"secret_key": KEY.expose().hex()}
    asked = {"operation": "sealed_file_key", "input": {**given, "file_key": file_key.expose().hex()}}

    first, second = (bytes.fromhex(case["result"]) for case in in_node([asked, asked]))

    made = rewrap(sealed, box=first, recipient=key.public_key, succession=[])
    assert made is not None
    assert open_sealed(made, secret_key=key) == b"what was there"
    assert first != second


def test_a_key_of_the_hybrid_kind_is_written_and_known_alike(in_node: Callable[..., list[Case]]) -> None:
    text, tag = in_node([{"operation": each, "input": OF_HYBRID} for each in ("secret_key_text", "half_tag")])
    half = HYBRID.public_key.encapsulation_key
    assert half is not None
    assert (text["result"], tag["result"]) == (HYBRID.expose_text(), half_tag(half).hex())
