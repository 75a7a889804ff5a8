"""Whoever writes to the tables without a key of the server has nothing sealed to them, and has nobody open what they did not mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import override_settings

import edna
from edna import audiences, errors, serverkeys
from edna.audiences import membership, store
from edna.audiences.models import (
    AudienceName,
    AudienceUpdate,
    HeldCopy,
    HoldNotice,
    HoldPart,
    HoldRequest,
    SharedSecret,
)
from edna.crypto.sealing import seal_small
from edna.custody.audiences import together as shared
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.updates import Member
from edna.testing import Person, application_dump
from tests.audiences.test_holds import Chairs, WithChairs, review_of, somebody
from tests.databases import first_everywhere
from tests.installed import registering

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    with registering(WithChairs):
        yield


@pytest.fixture
def chairs() -> Chairs:
    return Chairs("ada", "bob", "cyd")


def raw(row: Any) -> dict[str, Any]:
    """What somebody reads in the database."""
    return {field.attname: getattr(row, field.attname) for field in row._meta.fields}


def put(model: type[Any], pk: int, **columns: Any) -> None:
    """As somebody does who has the database and nothing else."""
    assert model._base_manager.filter(pk=pk).update(**columns) == 1


def attackers_sharing() -> bytes:
    """What a vandal would have copies sealed to: both shares are theirs."""
    keys = {bytes([number]) * 16: Member.new() for number in (1, 2)}
    sharing, deal = shared.begin({each: member.card.public_key for each, member in keys.items()}, threshold=2)
    said: Any = [
        [sharing.id, 0, list(sharing.members), list(sharing.commitments), []],
        [[deal.dealer, list(deal.commitments), [list(pair) for pair in deal.sealed.items()]]],
    ]
    return store.values.encode(said)


def test_nothing_is_sealed_to_a_sharing_that_somebody_has_written_into_the_table(chairs: Chairs) -> None:
    reviewer = somebody("rae@example.org")
    review_of(reviewer)
    before, row = application_dump(), SharedSecret.objects.get()
    kept = bytes(row.said)
    put(SharedSecret, row.pk, said=attackers_sharing())
    with pytest.raises(errors.AudienceForged, match=rf"Row {row.pk} of edna_audiences_sharedsecret"):
        edna.disguise(WithChairs.name, reviewer.user)
    # Nor to a newer one, beside it.
    put(SharedSecret, row.pk, said=kept)
    new = SharedSecret(**{**raw(row), "id": 7, "epoch": 1, "said": attackers_sharing()})
    new.save(force_insert=True)
    with pytest.raises(errors.AudienceForged):
        edna.disguise(WithChairs.name, reviewer.user)
    assert application_dump() == before
    assert not HeldCopy.objects.exists()
    new.delete()
    edna.disguise(WithChairs.name, reviewer.user)


@pytest.mark.once
def test_a_sharing_of_another_audience_is_none_of_this_one(chairs: Chairs) -> None:
    mine = audiences.new_member()
    audiences.create("mine", mine.secret_key, {"eve": mine.card, "evan": audiences.new_member().card})
    for model in (SharedSecret, AudienceUpdate, AudienceName):
        model.objects.filter(audience="chairs").delete()
        model.objects.filter(audience="mine").update(audience="chairs")
    reviewer = somebody("rae@example.org")
    review_of(reviewer)
    with pytest.raises(errors.AudienceForged):
        edna.disguise(WithChairs.name, reviewer.user)
    for ask in (audiences.public_key, audiences.members):
        with pytest.raises(errors.AudienceForged):
            ask("chairs")


@pytest.mark.once
def test_nobody_founds_an_audience_in_the_table(chairs: Chairs) -> None:
    update, vandal = AudienceUpdate.objects.get(), Member.new()
    put(AudienceUpdate, update.pk, update=bytes(Audience.create(vandal, [Member.new().card])))
    with pytest.raises(errors.AudienceForged):
        audiences.public_key("chairs")
    with pytest.raises(errors.AudienceForged):
        audiences.secret_keys("chairs", vandal.secret_key)


@pytest.mark.once
def test_nobody_gets_the_name_of_another_member(chairs: Chairs) -> None:
    for row in AudienceName.objects.all():
        put(AudienceName, row.pk, name={"ada": "cyd", "cyd": "ada"}.get(row.name, row.name))
    with pytest.raises(errors.AudienceForged):
        audiences.members("chairs")


class Asked:
    """Cyd, who can write to the tables, has asked about Mia; what is wanted is what is held about Rae."""

    def __init__(self, chairs: Chairs) -> None:
        self.people = {name: somebody(f"{name}@example.org") for name in ("mia", "rae")}
        for person in self.people.values():
            review_of(person)
            edna.disguise(WithChairs.name, person.user)
        self.numbers = {name: self.about(chairs, person) for name, person in self.people.items()}
        self.number = self.numbers["mia"]
        self.wanted = HoldRequest.objects.get(pk=self.numbers["rae"])

    @staticmethod
    def about(chairs: Chairs, person: Person) -> int:
        return audiences.ask("chairs", chairs["cyd"], person.user, reason="case 12")

    def parts(self) -> int:
        return HoldPart.objects.filter(request=self.number).count()


@pytest.fixture
def asked(chairs: Chairs) -> Asked:
    return Asked(chairs)


def _places(asked: Asked, chairs: Chairs) -> None:
    put(HoldRequest, asked.number, places=bytes(asked.wanted.places))


def _asked_by(asked: Asked, chairs: Chairs) -> None:
    put(HoldRequest, asked.number, asked_by=Member(chairs["bob"]).id)


def _said(asked: Asked, chairs: Chairs) -> None:
    put(HoldRequest, asked.number, reason="case 13", reference=asked.wanted.reference)


def _row(asked: Asked, chairs: Chairs) -> None:
    """Another request, rightly tagged, under the number that was seen."""
    HoldRequest.objects.filter(pk=asked.number).delete()
    put(HoldRequest, asked.wanted.pk, id=asked.number)


def _copy(asked: Asked, chairs: Chairs) -> None:
    """The others compute with what lies at the place, whatever it is."""
    first, other = (
        HeldCopy.objects.get(place=bytes(HoldRequest.objects.get(pk=number).places)[:32])
        for number in (asked.number, asked.wanted.pk)
    )
    put(HeldCopy, first.pk, sealed=bytes(other.sealed))


def _place_of_a_copy(asked: Asked, chairs: Chairs) -> None:
    first, other = (
        HeldCopy.objects.get(place=bytes(HoldRequest.objects.get(pk=number).places)[:32])
        for number in (asked.number, asked.wanted.pk)
    )
    first.delete()
    put(HeldCopy, other.pk, place=bytes(first.place))


CHANGES = (_places, _asked_by, _said, _row, _copy, _place_of_a_copy)


@first_everywhere("change", CHANGES)
def test_nobody_agrees_to_what_was_changed_after_they_have_looked(
    chairs: Chairs, asked: Asked, change: Callable[[Asked, Chairs], None]
) -> None:
    assert asked.number in {each.id for each in audiences.requests("chairs")}
    parts = asked.parts()
    change(asked, chairs)
    with pytest.raises(errors.AudienceForged):
        audiences.agree(asked.number, chairs["bob"])
    assert asked.parts() == parts
    if change not in (_copy, _place_of_a_copy):
        with pytest.raises(errors.AudienceForged):
            audiences.requests("chairs")


@first_everywhere("change", CHANGES)
def test_what_was_changed_after_all_have_agreed_is_not_read(
    chairs: Chairs, asked: Asked, change: Callable[[Asked, Chairs], None]
) -> None:
    audiences.agree(asked.number, chairs["bob"])
    change(asked, chairs)
    with pytest.raises(errors.AudienceForged):
        audiences.read(asked.number, chairs["cyd"])
    assert not HoldNotice.objects.exists()


@pytest.mark.once
def test_a_part_of_who_went_counts_for_nobody_under_another_ones_name(chairs: Chairs, asked: Asked) -> None:
    """Shares have not been handed on yet. Whoever went has theirs, and writes to the tables; one who is there would read alone."""
    person, gone, sharer = asked.people["rae"], Member(chairs["cyd"]), Member(chairs["bob"])
    chairs.leave("ada", "cyd")
    number = audiences.ask("chairs", chairs["ada"], person.user, reason="case 12")
    sharing, deals = store.shares("chairs", 2, using="default")
    share = shared.open_share(sharing, deals, member=gone.id, secret_key=gone.secret_key)
    (place,) = [bytes(HoldRequest.objects.get(pk=number).places)]
    copy = bytes(HeldCopy.objects.get(place=place).sealed)
    said = sharing.epoch.to_bytes(4, "big") + shared.part_of(copy, share, sharing=sharing, member=gone.id)
    sealed = seal_small(said, recipient=Member(chairs["ada"]).card.public_key)
    HoldPart.objects.create(request=number, member=sharer.id, sealed=sealed)
    with pytest.raises(errors.TooFewTogether):
        audiences.read(number, chairs["ada"])
    assert not HoldNotice.objects.exists()
    audiences.agree(number, chairs["bob"])
    assert audiences.read(number, chairs["ada"])


@pytest.mark.once
def test_what_somebody_has_handed_on_in_the_table_does_not_count(chairs: Chairs) -> None:
    assert not audiences.hand_on("chairs", chairs["ada"])
    row = SharedSecret.objects.get(epoch=1)
    said = bytes(row.said)
    put(SharedSecret, row.pk, said=said[:-1] + bytes([said[-1] ^ 1]))
    with pytest.raises(errors.AudienceForged):
        audiences.hand_on("chairs", chairs["bob"])


def test_with_a_new_key_of_the_server_all_goes_on_and_members_who_change_something_tag_anew(chairs: Chairs) -> None:
    reviewer = somebody("rae@example.org")
    review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    number, settings = audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case"), django_settings.EDNA
    former = settings["MAC_KEYS"]
    with override_settings(EDNA={**settings, "MAC_KEYS": ["another key of the server", *former]}):
        serverkeys.add(operator="")
        audiences.agree(number, chairs["bob"])
        assert audiences.read(number, chairs["ada"])
        chairs.join("ada", "dan")
        assert not audiences.hand_on("chairs", chairs["ada"])
        assert audiences.hand_on("chairs", chairs["bob"])
    with override_settings(EDNA={**settings, "MAC_KEYS": ["another key of the server"]}):
        assert [person.name for person in audiences.members("chairs")] == ["ada", "bob", "cyd", "dan"]
        assert membership.store.sharing("chairs", 2, using="default").epoch == 1
        with pytest.raises(errors.AudienceForged, match="MAC_KEYS"):
            audiences.agree(number, chairs["bob"])
