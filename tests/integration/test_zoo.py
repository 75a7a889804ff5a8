"""The zoo has what it promises; and small stories that its machines have told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.core.checks import run_checks
from django.db import connection, models
from django.db.models import Model
from django.db.models.signals import post_save

import edna
from edna.operations.upkeep import residue
from edna.testing import Person, application_dump
from tests.support import cut_into_chunks, edna_dump
from tests.zoo import specs
from tests.zoo.fields import PointField
from tests.zoo.models import court, guild, press, shop, town
from tests.zoo.tables import PRINCIPALS, zoo, zoo_tables  # noqa: F401 - fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


def person(model: Any, **fields: Any) -> Person:
    user = model.objects.create(**fields)
    key = edna.register_principal(user).secret_key
    assert key is not None
    return Person(user, key)


def customer(number: int = 1) -> Person:
    return person(shop.Customer, username=f"customer {number}")


def test_what_was_changed_on_a_pseudoprincipal_goes_with_it(zoo: Any) -> None:  # noqa: F811
    """A global disguise modifies everybody's row, a pseudoprincipal's too; then that one is let go of."""
    one = customer()
    shop.Parcel.objects.create(customer=one.user, weight=2)
    before, clean = application_dump(), edna_dump()
    detached = edna.disguise_all("zoo.shop-detach")[0]
    edna.disguise_all("zoo.shop-forget")
    assert one.reveal(detached).complete
    while one.history():
        outcome = one.reveal(one.history()[0].receipt)
        assert outcome.complete, outcome
    assert application_dump() == before
    assert edna_dump() == clean


def party(number: int = 1) -> Person:
    return person(court.Party, name=f"party {number}")


def test_whoever_still_removes_a_shared_row_does_not_come_back_by_name(zoo: Any) -> None:  # noqa: F811
    """Hidden, then removed by everybody; the hiding is revealed first, and then the other owner brings the row back."""
    one, two = party(1), party(2)
    court.Message.objects.create(author=one.user, recipient=two.user, text="hello")
    before, clean = application_dump(), edna_dump()
    masked = one.disguise("zoo.court-mask")
    edna.disguise_all("zoo.court-clear")
    assert one.reveal(masked).complete
    two.reveal_everything()
    assert court.Message.objects.filter(recipient=two.user).exclude(author=one.user).exists()
    one.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == clean


def test_whom_two_disguises_lead_to_goes_with_the_second_receipt(zoo: Any) -> None:  # noqa: F811
    """A row of one person and of their own pseudoprincipal, of which both have left. Each receipt is used once."""
    one = party(1)
    court.Message.objects.create(author=one.user, recipient=one.user, text="hello")
    before, clean = application_dump(), edna_dump()
    receipts = [one.disguise("zoo.court-mask-sent"), one.disguise("zoo.court-fade")]
    for receipt in receipts:
        assert one.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == clean


def test_nothing_where_nothing_was_does_not_say_that_somebody_is_away(zoo: Any) -> None:  # noqa: F811
    """Both have left, and what they had is emptied; one leaves once more, with the key, and finds it empty. Then the other is back."""
    one, two = party(1), party(2)
    message = court.Message.objects.create(author=one.user, recipient=two.user, text="hello")
    court.Seal.objects.create(message=message, text="sealed")
    before, clean = application_dump(), edna_dump()
    first = one.disguise("zoo.court-fade")
    two.disguise("zoo.court-fade")
    two.disguise("zoo.court-fade", with_key=True)
    assert court.Seal.objects.get().text is None
    assert one.reveal(first).complete
    assert court.Seal.objects.get().text == "sealed"
    two.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == clean


def test_a_row_is_not_lost_although_a_change_of_it_was_handed_over(zoo: Any) -> None:  # noqa: F811
    """One has a message hushed, and hides their name; the other takes the message away, and then the account. The hushing waits for the
    other one, who reveals first what waits for the account: it comes back with that."""
    one, two = party(1), party(2)
    court.Message.objects.create(author=one.user, recipient=two.user, text="hello")
    before, clean = application_dump(), edna_dump()
    hushed, resigned = one.disguise("zoo.court-hush"), one.disguise("zoo.court-resign")
    removed, account = two.disguise("zoo.court-resign"), two.disguise("zoo.court-retire")
    assert [held.reason for held in one.reveal(hushed).held] == [edna.Reason.ROW_MISSING]
    assert one.reveal(resigned).complete
    assert two.reveal(removed).deferred == {"zoo.message": 1}
    assert two.reveal(account).complete
    assert court.Message.objects.get().text == "hello"
    one.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == clean


def test_a_change_of_a_row_that_was_handed_over_is_said_to_wait(zoo: Any) -> None:  # noqa: F811
    """One hushes a message, and leaves; the other one has taken it away, and comes back first: it waits for the one, to whom it is handed
    over. What the one brings back before the account is said to wait for the message."""
    one, two = party(1), party(2)
    court.Message.objects.create(author=one.user, recipient=two.user, text="hello")
    before = application_dump()
    hushed = one.disguise("zoo.court-hush")
    removed = two.disguise("zoo.court-retire")
    one.disguise("zoo.court-retire")
    assert [held.reason for held in two.reveal(removed).held] == [edna.Reason.OWNER_AWAY]
    outcome = one.reveal(hushed)
    assert [(held.reason, held.model) for held in outcome.held] == [(edna.Reason.ROW_MISSING, "zoo.message")]
    assert outcome.restored == {}
    one.reveal_everything()
    two.reveal_everything()
    assert application_dump() == before


def test_a_name_follows_a_row_whose_text_has_still_to_wait(zoo: Any) -> None:  # noqa: F811
    """Two give up a message, and its text goes when both have; then one of them takes it away. The other one comes back before it does:
    their name is there when it is, although the text waits for them."""
    one, two = party(1), party(2)
    court.Message.objects.create(author=one.user, recipient=two.user, text="hello")
    before, clean = application_dump(), edna_dump()
    faded = one.disguise("zoo.court-fade")
    two.disguise("zoo.court-fade")
    removed = two.disguise("zoo.court-resign", with_key=True)
    assert [held.reason for held in one.reveal(faded).held] == [edna.Reason.ROW_MISSING]
    assert two.reveal(removed).complete
    message = court.Message.objects.get()
    assert (message.author_id, message.text) == (one.user.pk, "[left]")
    two.reveal_everything()
    one.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == clean


def test_what_was_changed_beside_somebody_who_is_made_again_is_forgotten(zoo: Any) -> None:  # noqa: F811
    """A companion is written to with the key; then its pseudoprincipal is swept, and made again by another receipt."""
    one, two = guild_of("Ann", "Ben")
    guild.Piece.objects.create(master=two.user, journeyman=one.user, text="a chair")
    before, clean = application_dump(), edna_dump()
    first = one.disguise("zoo.guild-two-nobodies")
    hushed = one.disguise("zoo.guild-hush", with_key=True)
    again = one.disguise("zoo.guild-one-nobody", with_key=True)
    assert residue.sweep(made_by_hand=True).pseudoprincipals == 1
    for receipt in (again, hushed, first):
        if receipt in [entry.receipt for entry in one.history()]:
            assert one.reveal(receipt).complete
    assert one.history() == []
    assert application_dump() == before
    assert {**edna_dump(), "edna_lastrun": []} == clean


def guild_of(*names: str) -> list[Person]:
    ContentType.objects.get_for_models(*models_of())
    return [person(guild.Member, name=name) for name in names]


def test_a_chest_that_cannot_move_keeps_everything_beside_its_pseudoprincipal(zoo: Any) -> None:  # noqa: F811
    """Somebody has put a coin into it, and the owner has none. The sign beside it does not go alone: all of it goes with a chest."""
    (one,) = guild_of("Ann")
    guild.Tool.objects.create(member=one.user, text="a hammer")
    masked = one.disguise("zoo.guild-mask")
    nobody = guild.Tool.objects.get().member
    guild.Coin.objects.create(chest=nobody.chest, text="a coin")
    wreath = guild.Wreath.objects.create(sign=nobody.sign, text="a wreath")
    outcome = one.reveal(masked)
    assert [(held.model, held.pk, held.reason) for held in outcome.held] == [
        ("zoo.chest", nobody.pk, edna.Reason.CONSTRAINT)
    ]
    assert guild.Sign.objects.get().member == nobody
    assert guild.Tool.objects.get().member == one.user
    guild.Chest.objects.create(member=one.user)
    assert one.reveal(masked).complete
    assert guild.Coin.objects.get().chest == one.user.chest
    assert guild.Sign.objects.get() == wreath.sign == one.user.sign
    assert guild.Member.objects.get() == one.user


def test_who_stays_stands_for_the_owner_of_whoever_goes(zoo: Any) -> None:  # noqa: F811
    """A pseudoprincipal of a pseudoprincipal: both wait in the bag of the account, and one of them goes with it."""
    (one,) = guild_of("Ann")
    guild.Tool.objects.create(member=one.user, text="a hammer")
    masked = one.disguise("zoo.guild-mask")
    first = guild.Tool.objects.get().member
    (again,) = edna.disguise_all("zoo.guild-one-nobody")
    left = one.disguise("zoo.guild-leave", with_key=True)
    guild.Coin.objects.create(chest=guild.Tool.objects.get().member.chest, text="a coin")
    passing = guild.Coin.objects.create(chest=first.chest, text="another one")
    assert one.reveal(masked).complete
    assert one.reveal(again).complete
    passing.delete()
    assert [held.reason for held in one.reveal(left).held] == [edna.Reason.CONSTRAINT]
    assert not guild.Member.objects.filter(pk=first.pk).exists()
    guild.Chest.objects.create(member=one.user)
    assert one.reveal(left).complete
    assert guild.Coin.objects.get().chest == guild.Chest.objects.get()


@pytest.mark.parametrize("own", [True, False])
def test_what_was_changed_in_a_chest_that_was_swept_is_not_taken_for_its_owners(own: bool, zoo: Any) -> None:  # noqa: F811
    """Its key was its pseudoprincipal's; and what names one that goes names the owner from then on."""
    (one,) = guild_of("Ann")
    guild.Tool.objects.create(member=one.user, text="a hammer")
    if own:
        guild.Chest.objects.create(member=one.user, lock="of brass")
    before = application_dump()
    receipts = [one.disguise("zoo.guild-one-nobody")]
    receipts += [one.disguise(name, with_key=True) for name in ("zoo.guild-one-nobody", "zoo.guild-hush")]
    assert residue.sweep(made_by_hand=True).pseudoprincipals == 1
    for receipt in receipts:
        assert one.reveal(receipt).complete
    assert application_dump() == before


