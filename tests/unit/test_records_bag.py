"""Bags: open for their owner as they were sealed; swapped, edited, forged or hostile ones are refused as a whole."""

from __future__ import annotations

import dataclasses
import datetime
import random
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import nacl.utils
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edna.crypto.keys import PublicKey, SecretKey, generate_key_pairs
from edna.crypto.sealing import open_sealed, seal
from edna.errors import (
    BagCorrupt,
    BagError,
    BagForged,
    BagMisplaced,
    BagTooLarge,
    ConfigurationError,
    ValueNotEncodable,
    WrongKey,
)
from edna.records import bag as bag_module
from edna.records import values
from edna.records.bag import Bag, BagKind, SealedBag, open_bag, read_content, seal_bag
from edna.records.diff import Removed
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksForBatch
from tests.support import flipped
from tests.unit.leaks import assert_error_leaks_nothing
from tests.unit.test_records_values import SCALARS, exactly

pytestmark = pytest.mark.long

OWNER, OTHER = SecretKey(b"O" * 32), SecretKey(b"X" * 32)
LOCATOR = Locator(b"L" * 32)
MAC_KEY, OLDER_MAC_KEY = b"a server key, of any length from sixteen bytes", b"an older server key"
NOW = datetime.datetime(2024, 5, 17, 12, 0, 0, 1, tzinfo=datetime.UTC)
ROWS = [[number, 7, f"answer {number} of bea@example.org"] for number in range(40)]
BATCH = Removed("websubmit.answer", "0001_initial", ("id",), ("id", "author_id", "body"), ROWS)
BAG = Bag(
    BagKind.DIFF,
    "websubmit.delete-account",
    NOW,
    "websubmit.student",
    7,
    {"lecture": 3},
    "sqlite",
    True,
    (5, 5),
    (BATCH,),
)
KEYS = generate_key_pairs(3)
SPEAKS_FOR = dataclasses.replace(
    BAG,
    kind=BagKind.SPEAKS_FOR,
    batches=(SpeaksForBatch("websubmit.student", [(-1, k.public_key, k, 7) for k in KEYS]),),
)
SHARED = dataclasses.replace(BAG, kind=BagKind.SHARED, disguise="", principal=None, params={}, segments=(5, 0))


def sealed(bag: Bag = BAG, **changes: Any) -> SealedBag:
    how: dict[str, Any] = {"locator": LOCATOR, "sequence": 0, "public_key": OWNER.public_key, "mac_key": MAC_KEY}
    return seal_bag(bag, **(how | {"compress": True} | changes))


def opened(data: bytes, **changes: Any) -> Bag:
    how: dict[str, Any] = {"locator": LOCATOR, "kind": BagKind.DIFF, "sequence": 0, "secret_key": OWNER}
    return open_bag(data, **(how | {"mac_keys": [MAC_KEY, OLDER_MAC_KEY]} | changes))


def resealed(change: Callable[[bytes], bytes], bag: Bag = BAG, **how: Any) -> bytes:
    """What somebody does who can open the bag and seal to the public key, but has no MAC key: everything but forge."""
    content = open_sealed(sealed(bag, **how).sealed, secret_key=OWNER)
    return seal(change(content), recipients=[OWNER.public_key])


def made_by_server(payload: bytes, encoding: int) -> bytes:
    """A container whose MAC verifies, around any payload."""
    index = LOCATOR.index(BagKind.DIFF, 0)
    mac = bag_module._mac(MAC_KEY, index, OWNER.public_key, encoding, payload)
    return seal(index + mac + bytes((encoding,)) + payload, recipients=[OWNER.public_key])


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize(
    "bag", [BAG, SPEAKS_FOR, SHARED, dataclasses.replace(BAG, batches=()), dataclasses.replace(BAG, listed=False)]
)
def test_a_bag_comes_back_as_it_was(bag: Bag, compress: bool) -> None:
    """Whatever it holds, compressed or not; stored under the index of its locator."""
    stored = sealed(bag, compress=compress, sequence=4)

    assert stored.index == LOCATOR.index(bag.kind, 4)
    assert opened(stored.sealed, kind=bag.kind, sequence=4) == bag


