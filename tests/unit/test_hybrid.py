"""Keys of the hybrid kind: what is sealed to one takes both halves, tells nobody whose it is, and needs an optional package."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from edna import keypool
from edna.crypto import hybrid
from edna.crypto.keys import HybridPublicKey, HybridSecretKey, PublicKey, SecretKey
from edna.crypto.sealing import check_container, open_sealed, seal, sealed_length
from edna.errors import BagSuiteUnknown, ConfigurationError, KeyMalformed, WrongKey
from edna.records.locator import Locator, is_item_of, open_locator, seal_locator
from edna.records.speaksfor import SealedKey
from tests.support import flipped
from tests.waiting import WAIT_SECONDS

HEADER_BYTES, STANZA_BYTES = 7, 1168


@pytest.fixture(scope="module")
def people() -> list[HybridSecretKey]:
    return [HybridSecretKey.generate() for _ in range(4)]


def stanza_of(key: SecretKey) -> bytes:
    return seal(b"content", recipients=[key.public_key])[HEADER_BYTES + 3 :][:STANZA_BYTES]


def test_what_is_sealed_to_either_kind_opens_with_its_own_key_alone(people: list[HybridSecretKey]) -> None:
    """Also where both stand side by side, and whatever half of a key somebody has."""
    former, stranger = SecretKey.generate(), people[1]
    sealed = seal(b"content", recipients=[former.public_key, people[0].public_key])

    check_container(sealed, length=len(sealed))
    assert open_sealed(sealed, secret_key=former) == open_sealed(sealed, secret_key=people[0]) == b"content"
    assert len(seal(b"content", recipients=[stranger.public_key])) == sealed_length(7, hybrid=True)
    for key in (stranger, SecretKey(people[0].scalar()), SecretKey(people[0].expose())):
        with pytest.raises(WrongKey):
            open_sealed(sealed, secret_key=key)


def test_the_x25519_half_alone_is_never_enough(people: list[HybridSecretKey]) -> None:
    """Whoever breaks X25519 makes such a bag, or opens it: the owner's key takes neither."""
    half = PublicKey(bytes(people[0].public_key))

    for sealed in (seal(b"forged", recipients=[half]), seal(b"forged", recipients=[half, people[1].public_key])):
        with pytest.raises(WrongKey):
            open_sealed(sealed, secret_key=people[0])


def test_a_release_before_this_kind_says_to_update() -> None:
    """What it does not know it skips; the version is the same, as bodies are not encrypted anew for another recipient."""
    sealed = bytearray(seal(b"content", recipients=[SecretKey.generate().public_key]))
    sealed[HEADER_BYTES] = 77

    with pytest.raises(BagSuiteUnknown, match="Update edna"):
        open_sealed(bytes(sealed), secret_key=SecretKey.generate())


def test_a_stanza_does_not_tell_whose_it_is(people: list[HybridSecretKey]) -> None:
    """Nothing of a public key, nor a hash of one, is in it; two for one person have no more in common than two for two; and who tries
    all public keys, or everybody else's secret ones, gets the same answer each time."""
    mine = people[0].public_key
    whole = (mine.encapsulation_key or b"") + bytes(mine)
    hashes = [
        hashlib.new(name, data).digest()
        for name in ("sha256", "sha512", "sha3_256", "blake2b", "blake2s")
        for data in (whole, bytes(mine), whole[:-32])
    ]
    stanzas = [stanza_of(key) for key in (people[0], people[0], people[1])]

    told = [text[at : at + 4] for text in (whole, *hashes) for at in range(0, len(text) - 3, 4)]
    assert not [piece for piece in told if piece in stanzas[0] + stanzas[1]]
    alike = [sum(a == b for a, b in zip(stanzas[0], other, strict=True)) for other in stanzas[1:]]
    assert max(alike) < 40  # 4.6 of 1168 bytes by chance
    headers = {seal(b"content", recipients=[key.public_key])[: HEADER_BYTES + 3] for key in people}
    assert len(headers) == 1
    sealed, answers = seal(b"content", recipients=[mine]), set()
    for key in (*people[1:], *(HybridSecretKey(hashlib.sha256(bytes(each.public_key)).digest()) for each in people)):
        with pytest.raises(WrongKey) as caught:
            open_sealed(sealed, secret_key=key)
        answers.add(str(caught.value))
    assert len(answers) == 1