def test_who_is_spared_gives_up_the_sign_on_which_something_hangs(zoo: Any) -> None:  # noqa: F811
    """A pseudoprincipal that somebody else's disguise has given away stays, when its person leaves with the key, and the wreath on its sign
    goes. Then it is swept, and its sign would be another one."""
    (one,) = guild_of("Ann")
    guild.Tool.objects.create(member=one.user, text="a hammer")
    before = application_dump()
    first = one.disguise("zoo.guild-one-nobody")
    guild.Wreath.objects.create(sign=guild.Tool.objects.get().member.sign, text="a wreath")
    (again,) = edna.disguise_all("zoo.guild-mask")
    left = one.disguise("zoo.guild-leave", with_key=True)
    assert one.reveal(again).complete
    assert residue.sweep(made_by_hand=True).pseudoprincipals == 1
    assert one.reveal(left).complete
    assert one.reveal(first).complete
    assert guild.Wreath.objects.get().sign.member == one.user
    guild.Wreath.objects.all().delete()
    guild.Sign.objects.all().delete()
    assert application_dump() == before
    assert one.history() == []


@pytest.mark.parametrize("with_key", [True, False])
@pytest.mark.parametrize("chunk", [1, 100])
def test_who_waits_for_a_sign_waits_for_what_was_tied_to_nobodys_as_well(
    with_key: bool,
    chunk: int,
    zoo: Any,  # noqa: F811
) -> None:
    """Somebody else has tied a ribbon there and is back: it goes to the owner's sign. The owner's own lies in an earlier chunk."""
    one, two = guild_of("Ann", "Ben")
    guild.Sign.objects.create(member=two.user)
    guild.Piece.objects.create(master=one.user, journeyman=two.user, text="a chair")
    masked = two.disguise("zoo.guild-two-nobodies")
    for giver in (one, two):
        sign = guild.Piece.objects.get().journeyman.sign
        guild.Ribbon.objects.create(sign=sign, giver=giver.user, text="a ribbon")
    gone = one.disguise("zoo.guild-leave", with_key=True)
    with cut_into_chunks(chunk):
        left = two.disguise("zoo.guild-leave", with_key=with_key)
    one.reveal(gone)  # where the sign of nobody lies with the other one, the ribbon waits for that
    assert two.reveal(masked).complete
    assert two.reveal(left).complete
    one.reveal_everything()
    assert [ribbon.sign.member for ribbon in guild.Ribbon.objects.all()] == [two.user, two.user]
    assert two.history() == []