@pytest.mark.slow
@given(rows=st.lists(st.tuples(SCALARS, SCALARS, SCALARS), max_size=6), principal=SCALARS, compress=st.booleans())
@settings(max_examples=150)
def test_every_value_in_a_bag_comes_back_exactly(rows: list[tuple[Any, ...]], principal: Any, compress: bool) -> None:
    """Behaviour 24, through all the layers."""
    bag = dataclasses.replace(BAG, principal=principal, batches=(dataclasses.replace(BATCH, rows=rows),))

    back = opened(sealed(bag, compress=compress).sealed)

    assert [exactly(list(row)) for row in back.batches[0].rows] == [exactly(list(row)) for row in rows]
    assert exactly(back.principal) == exactly(principal)


def test_compression_is_used_only_where_it_makes_the_stored_bag_smaller() -> None:
    """A bag that fits the smallest size anyway, or does not compress, is not compressed; its size never grows."""
    noise = random.Random(1).randbytes(3000)
    encodings = {}
    for name, rows in {"small": ROWS[:3], "text": ROWS, "noise": [[1, 7, noise]]}.items():
        bag = dataclasses.replace(BAG, batches=(dataclasses.replace(BATCH, rows=rows),))
        compressed, plain = sealed(bag, compress=True).sealed, sealed(bag, compress=False).sealed
        encodings[name] = open_sealed(compressed, secret_key=OWNER)[64]
        assert len(compressed) < len(plain) if encodings[name] else len(compressed) == len(plain)
        assert open_sealed(plain, secret_key=OWNER)[64] == 0

    assert encodings == {"small": 0, "text": 1, "noise": 0}


def test_bags_of_few_rows_have_the_same_size() -> None:
    """The length does not say whether one row or three were disguised, nor of which kind the bag is."""
    sizes = {
        len(sealed(dataclasses.replace(BAG, batches=(dataclasses.replace(BATCH, rows=ROWS[:count]),))).sealed)
        for count in (0, 1, 3)
    }

    assert sizes == {len(sealed(SPEAKS_FOR).sealed)}


def test_nothing_of_the_plaintext_is_in_a_stored_bag() -> None:
    """Neither what it holds, nor whose it is, nor where it belongs, nor which disguise made it."""
    stored = sealed(compress=False)

    for secret in (
        b"bea@example.org",
        b"websubmit",
        b"answer",
        stored.index,
        bytes(OWNER.public_key),
        LOCATOR.expose(),
    ):
        assert secret not in stored.sealed


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"secret_key": OTHER}, WrongKey),
        ({"sequence": 1}, BagMisplaced),
        ({"kind": BagKind.SPEAKS_FOR}, BagMisplaced),
        ({"locator": Locator(b"M" * 32)}, BagMisplaced),
        ({"mac_keys": [OLDER_MAC_KEY]}, BagForged),
        ({"mac_keys": []}, BagForged),
        ({"public_key": OTHER.public_key}, BagForged),
        ({"mac_keys": [b"too short"]}, ConfigurationError),
    ],
)
@pytest.mark.parametrize("bag", [BAG])
def test_a_bag_opens_only_in_its_place_for_its_owner_on_its_server(
    bag: Bag, changes: Any, error: type[Exception]
) -> None:
    """Each wrong circumstance has its own error; none shows a key or the plaintext."""
    data = sealed(bag).sealed

    with pytest.raises(error) as caught:
        opened(data, **changes)

    secrets = (
        OWNER.expose(),
        OTHER.expose(),
        MAC_KEY,
        OLDER_MAC_KEY,
        b"too short",
        b"bea@example.org",
        LOCATOR.expose(),
    )
    assert type(caught.value) is error
    assert_error_leaks_nothing(caught.value, *secrets)