def test_an_item_of_a_list_is_known_by_whoever_has_its_locator(people: list[HybridSecretKey]) -> None:
    """And by nobody else: not by the key of its owner's public half, nor of another list."""
    locator, mine, other = Locator.new(), people[0], people[1].public_key
    items = [seal_locator(locator, recipient=mine.public_key) for _ in range(2)]

    assert items[0] != items[1]
    assert items[0][:32] == items[1][:32] != seal_locator(locator, recipient=other)[:32]
    assert all(is_item_of(item, locator, recipient=mine.public_key) for item in items)
    assert not is_item_of(items[0], Locator.new(), recipient=mine.public_key)
    assert not is_item_of(items[0], locator, recipient=other)
    assert open_locator(items[0], secret_key=mine) == locator
    with pytest.raises(WrongKey):
        open_locator(flipped(items[0]), secret_key=mine)


def test_a_public_key_is_read_as_its_owner_sends_it(people: list[HybridSecretKey]) -> None:
    """32 bytes of X25519, or X-Wing's 1216. A half that is none is refused when it is read, and not in the middle of a disguise."""
    public_key = people[0].public_key
    assert public_key.encapsulation_key is not None
    read = PublicKey.of(public_key.encapsulation_key + bytes(public_key))

    assert isinstance(read, HybridPublicKey)
    assert read == public_key == PublicKey.of(bytes(public_key))
    assert open_sealed(seal(b"content", recipients=[read]), secret_key=people[0]) == b"content"
    for wrong in (b"\xff" * 1184 + bytes(public_key), public_key.encapsulation_key + bytes(32), bytes(1216)[1:]):
        with pytest.raises(KeyMalformed):
            PublicKey.of(wrong)


def test_a_key_is_the_same_from_its_text_and_beside_its_public_half(people: list[HybridSecretKey]) -> None:
    """The secret is a seed of 32 bytes: slots, records and key files are as long as ever."""
    mine = people[0]
    known = HybridSecretKey(mine.expose()).paired(PublicKey(bytes(mine.public_key)))

    assert SecretKey.parse(mine.expose_text().upper()) == mine
    assert mine.expose_text().startswith("edna-secret-key-2:")
    for key in (mine, SecretKey.generate()):
        assert SecretKey.of_kind(key.expose_with_kind()) == key
    assert known.public_key.encapsulation_key == mine.public_key.encapsulation_key
    boxed = SealedKey.of(mine, recipient=people[1].public_key)
    assert boxed.open(people[1:2], public_key=mine.public_key) == mine
    assert "redacted" in repr(mine)


@pytest.fixture
def without_the_package(monkeypatch: Any) -> Iterator[None]:
    for thread in threading.enumerate():  # of another test, making keys ahead
        if thread.name == keypool.THREAD:
            thread.join()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    hybrid.suite.cache_clear()
    yield
    hybrid.suite.cache_clear()


@pytest.mark.usefixtures("without_the_package")
def test_without_the_package_nothing_is_sealed_the_other_way(people: list[HybridSecretKey]) -> None:
    """It is an error that names what to install, and no bag of the weaker kind."""
    fresh = HybridPublicKey(bytes(people[0].public_key), b"\1" * 1184)

    for work in (HybridSecretKey.generate, lambda: seal(b"content", recipients=[fresh])):
        with pytest.raises(ConfigurationError, match="post-quantum"):
            work()


def test_whoever_has_no_such_key_imports_nothing_for_it() -> None:
    """The package is optional, and takes time and memory to load."""
    script = (
        "import sys; from edna.crypto.keys import SecretKey; from edna.crypto.sealing import seal, open_sealed; "
        "key = SecretKey.generate(); open_sealed(seal(b'x', recipients=[key.public_key]), secret_key=key); "
        "sys.exit(any(name.split('.')[0] == 'cryptography' for name in sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=WAIT_SECONDS).returncode == 0