def test_what_lies_over_a_text_keeps_a_name_out_of_it_although_it_found_none(zoo: Any) -> None:  # noqa: F811
    """A name is taken out of a text, which another owner empties; then everybody's is looked for again, in vain. The other one changed the
    text last, and still waits for the first: that one's change of the same moment lies over what the other has emptied."""
    one, two = (person(press.Writer, name=name) for name in ("Ann", "Ben"))
    press.Duet.objects.create(first=one.user, second=two.user, text="Ann and Ben")
    before = application_dump()
    one.disguise("zoo.press-unname")
    emptied = two.disguise("zoo.press-redact")
    edna.disguise_all("zoo.press-unname")
    (again,) = [entry.receipt for entry in two.history() if entry.receipt.disguise == "zoo.press-unname"]
    assert two.reveal(again).complete
    assert [held.reason for held in two.reveal(emptied).held] == [edna.Reason.OWNER_AWAY]
    assert press.Duet.objects.get().text == "[redacted]"
    one.reveal_everything()
    assert application_dump() == before
    assert two.reveal(emptied).complete


def test_a_text_waits_for_whoever_changed_it_beneath_somebody_else(zoo: Any) -> None:  # noqa: F811
    """A name is in a text that its two owners empty. One of them has a pseudoprincipal there, whose change lies over the other one's each
    time that everybody's name is looked for. However their own disguises are put together, the text waits for the other one."""
    one, two = (person(press.Writer, name=name) for name in ("Ann", "Ben"))
    press.Duet.objects.create(first=two.user, second=one.user, text="Ben and Ben")
    before = application_dump()
    emptied = edna.disguise_all("zoo.press-redact")
    edna.disguise_all("zoo.press-unname")
    disowned = one.disguise("zoo.press-disown", with_key=True)
    for person_, disguise in ((one, "zoo.press-redact"), (two, "zoo.press-unname"), (two, "zoo.press-redact")):
        (receipt,) = [entry.receipt for entry in person_.history() if entry.receipt.disguise == disguise]
        person_.reveal(receipt)
    assert emptied
    edna.disguise_all("zoo.press-unname")
    one.reveal(disowned)
    edna.disguise_all("zoo.press-unname")
    for entry in reversed(one.history()):
        one.reveal(entry.receipt)
    assert press.Duet.objects.get().text == "[redacted]"
    two.reveal_everything()
    one.reveal_everything()
    assert application_dump() == before