def test_every_mac_key_verifies_and_the_given_one_signs() -> None:
    """Bags outlive a rotation of the server's key."""
    data = sealed(mac_key=OLDER_MAC_KEY).sealed

    assert opened(data) == BAG
    with pytest.raises(BagForged):
        opened(data, mac_keys=[MAC_KEY])


def test_a_short_mac_key_signs_nothing() -> None:
    """A guessed MAC key forges bags."""
    with pytest.raises(ConfigurationError) as caught:
        sealed(mac_key=b"fifteen bytes !")
    assert_error_leaks_nothing(caught.value, b"fifteen bytes !", b"bea@example.org")


@given(data=st.data())
@settings(max_examples=200)
def test_content_edited_by_somebody_who_can_open_and_seal_is_refused(data: st.DataObject) -> None:
    """A stolen secret key reads its owner's bags and still forges nothing: no byte of the content can be changed."""
    content = open_sealed(SEALED_BAG.sealed, secret_key=OWNER)
    at = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[at] ^= data.draw(st.integers(1, 255))

    with pytest.raises(BagMisplaced if at < 32 else BagForged):
        opened(seal(bytes(changed), recipients=[OWNER.public_key]))


SEALED_BAG = sealed()


@given(data=st.data())
@settings(max_examples=400)
def test_a_mutated_bag_is_only_ever_refused(data: st.DataObject) -> None:
    """Flipped, cut, spliced or random bytes raise a BagError and nothing else."""
    start = data.draw(st.integers(0, len(SEALED_BAG.sealed)))
    end = data.draw(st.integers(start, len(SEALED_BAG.sealed)))
    changed = SEALED_BAG.sealed[:start] + data.draw(st.binary(max_size=60)) + SEALED_BAG.sealed[end:]
    if changed == SEALED_BAG.sealed:
        return

    with pytest.raises(BagError):
        opened(changed)


@given(payload=st.binary(max_size=300) | SCALARS.map(values.encode), encoding=st.integers(0, 3), squeezed=st.booleans())
@settings(max_examples=400)
def test_even_an_authentic_payload_that_is_no_bag_is_refused(payload: bytes, encoding: int, squeezed: bool) -> None:
    """The decoder does not rely on the MAC."""
    payload = zlib.compress(payload) if squeezed else payload

    with pytest.raises(BagCorrupt):
        opened(made_by_server(payload, encoding))


def test_an_authentic_payload_of_the_other_kind_is_refused() -> None:
    """Even an empty one: what a place is for is not up to what lies there."""
    payload = values.decode(open_sealed(sealed(SPEAKS_FOR, compress=False).sealed, secret_key=OWNER)[65:])

    with pytest.raises(BagCorrupt):
        opened(made_by_server(values.encode([*payload[:-1], []]), 0))


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=400)
def test_an_authentic_payload_with_one_part_replaced_is_refused_or_a_bag(data: st.DataObject) -> None:
    """Near-valid shapes reach every check of the decoder."""
    payload = values.decode(open_sealed(sealed(compress=False).sealed, secret_key=OWNER)[65:])
    part = payload
    while isinstance(part, list) and part and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(part) - 1))
        if not isinstance(part[at], list):
            part[at] = data.draw(SCALARS)
            break
        part = part[at]
    else:
        if isinstance(part, list):
            part.append(data.draw(SCALARS))

    try:
        assert isinstance(opened(made_by_server(values.encode(payload), 0)), Bag)
    except BagCorrupt as error:
        assert error.__context__ is None  # noqa: PT017


