"""Audiences that get too small, are deleted, or replaced: nobody is told of a hold that nobody can use, and what has become of an audience
keeps nobody from coming back."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

import edna
from apps.websubmit.models import User
from edna import audiences, devices, errors
from edna.audiences.models import AudienceUpdate, HeldCopy, HoldPart, HoldRequest, SharedSecret
from edna.crypto.keys import SecretKey
from edna.crypto.sealing import open_small, seal_small
from edna.operations import audit
from edna.testing import Person, application_dump
from tests.audiences.test_holds import Chairs, WithChairs, chairs, declared, names_in, review_of, reviewer, somebody
from tests.audiences.test_verified import found

pytestmark = [pytest.mark.django_db, pytest.mark.once]

__all__ = ["chairs", "declared", "reviewer"]


def disguised(person: Person) -> Any:
    """Their review, which is a placeholder's now."""
    review = review_of(person)
    edna.disguise(WithChairs.name, person.user)
    review.refresh_from_db()
    return review


def test_below_the_number_that_acts_together_a_disguise_is_refused_and_nothing_has_changed(
    chairs: Chairs, reviewer: Person
) -> None:
    """Whoever is to go goes all the same; but nobody is told that two can read what one alone is left for."""
    review_of(reviewer)
    before = application_dump()
    chairs.leave("ada", "bob")
    assert audiences.is_usable("chairs")
    chairs.leave("ada", "cyd")
    assert not audiences.is_usable("chairs")
    with pytest.raises(errors.AudienceTooSmall) as refused:
        edna.disguise(WithChairs.name, reviewer.user)
    assert (refused.value.have, refused.value.need) == (1, 2)
    assert "1 member with a share is left" in str(refused.value)
    assert application_dump() == before
    assert not HeldCopy.objects.exists()
    # Whoever comes has no share, and one alone hands none on.
    chairs.join("ada", "dan")
    assert not audiences.is_usable("chairs")
    with pytest.raises(errors.AudienceTooSmall):
        audiences.hand_on("chairs", chairs["ada"])
    # Whoever had one and comes back has it still.
    audiences.join("chairs", chairs["ada"], "bob", chairs.new["bob"].card)
    assert audiences.is_usable("chairs")
    assert edna.disguise(WithChairs.name, reviewer.user)


def test_shares_that_were_handed_on_count_for_who_is_there(chairs: Chairs, reviewer: Person) -> None:
    chairs.join("ada", "dan")
    chairs.leave("ada", "bob")
    audiences.hand_on("chairs", chairs["ada"])
    assert audiences.hand_on("chairs", chairs["cyd"])
    chairs.leave("dan", "ada")
    assert audiences.is_usable("chairs")
    review = disguised(reviewer)
    number = audiences.ask("chairs", chairs["dan"], review.contact, reason="case")
    audiences.agree(number, chairs["cyd"])
    assert audiences.read(number, chairs["dan"])


def test_an_audience_that_is_too_small_or_gone_keeps_nobody_from_a_new_key_and_from_coming_back(
    chairs: Chairs, reviewer: Person
) -> None:
    receipts = []
    for _ in range(2):
        review = review_of(reviewer)
        receipts.append(edna.disguise(WithChairs.name, reviewer.user))
    chairs.leave("ada", "bob")
    chairs.leave("ada", "cyd")
    with reviewer.unlock() as unlocked:
        renewed = edna.rotate(unlocked)
    assert HeldCopy.objects.exists()
    audiences.delete("chairs", lose_held=True)
    # One that cannot come back as a whole is sealed again.
    review.refresh_from_db()
    type(review).objects.filter(pk=review.pk).update(contact=somebody("mia@example.org").user)
    with edna.unlock(secret_key=renewed.secret_key) as unlocked:
        assert edna.reveal(receipts[0], unlocked).complete
        assert edna.reveal(receipts[1], unlocked).held
        renewed = edna.rotate(unlocked)
    assert not HeldCopy.objects.exists()


def test_shares_that_somebody_took_away_keep_nobody_from_a_new_key(chairs: Chairs, reviewer: Person) -> None:
    """Past edna: what is held would not go with them."""
    disguised(reviewer)
    SharedSecret.objects.all().delete()
    with reviewer.unlock() as unlocked:
        assert edna.rotate(unlocked).secret_key


def test_what_is_held_opens_after_the_persons_devices_have_changed(chairs: Chairs, reviewer: Person) -> None:
    """Bags get other recipients then, and no other content."""
    review = disguised(reviewer)
    with reviewer.unlock() as unlocked:
        laptop = devices.create(unlocked, name="laptop")
    devices.update(laptop)
    number = audiences.ask("chairs", chairs["ada"], review.contact, reason="case")
    audiences.agree(number, chairs["bob"])
    assert names_in(audiences.read(number, chairs["ada"])) == {("hotcrp_sim.contactinfo", str(reviewer.user.pk))}