def test_what_was_handed_over_waits_for_the_keys_in_all_chunks(zoo: Any) -> None:  # noqa: F811
    """A text waits for its other owner, who has told the pseudoprincipal in the first chunk. Another chunk comes back before that one is
    read, and does not bring the text back."""
    one, two = (person(press.Writer, name=name) for name in ("Ann", "Ben"))
    press.Duet.objects.create(first=one.user, second=two.user, text="Ann and Ben")
    press.Duet.objects.create(first=one.user, second=one.user, text="Ann alone")
    before = application_dump()
    edna.disguise_all("zoo.press-redact")
    (emptied,) = [entry.receipt for entry in one.history()]
    with cut_into_chunks(1):
        disowned = one.disguise("zoo.press-disown")
    two.disguise("zoo.press-unname")
    assert [held.reason for held in one.reveal(emptied).held] == [edna.Reason.OWNER_AWAY]
    one.reveal(disowned)
    assert press.Duet.objects.order_by("pk")[0].text == "[redacted]"
    two.reveal_everything()
    one.reveal_everything()
    assert application_dump() == before


def test_a_pseudoprincipal_that_has_something_in_its_list_stays_and_so_do_references_to_it(zoo: Any) -> None:  # noqa: F811
    """Whoever leaves with the key takes their pseudoprincipals along, and what names them is emptied; not of one that may be needed."""
    one, two = party(1), party(2)
    court.Moderation.objects.create(moderator=one.user, user=two.user, reason="spam")
    court.Moderation.objects.create(moderator=one.user, user=two.user, reason="rude")
    before, clean = application_dump(), edna_dump()
    edna.disguise_all("zoo.court-mask")
    needed, free = court.Moderation.objects.order_by("pk")
    edna.disguise("zoo.court-hush", needed.moderator)
    one.disguise("zoo.court-depart", with_key=True)
    assert court.Moderation.objects.get(pk=needed.pk).moderator == needed.moderator
    assert court.Moderation.objects.get(pk=free.pk).moderator is None
    assert not court.Party.objects.filter(pk=free.moderator_id).exists()
    for each in (one, two):
        each.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == clean