def test_a_zip_bomb_is_refused_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small bag cannot make the process allocate a thousand times its size: expansion stops at the limit."""
    monkeypatch.setattr(bag_module, "MAX_PAYLOAD_BYTES", 1_000_000)
    bomb = made_by_server(zlib.compress(bytes(200_000_000), 1), 1)
    tracemalloc.start()
    try:
        with pytest.raises(BagTooLarge):
            opened(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 10_000_000


def test_a_forged_bag_is_refused_before_it_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is decompressed or decoded that this server did not make."""
    monkeypatch.setattr(bag_module, "_expand", lambda payload: pytest.fail("expanded"))
    monkeypatch.setattr(values, "decode", lambda payload: pytest.fail("decoded"))

    with pytest.raises(BagForged):
        opened(sealed(mac_key=b"not a key of this server").sealed)


@pytest.mark.parametrize("bag", [BAG, SPEAKS_FOR])
@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda content: bytes(32) + content[32:], BagMisplaced),
        (lambda content: flipped(content, 40), BagForged),
        (flipped, BagForged),
        (lambda content: content[:60], BagCorrupt),
    ],
)
def test_a_refused_bag_shows_neither_keys_nor_plaintext(bag: Bag, change: Any, error: type[Exception]) -> None:
    """The page of Django for a tampered bag, DEBUG on: no secret key, no pseudoprincipal's key, no file key, no row."""
    drawn: list[bytes] = []
    draw = nacl.utils.random
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nacl.utils, "random", lambda size: drawn.append(draw(size)) or drawn[-1])
        data = resealed(change, bag, compress=False)
    secrets = [OWNER.expose(), MAC_KEY, b"bea@example.org", *(key.expose() for key in KEYS)]

    with pytest.raises(error) as caught:
        opened(data, kind=bag.kind)

    assert_error_leaks_nothing(caught.value, *secrets, *(each for each in drawn if len(each) == 32))


def test_an_authentic_but_malformed_speaks_for_bag_shows_no_keys() -> None:
    """Even our own mistakes do not print keys."""
    payload = values.decode(open_sealed(sealed(SPEAKS_FOR, compress=False).sealed, secret_key=OWNER)[65:])
    payload[0] = 1
    payload[-1][0][1][2] = "malformed"

    with pytest.raises(BagCorrupt) as caught:
        opened(made_by_server(values.encode(payload), 0))

    assert_error_leaks_nothing(caught.value, *(key.expose() for key in KEYS), MAC_KEY, OWNER.expose())


@pytest.mark.parametrize(
    ("bag", "model", "field"),
    [
        (dataclasses.replace(BAG, principal=object()), "websubmit.student", "primary key"),
        (dataclasses.replace(BAG, params={"x": {1}}), "websubmit.delete-account", "x"),
        (
            dataclasses.replace(BAG, batches=(BATCH, dataclasses.replace(BATCH, rows=[[1, 2, "x"], [1, 2, {1}]]))),
            "websubmit.answer",
            "body",
        ),
        (
            dataclasses.replace(
                SPEAKS_FOR,
                batches=(
                    SpeaksForBatch(
                        "a.user", [(1, KEYS[0].public_key, KEYS[0], 7), (1j, KEYS[1].public_key, KEYS[1], 7)]
                    ),
                ),
            ),
            "a.user",
            "primary key",
        ),
    ],
)
def test_a_value_that_cannot_be_kept_is_named_by_model_and_field(bag: Bag, model: str, field: str) -> None:
    """The developer learns which field to change; the page shows neither its neighbours nor keys."""
    with pytest.raises(ValueNotEncodable) as caught:
        sealed(bag)

    assert (caught.value.model, caught.value.field) == (model, field)
    assert model in str(caught.value)
    assert_error_leaks_nothing(caught.value, MAC_KEY, KEYS[0].expose(), KEYS[1].expose(), b"bea@example.org")


