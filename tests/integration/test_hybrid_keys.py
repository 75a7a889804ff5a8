"""`EDNA["RECIPIENT"]`: new keys are of the hybrid kind, those of before go on working, and who wants a new one gets it by a rotation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import edna
from apps.websubmit.models import Answer, Lecture
from edna import Disguise, Modify, devices, errors, inner_door, keypool
from edna.crypto.keys import HybridSecretKey, SecretKey
from edna.crypto.sealing import STANZA_HYBRID, STANZA_X25519
from edna.models import PrincipalEntry
from edna.testing import application_dump
from tests.handing import Browser, keys_in_browsers, without_keys
from tests.installed import registering
from tests.integration.test_rotation import EachAlone
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    PASSWORD,
    Student,
    enrol_in_course,
    nothing_changes,
    rows_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.usefixtures("of_x25519")]


@pytest.fixture(autouse=True)
def each_alone() -> Iterator[None]:
    with registering(EachAlone):
        yield


@pytest.fixture
def of_before() -> Student:
    """Somebody who was there before the setting."""
    return enrol_in_course("bea@example.org", "carl@example.org", password=PASSWORD)


@pytest.fixture
def hybrid(of_before: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x-wing"}


@pytest.fixture
def bea(hybrid: None) -> Student:
    return enrol_in_course("bea.new@example.org", password=PASSWORD)


def stanzas() -> set[int]:
    """Of which kinds the bags that are there are."""
    return {bytes(sealed)[7] for (sealed,) in rows_of("edna_bag", ["sealed"])}


def kinds_of_entries() -> set[bool]:
    """Whether entries are of the hybrid kind."""
    return {half is not None for (half,) in rows_of("edna_principalentry", ["encapsulation_key"])}


def rotated(person: Student) -> None:
    with person.unlock() as unlocked:
        made = edna.rotate(unlocked, password=PASSWORD)
    assert made.secret_key is not None
    person.secret_key, person.recovery_code = made.secret_key, str(made.recovery_code)


def test_who_registers_leaves_and_returns_with_a_key_of_the_hybrid_kind(bea: Student) -> None:
    """By the key's text, the password and the recovery code; over several disguises, and to the byte."""
    before = application_dump()
    receipts = [bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)]
    with bea.unlock() as unlocked:
        receipts.append(edna.disguise(ANONYMISE_ALL, bea.user, unlocked=unlocked))
    receipts.append(bea.disguise(DELETE))

    assert isinstance(bea.secret_key, HybridSecretKey)
    assert stanzas() == {STANZA_HYBRID}
    ways: list[dict[str, Any]] = [
        {"secret_key": bea.secret_key.expose_text()},
        {"identifier": "bea.new@example.org", "password": PASSWORD},
        {"recovery_code": str(bea.recovery_code)},
    ]
    for receipt, way in zip(reversed(receipts), ways, strict=True):
        with edna.unlock(**way) as unlocked:
            outcome = edna.reveal(receipt, unlocked)
        assert not outcome.held
    assert application_dump() == before
    assert not rows_of("edna_bag", ["id"])


class Blacken(Disguise):
    name = "test.blacken"
    transformations = [Modify(Answer, owner="author", set={"text": "[removed]"})]


def test_one_stanza_serves_all_pseudoprincipals_of_somebody_whose_key_is_at_hand(bea: Student) -> None:
    """Whom they are for lies under one, and so does what is disguised of theirs afterwards. Without the key each has one of its own."""
    texts = bea.texts()
    assert len(texts) > 1
    with registering(Blacken):
        alone = bea.disguise(EachAlone.name)
        assert len(rows_of("edna_bag", ["id"])) == 2  # what was changed, and whom they are for
        with bea.unlock() as unlocked:
            together = edna.disguise(Blacken.name, bea.user, unlocked=unlocked)
        assert len(rows_of("edna_bag", ["id"])) == 3
        assert bea.reveal(together).complete
        edna.disguise_all(Blacken.name)
        assert len(rows_of("edna_bag", ["id"])) >= 2 + len(texts)
        assert bea.reveal(alone).complete
        bea.reveal_everything()
    assert bea.texts() == texts


def test_who_was_there_before_moves_by_a_rotation(of_before: Student, settings: Any) -> None:
    """Their bags open as ever, with either setting; after the rotation nothing of theirs is sealed the former way."""
    before = application_dump()
    receipts = [of_before.disguise(ANONYMISE_ALL)]
    former = of_before.secret_key
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x-wing"}
    with of_before.unlock() as unlocked:
        receipts.append(
            edna.disguise(
                ANONYMISE_LECTURE,
                of_before.user,
                params={"lecture": Lecture.objects.order_by("pk")[0].pk},
                unlocked=unlocked,
            )
        )
    assert stanzas() == {STANZA_X25519, STANZA_HYBRID} or stanzas() == {STANZA_X25519}

    rotated(of_before)

    assert isinstance(of_before.secret_key, HybridSecretKey)
    assert stanzas() == {STANZA_HYBRID}
    with pytest.raises(errors.PrincipalNotRegistered):
        edna.unlock(secret_key=former)
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x25519"}
    for receipt in reversed(receipts):
        with of_before.unlock() as unlocked:
            edna.reveal(receipt, unlocked)
    assert application_dump() == before