def test_a_change_between_two_equal_disguises_is_not_overwritten(zoo: Any) -> None:  # noqa: F811
    """What stands there is what the second disguise wrote; the application's change lies between them."""
    one = customer()
    quote = shop.Quote.objects.create(customer=one.user, text="first")
    early = one.disguise("zoo.shop-hush")
    shop.Quote.objects.filter(pk=quote.pk).update(text="changed since")
    late = one.disguise("zoo.shop-hush")
    outcome = one.reveal(early)
    assert [(held.pk, held.reason, held.field) for held in outcome.held] == [(quote.pk, edna.Reason.CHANGED, "text")]
    assert one.reveal(late).complete
    assert shop.Quote.objects.get().text == "changed since"


def test_a_record_folds_into_the_next_one_only(zoo: Any) -> None:  # noqa: F811
    """As before, with a third disguise that found what the second one had written."""
    one = customer()
    quote = shop.Quote.objects.create(customer=one.user, text="first")
    early = one.disguise("zoo.shop-hush")
    shop.Quote.objects.filter(pk=quote.pk).update(text="changed since")
    late = one.disguise("zoo.shop-hush")
    latest = one.disguise("zoo.shop-hush")
    assert [held.reason for held in one.reveal(early).held] == [edna.Reason.CHANGED]
    assert one.reveal(latest).complete
    assert one.reveal(late).complete
    assert shop.Quote.objects.get().text == "changed since"