def test_what_was_disguised_before_a_declaration_stays_the_persons_alone(
    chairs: Chairs, reviewer: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it is sealed again later: they were told that nobody else can read it."""
    review_of(reviewer)
    with monkeypatch.context() as patch:
        patch.setattr(WithChairs, "audience", None)
        edna.disguise(WithChairs.name, reviewer.user)
    with reviewer.unlock() as unlocked:
        edna.rotate(unlocked)
    assert not HeldCopy.objects.exists()
    with pytest.raises(errors.HeldCopyRefused):
        audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case")


@pytest.mark.parametrize(
    ("rows", "change", "said"),
    [
        (SharedSecret, {}, "nobody can tell"),
        (SharedSecret, {"audience": "judges"}, "nobody can tell"),
        (HeldCopy, {"shared_by": bytes(16)}, "nobody can tell"),
        (AudienceUpdate, {}, "copies are held"),
    ],
    ids=["shares gone", "shares renamed", "copies of nobody", "updates gone"],
)
def test_who_writes_to_the_tables_has_nobody_delete_what_is_held_unasked(
    chairs: Chairs, reviewer: Person, rows: type[Any], change: dict[str, Any], said: str
) -> None:
    """What was changed can come back from a backup, and members read what is held then."""
    review = disguised(reviewer)
    former = list(rows.objects.all())
    if change:
        rows.objects.update(**change)
    else:
        rows.objects.all().delete()
    with pytest.raises(errors.AudienceInUse, match=said):
        audiences.delete("chairs")
    for row in former:
        row.save()
    number = audiences.ask("chairs", chairs["ada"], review.contact, reason="case")
    audiences.agree(number, chairs["bob"])
    assert audiences.read(number, chairs["ada"])


def test_copies_of_another_audience_keep_nobody_from_deleting_one(chairs: Chairs, reviewer: Person) -> None:
    others = {name: audiences.new_member() for name in ("zoe", "yan")}
    audiences.create("judges", others["zoe"].secret_key, {name: each.card for name, each in others.items()})
    disguised(reviewer)
    assert audiences.delete("judges") == 0


def test_nothing_new_takes_the_place_of_one_whose_updates_were_taken_away(
    chairs: Chairs, reviewer: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its shares would go, and with them what is held. Operators see it, and can delete what is left."""
    disguised(reviewer)
    AudienceUpdate.objects.all().delete()
    assert not audiences.is_usable("chairs")
    with pytest.raises(errors.AudienceUnknown):
        edna.disguise(WithChairs.name, somebody("mia@example.org").user)
    with pytest.raises(errors.AudienceExists, match="taken its updates away"):
        Chairs("eve", "fay")
    with pytest.raises(CommandError):
        call_command("edna_audiences", "list")
    assert "chairs: AudienceUnknown" in capsys.readouterr().err
    assert audiences.delete("chairs", lose_held=True)
    assert not SharedSecret.objects.exists()
    Chairs("eve", "fay")


def test_an_audience_is_deleted_once_nothing_is_held_or_that_is_to_be_lost(chairs: Chairs, reviewer: Person) -> None:
    other = Chairs.__new__(Chairs)
    other.new = {"zoe": audiences.new_member(), "yan": audiences.new_member()}
    audiences.create("judges", other["zoe"], {name: each.card for name, each in other.new.items()})
    review = disguised(reviewer)
    audiences.ask("chairs", chairs["ada"], review.contact, reason="case")
    held = HeldCopy.objects.count()
    with pytest.raises(errors.AudienceInUse, match=f"{held} copies are held"):
        audiences.delete("chairs")
    assert audiences.is_there("chairs")
    assert audiences.delete("chairs", operator="olga", lose_held=True) == held
    for model in (HeldCopy, HoldRequest, HoldPart):
        assert not model.objects.exists()
    for model in (AudienceUpdate, SharedSecret):
        assert set(model.objects.values_list("audience", flat=True)) == {"judges"}
    with pytest.raises(errors.AudienceUnknown):
        audiences.delete("chairs")
    (entry, *_) = audit.entries(most=1)
    assert (entry.action, entry.operator, entry.details) == (
        "audience-deleted",
        "olga",
        {"audience": "chairs", "held": held},
    )
    assert audiences.delete("judges") == 0


def test_one_that_was_deleted_and_is_put_back_is_found_and_a_new_one_of_its_name_is_not(chairs: Chairs) -> None:
    chairs.join("ada", "dan")
    rows = [*AudienceUpdate.objects.all(), *SharedSecret.objects.all()]
    audiences.delete("chairs")
    assert found() == {}
    for row in rows:
        row.save(force_insert=True)
    assert found() == {"set_back": ["chairs", "chairs, 2 together"]}
    for row in rows:
        row.delete()
    Chairs("eve", "fay")
    assert found() == {}


def test_people_are_replaced_and_the_new_ones_read_what_was_held_before(chairs: Chairs, reviewer: Person) -> None:
    """Taken in, shares handed on to them, the former ones taken out, and handed on once more."""
    review = disguised(reviewer)
    for name in ("dan", "eve"):
        chairs.join("ada", name)
    audiences.hand_on("chairs", chairs["ada"])
    assert audiences.hand_on("chairs", chairs["bob"])
    everybody = {person.name: person.id for person in audiences.members("chairs")}
    audiences.leave_many("chairs", chairs["dan"], [everybody[name] for name in ("ada", "bob", "cyd")])
    audiences.hand_on("chairs", chairs["dan"])
    assert audiences.hand_on("chairs", chairs["eve"])
    number = audiences.ask("chairs", chairs["eve"], review.contact, reason="case")
    audiences.agree(number, chairs["dan"])
    assert names_in(audiences.read(number, chairs["eve"])) == {("hotcrp_sim.contactinfo", str(reviewer.user.pk))}


def test_a_name_that_is_taken_is_refused_as_that(chairs: Chairs) -> None:
    stranger = audiences.new_member()
    with pytest.raises(errors.AudienceExists, match="already"):
        audiences.create("chairs", stranger.secret_key, {"Zoe": stranger.card, "Ada": chairs.new["ada"].card})


def test_how_many_act_together_is_refused_in_words_of_audiences() -> None:
    one, other = audiences.new_member(), audiences.new_member()
    with pytest.raises(errors.ConfigurationError, match="An audience of 1 has no 2 who act together"):
        audiences.create("judges", one.secret_key, {"Ada": one.card})
    with pytest.raises(errors.ConfigurationError, match="no 1 who act together"):
        audiences.create("judges", one.secret_key, {"Ada": one.card, "Bob": other.card}, together=1)


def test_nobody_comes_who_would_be_one_too_many_to_share_with() -> None:
    """Shares could not be handed on any more, and who goes would keep theirs."""
    first, *others = (audiences.new_member() for _ in range(256))
    cards = {str(number): each.card for number, each in enumerate([first, *others])}
    with pytest.raises(errors.AudienceRefused, match="at most 255 members, and this would be 256"):
        audiences.create("crowd", first.secret_key, cards)
    late = cards.popitem()[1]
    audiences.create("crowd", first.secret_key, cards)
    with pytest.raises(errors.AudienceRefused, match="at most 255"):
        audiences.join("crowd", first.secret_key, "late", late)


def test_a_whole_committee_reads_each_alone_what_is_sealed_to_it(client: Client) -> None:
    """Nothing is held for it, so that nothing has to be shared; whoever goes opens nothing that is sealed later."""
    new = [audiences.new_member() for _ in range(450)]
    cards = {f"member {number}": each.card for number, each in enumerate(new)}
    audiences.create("committee", new[0].secret_key, cards, together=None)
    before = seal_small(b"before", recipient=audiences.public_key("committee"))
    late = audiences.new_member()
    audiences.join("committee", new[449].secret_key, "late", late.card)
    people = audiences.members("committee")
    assert (len(people), any(each.has_share for each in people)) == (451, False)
    audiences.leave("committee", late.secret_key, audiences.member("committee", new[7].secret_key).id)
    after = seal_small(b"after", recipient=audiences.public_key("committee"))
    for each in (new[0], new[300], late):
        newest, *former = audiences.secret_keys("committee", each.secret_key)
        assert open_small(after, secret_key=newest) == b"after"
        assert any(opens(before, secret_key) for secret_key in former)
    with pytest.raises(errors.NotInAudience):
        audiences.secret_keys("committee", new[7].secret_key)
    assert not audiences.is_usable("committee")
    with pytest.raises(errors.AudienceRefused, match="at most 255"):
        audiences.create("committee", new[0].secret_key, {}, together=2)
    with pytest.raises(errors.AudienceRefused, match="already"):
        audiences.create("committee", new[0].secret_key, {}, together=None)
    assert found() == {}
    client.force_login(User.objects.create_user("olga@example.org", is_admin=True))
    page = client.get(reverse("admin:edna_audiences_audienceoverview_changelist")).content.decode()
    assert "Nothing is held for it." in page
    assert "no share yet" not in page
    assert audiences.delete("committee") == 0


def opens(sealed: bytes, secret_key: SecretKey) -> bool:
    try:
        return open_small(sealed, secret_key=secret_key) == b"before"
    except errors.WrongKey:
        return False


def test_who_goes_is_said_by_id_and_each_refusal_says_what_is_wrong(chairs: Chairs) -> None:
    bob = next(person.id for person in audiences.members("chairs") if person.name == "bob")
    ada = audiences.member("chairs", chairs["ada"]).id
    for gone, said in (
        ("bob", "'bob' is no id"),
        (ada, "Nobody takes themselves out"),
        (bytes(16), f"Member {bytes(16).hex()} is not in"),
    ):
        with pytest.raises(errors.AudienceRefused, match=said):
            audiences.leave("chairs", chairs["ada"], gone)
    audiences.leave("chairs", chairs["ada"], bob.hex())
    assert [person.name for person in audiences.members("chairs")] == ["ada", "cyd"]


def test_one_asks_about_a_row(chairs: Chairs) -> None:
    with pytest.raises(errors.HeldCopyRefused, match="this is a int"):
        audiences.ask("chairs", chairs["ada"], 9, reason="case")  # type: ignore[arg-type]