def test_pseudoprincipals_are_of_the_kind_that_is_configured_when_they_are_made(
    of_before: Student, settings: Any
) -> None:
    """Whoever they stand for. The pool of keys is of that kind, too, as soon as the setting changes."""
    keypool.pool.refill()
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x-wing"}

    receipt = of_before.disguise(ANONYMISE_ALL)

    assert kinds_of_entries() == {True, False}
    assert not PrincipalEntry.objects.filter(natural=False, encapsulation_key=None).exists()
    assert stanzas() == {STANZA_X25519}
    assert type(keypool.pool.take(1)[0]) is HybridSecretKey
    with of_before.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x25519"}
    assert type(keypool.pool.take(1)[0]) is SecretKey


def test_several_devices_open_what_is_sealed_to_keys_of_the_hybrid_kind(bea: Student) -> None:
    """The group's own key is of X25519; the keys of those whom its members speak for are new, and of the kind that is configured."""
    before = bea.texts()
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    edna.disguise_all(EachAlone.name)

    key = devices.create(bea.unlock(), name="laptop")

    assert STANZA_HYBRID in stanzas()
    assert not PrincipalEntry.objects.filter(natural=False, encapsulation_key=None).exists()
    with devices.unlock(key) as unlocked:
        receipts = [entry.receipt for entry in edna.history(unlocked)]
    assert len(receipts) >= 2
    for receipt in receipts:
        with devices.unlock(key) as unlocked:
            edna.reveal(receipt, unlocked)
    assert bea.texts() == before


@pytest.mark.parametrize("half", [b"\1" * 1184, None])
def test_nothing_is_sealed_to_a_half_that_this_site_did_not_note(bea: Student, half: bytes | None) -> None:
    """Neither where somebody puts another one, nor where they take it away to have bags sealed the former way."""
    [entry] = PrincipalEntry.objects.filter(reference=str(bea.user.pk))
    PrincipalEntry.objects.filter(pk=entry.pk).update(encapsulation_key=half)

    with nothing_changes(), pytest.raises(errors.EntryForged):
        bea.disguise(DELETE)


@pytest.mark.parametrize("half", [b"\1" * 1184, None])
def test_who_returns_gets_no_half_that_was_put_there_while_they_were_away(bea: Student, half: bytes | None) -> None:
    """Their entry carries no tag meanwhile, and gets one with what it holds: from then on everything would be sealed to it."""
    receipt = bea.disguise(DELETE)
    assert PrincipalEntry.objects.filter(reference=None).update(encapsulation_key=half) == 1

    with nothing_changes(), pytest.raises(errors.EntryForged, match="half"), bea.unlock() as unlocked:
        edna.reveal(receipt, unlocked)


@pytest.mark.parametrize("half", [b"\1" * 1184, None])
def test_nor_does_who_returns_with_a_key_that_stays_in_their_browser(bea: Student, half: bytes | None) -> None:
    """The server cannot make the half of the key; the browser says what its own is known by. With that it comes back."""
    with keys_in_browsers():
        receipt = bea.disguise(DELETE)
        handover = Browser(bea.secret_key).for_reveal(receipt)
        [entry] = PrincipalEntry.objects.filter(reference=None)
        PrincipalEntry.objects.filter(pk=entry.pk).update(encapsulation_key=half)

        with (
            nothing_changes(),
            without_keys(),
            pytest.raises(errors.EntryForged, match="half"),
            inner_door.unlock_handed(handover) as unlocked,
        ):
            edna.reveal(receipt, unlocked)

        entry.save()
        assert bea.reveal(receipt).complete


def test_nobody_speaks_for_a_placeholder_who_was_given_another_half(bea: Student) -> None:
    """Somebody has made the entry look like one of a placeholder that was removed, which carries no tag."""
    bea.disguise(ANONYMISE_ALL)
    forged = PrincipalEntry.objects.filter(natural=False)[0]
    forged.model, forged.reference, forged.tag, forged.encapsulation_key = "", None, None, b"\1" * 1184
    forged.save()

    with bea.unlock() as unlocked:
        assert bytes(forged.public_key) not in unlocked.voices()


def test_a_public_key_of_the_hybrid_kind_is_registered(hybrid: None, of_before: Student) -> None:
    """As its owner sends it: X-Wing's 1216 bytes."""
    key = HybridSecretKey.generate()
    with of_before.unlock() as unlocked:
        edna.rotate(unlocked, public_key=(key.public_key.encapsulation_key or b"") + bytes(key.public_key))
    of_before.secret_key = key
    before = application_dump()

    receipt = of_before.disguise(DELETE)
    with of_before.unlock() as unlocked:
        edna.reveal(receipt, unlocked)

    assert application_dump() == before