def test_what_waits_for_another_disguise_leaves_nothing_behind(zoo: Any) -> None:  # noqa: F811
    """A row that names somebody else's pseudoprincipal moves into the bag that it waits for, and what leads to that name, too."""
    ContentType.objects.get_for_models(*models_of())
    writer = person(town.Citizen, email="writer@example.org")
    guest = person(town.Citizen, email="guest@example.org")
    post = town.Post.objects.create(author=writer.user, title="post", body="x")
    decree = town.Decree.objects.create(mayor_id=guest.user.pk, text="x")
    guest.disguise("zoo.town-hide")
    decree.refresh_from_db()
    # Said as somebody else: no record says that this is the guest's.
    comment = town.Comment.objects.create(author_id=decree.mayor_id, post=post, text="x")
    unpublished = writer.disguise("zoo.town-unpublish")
    writer.disguise("zoo.town-leave")
    assert writer.reveal(unpublished).complete
    assert [entry.name for entry in writer.history()] == ["zoo.town-leave"]
    guest.reveal_everything()
    for entry in reversed(writer.history()):
        assert writer.reveal(entry.receipt).complete
    comment.refresh_from_db()
    assert comment.author_id == guest.user.pk


# What there is


def models_of(app_label: str = "zoo") -> list[type[Model]]:
    return list(apps.get_app_config(app_label).get_models(include_auto_created=True, include_swapped=True))


def columns(model: type[Model]) -> list[Any]:
    return list(model._meta.local_concrete_fields)


def keys(model: type[Model]) -> list[Any]:
    return [each for each in columns(model) if isinstance(each, models.ForeignKey)]


def refers_to_principal(column: Any) -> bool:
    return column.related_model._meta.label_lower in PRINCIPALS


def steps_on(model: type[Model], kind: type[Any]) -> list[Any]:
    return [
        s for cls in specs.ALL if hasattr(cls, "steps") for s in cls.steps() if s.model is model and isinstance(s, kind)
    ]


def owner_columns(model: type[Model]) -> list[Any]:
    return [each for each in keys(model) if refers_to_principal(each)]


def on_delete(rule: Any) -> Callable[[type[Model]], bool]:
    return lambda model: any(each.remote_field.on_delete is rule for each in owner_columns(model))


def unique_names(model: type[Model]) -> set[str]:
    groups = [
        c.fields for c in model._meta.constraints if isinstance(c, models.UniqueConstraint) and c.condition is None
    ]
    return {name for group in (*groups, *model._meta.unique_together) for name in group}