@pytest.mark.parametrize(
    "changes",
    [
        {"applied_at": datetime.datetime(2024, 1, 1)},
        {"applied_at": NOW.astimezone(datetime.timezone(datetime.timedelta(hours=1)))},
        {"applied_at": "now"},
        {"params": {1: 2}},
        {"kind": BagKind.SPEAKS_FOR},
        {"batches": (dataclasses.replace(BATCH, rows=[[1]]),)},
        {"segments": (0, 5)},
        {"segments": (1, -1)},
        {"segments": (True, 0)},
        {"segments": (1.0, 0)},
    ],
)
def test_a_bag_that_would_not_open_again_is_not_sealed(changes: dict[str, Any]) -> None:
    """What is sealed can be opened: a mistake shows before the rows are deleted."""
    with pytest.raises(ValueError, match=r"Bag|Removed") as caught:
        sealed(dataclasses.replace(BAG, **changes))
    assert_error_leaks_nothing(caught.value, MAC_KEY, b"bea@example.org")


def test_a_bag_too_large_to_seal_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remedy is smaller chunks."""
    monkeypatch.setattr("edna.crypto.sealing.MAX_SEALED_BYTES", 1000)

    with pytest.raises(BagTooLarge) as caught:
        sealed(compress=False)

    assert_error_leaks_nothing(caught.value, MAC_KEY, b"bea@example.org")


def test_content_that_a_browser_opened_is_verified_like_any_other() -> None:
    """The page hands plaintext back; the server trusts its own MAC only."""
    content = open_sealed(sealed().sealed, secret_key=OWNER)
    how: dict[str, Any] = {"locator": LOCATOR, "kind": BagKind.DIFF, "sequence": 0, "mac_keys": [MAC_KEY]}

    assert read_content(content, public_key=OWNER.public_key, **how) == BAG
    for error, data, mac_keys in (
        (BagForged, flipped(content), [MAC_KEY]),
        (BagCorrupt, content[:60], [MAC_KEY]),
        (ConfigurationError, content, [MAC_KEY, b"short"]),
    ):
        with pytest.raises(error) as caught:
            read_content(data, public_key=OWNER.public_key, **(how | {"mac_keys": mac_keys}))
        assert_error_leaks_nothing(caught.value, MAC_KEY, b"bea@example.org")


def test_a_second_recipient_opens_the_bag_as_its_owners() -> None:
    """A device's key opens the container; the MAC still names the owner."""
    content = open_sealed(sealed().sealed, secret_key=OWNER)
    shared = seal(content, recipients=[OWNER.public_key, OTHER.public_key])

    assert opened(shared, secret_key=OTHER, public_key=PublicKey(bytes(OWNER.public_key))) == BAG
    with pytest.raises(BagForged):
        opened(shared, secret_key=OTHER)


def test_a_shared_bag_opens_with_its_locator_and_with_nobodys_key() -> None:
    """The MAC names the key that follows from the locator: the bag is nobody's who could be told from it."""
    key = LOCATOR.shared_key()
    data = sealed(SHARED, public_key=key.public_key).sealed

    assert opened(data, kind=BagKind.SHARED, secret_key=key) == SHARED
    with pytest.raises(WrongKey):
        opened(data, kind=BagKind.SHARED)
    with pytest.raises(BagForged):
        opened(sealed(SHARED).sealed, kind=BagKind.SHARED, secret_key=OWNER, public_key=key.public_key)


def test_a_bag_counts_the_segments_beside_it() -> None:
    """So that a missing last one is found out; a bag that its own count leaves out was never made."""
    bag = dataclasses.replace(BAG, segments=(2, 1))

    assert opened(sealed(bag, sequence=1).sealed, sequence=1).segments == (2, 1)
    with pytest.raises(ValueError, match="segments"):
        sealed(bag, sequence=2)
    with pytest.raises(ValueError, match="segments"):
        sealed(dataclasses.replace(SPEAKS_FOR, segments=(2, 1)), sequence=1)


def test_a_bag_does_not_print_personal_data() -> None:
    """Bags are variables of frames, and frames get printed."""
    text = repr(BAG) + repr(SPEAKS_FOR) + repr(sealed())

    assert "bea@example.org" not in text
    assert "lecture" not in text
    assert "7," not in text