#: What the zoo has to have, and how a model shows that it is an example of it.
FEATURES: dict[str, Callable[[type[Model]], Any]] = {
    "two owners": lambda m: any(len(s.owners) == 2 for s in steps_on(m, edna.Remove)),
    "three owners": lambda m: any(len(s.owners) == 3 for s in steps_on(m, edna.Remove)),
    "a shared row with an owner that may be NULL": lambda m: (
        len(owner_columns(m)) > 1 and any(each.null for each in owner_columns(m))
    ),
    "a sentinel owner": lambda m: any(each.default == 0 and not each.db_constraint for each in owner_columns(m)),
    "owned by a path": lambda m: any("__" in owner for s in steps_on(m, edna.Remove) for owner in s.owners),
    "owned by several paths": lambda m: len({o for s in steps_on(m, edna.Remove) for o in s.owners if "__" in o}) > 1,
    "a tree": lambda m: any(each.related_model is m for each in keys(m)),
    "the owner in a unique constraint": lambda m: unique_names(m) & {each.name for each in owner_columns(m)},
    "the owner in a composite primary key": lambda m: set(getattr(m._meta, "pk_fields", ())) & set(owner_columns(m)),
    "the owner is the primary key": lambda m: m._meta.pk in owner_columns(m),
    "a principal with a whole number as key": lambda m: principal_with(m, models.BigAutoField),
    "a principal with a natural key": lambda m: principal_with(m, models.CharField),
    "a principal with a UUID": lambda m: principal_with(m, models.UUIDField),
    "a natural key that others refer to": lambda m: (
        isinstance(m._meta.pk, models.CharField) and not principal_with(m, models.CharField)
    ),
    "a reference to another column than the key": lambda m: any(
        not e.target_field.primary_key for e in owner_columns(m)
    ),
    "a proxy of a principal": lambda m: m._meta.proxy and m._meta.concrete_model._meta.label_lower in PRINCIPALS,
    "a reference to a proxy": lambda m: any(each.related_model._meta.proxy for each in keys(m)),
    "a swapped user model": lambda m: m._meta.swapped,
    "a multi-table child": lambda m: m._meta.parents and not m._meta.proxy,
    "a path through a multi-table parent": lambda m: any(
        each.related_model in {p for other in models_of() for p in other._meta.parents} and "__" in owner
        for each in keys(m)
        for s in steps_on(m, edna.Remove)
        for owner in s.owners
    ),
    "a many-to-many table with a model": lambda m: any(
        f.remote_field.through is m and not m._meta.auto_created
        for other in models_of()
        for f in other._meta.many_to_many
    ),
    "a hidden many-to-many table": lambda m: m._meta.auto_created,
    "a GenericForeignKey": lambda m: any(isinstance(f, GenericForeignKey) for f in m._meta.private_fields),
    "a GenericRelation": lambda m: any(isinstance(f, GenericRelation) for f in m._meta.private_fields),
    "a profile that a signal makes": lambda m: (
        isinstance(m._meta.pk, models.OneToOneField)
        and m._meta.pk.related_model in {sender for sender in models_of() if post_save.has_listeners(sender)}
    ),
    "CASCADE": on_delete(models.CASCADE),
    "SET_NULL": on_delete(models.SET_NULL),
    "SET_DEFAULT": on_delete(models.SET_DEFAULT),
    "SET": lambda m: any(getattr(e.remote_field.on_delete, "deconstruct", None) for e in owner_columns(m)),
    "PROTECT": on_delete(models.PROTECT),
    "RESTRICT": on_delete(models.RESTRICT),
    "DO_NOTHING": on_delete(models.DO_NOTHING),
    "no constraint in the database": lambda m: any(not each.db_constraint for each in keys(m)),
    "unmanaged": lambda m: not m._meta.managed,
    "a manager that hides rows": lambda m: type(m._default_manager) is not models.Manager and not m._meta.swapped,
    "a column of another name": lambda m: any(e.column not in (e.attname, e.name) for e in columns(m)),
    "a custom field": lambda m: any(isinstance(each, PointField) for each in columns(m)),
    "a generated field": lambda m: any(isinstance(each, models.GeneratedField) for each in columns(m)),
    "automatic times": lambda m: (
        any(getattr(e, "auto_now", False) for e in columns(m))
        and any(getattr(e, "auto_now_add", False) for e in columns(m))
    ),
    "a check constraint": lambda m: any(isinstance(c, models.CheckConstraint) for c in m._meta.constraints),
    "a conditional unique constraint": lambda m: any(getattr(c, "condition", None) for c in m._meta.constraints),
    "a deferred constraint": lambda m: (
        any(getattr(c, "deferrable", None) for c in m._meta.constraints)
        or (m is shop.Slot and connection.vendor != "postgresql")
    ),
    "a file": lambda m: any(isinstance(each, models.FileField) for each in columns(m)),
}


def principal_with(model: type[Model], key: type[Any]) -> bool:
    return model._meta.label_lower in PRINCIPALS and isinstance(model._meta.pk, key)


@pytest.mark.once
@pytest.mark.parametrize("feature", FEATURES)
def test_the_zoo_has(zoo: Any, feature: str) -> None:  # noqa: F811
    assert [model.__name__ for model in models_of() if FEATURES[feature](model)]


@pytest.mark.once
def test_the_zoo_has_at_least_25_models_and_every_reference_policy(zoo: Any) -> None:  # noqa: F811
    tables = {model._meta.db_table for model in models_of() if not model._meta.swapped}
    assert len(tables) >= 25
    policies = {policy for cls in specs.ALL for policy in getattr(cls, "references", {}).values()}
    assert policies == {"delete", "retain"}  # and "restore", which is the default


@pytest.mark.once
def test_the_zoos_disguises_pass_the_checks(zoo: Any) -> None:  # noqa: F811
    found = [each for each in run_checks() if each.id.startswith("edna.E") and "zoo" in str(each.obj)]
    assert found == []
