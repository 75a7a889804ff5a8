"""Bags are made over to keys that a browser has made: to those of whoever shows that they are theirs, all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import override_settings

import edna
from edna import errors, inner_door, store
from edna.crypto.keys import PublicKey
from edna.crypto.sealing import seal_small
from edna.engine.renewing import making_over
from edna.inner_door import MadeOver, NewKeys
from edna.records.bag import BagKind
from edna.records.speaksfor import SealedKey
from tests import handing
from tests.acceptance.conftest import lobsters, lobsters_tables, small_community  # noqa: F401  # fixtures
from tests.handing import Browser, keys_in_browsers, send_new_keys
from tests.integration.test_rotation import assert_opens_nothing
from tests.lobsters.community import Community, Member, state
from tests.lobsters.specs import ANON, CLEAR_MESSAGES, GDPR, HIDE_PROFILE
from tests.support import edna_dump, nothing_changes

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture(params=[False, True], ids=["alone", "in common"])
def several(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the site has rows of several owners, as far as a new key is concerned."""
    in_common: bool = request.param
    let_several_own(monkeypatch, in_common)
    return in_common


def let_several_own(monkeypatch: pytest.MonkeyPatch, in_common: bool) -> None:
    for module in (making_over, inner_door, handing):
        monkeypatch.setattr(module, "several_may_own", lambda: in_common)


@pytest.fixture(autouse=True)
def browser_custody() -> Iterator[None]:
    with override_settings(EDNA={**django_settings.EDNA, "CUSTODY": "browser"}):
        yield


def anew(member: Member) -> None:
    new = edna.SecretKey.generate()
    send_new_keys(*Browser(member.secret_key).for_new_key(new))
    member.secret_key = new


def keys_of(member: Member) -> list[edna.SecretKey]:
    return [holder.opener.secret_key for holder in Browser(member.secret_key).graph.holders.values()]


@pytest.mark.usefixtures("several")
def test_a_new_key_between_any_two_acts_changes_nothing_else(small_community: Community) -> None:  # noqa: F811
    """From the browser, from the server, and one after the other; what comes back does so to the byte."""
    ann, bob = small_community.ann, small_community.bob
    before, tables, old = state(), edna_dump(), []
    with keys_in_browsers():
        for act in (
            lambda: ann.applies(HIDE_PROFILE),
            lambda: small_community.everybody(ANON),
            lambda: bob.applies(GDPR, with_key=True),
            lambda: ann.applies(GDPR, with_key=True),
        ):
            act()
            old += keys_of(ann)
            anew(ann)
            assert_opens_nothing(old)
        old += keys_of(ann)
        with ann.unlock() as unlocked:
            registration = edna.rotate(unlocked)
        assert registration.secret_key is not None
        ann.secret_key = registration.secret_key
        anew(ann)
        assert_opens_nothing(old)
        for entry in ann.history():
            ann.reveal(entry.receipt)
            anew(ann)
    for member in (bob, small_community.cat, ann):
        member.reveal_everything()
    assert state() == before
    slots = {"edna_keyslot": tables["edna_keyslot"]}
    assert {name: len(rows) for name, rows in (edna_dump() | slots).items()} == {
        name: len(rows) for name, rows in tables.items()
    }


# Others' bags, and lies


def mine(community: Community) -> tuple[NewKeys, dict[bytes, edna.SecretKey]]:
    return Browser(community.ann.secret_key).for_new_key(edna.SecretKey.generate())


def with_bag_of(eve: NewKeys, receipt: edna.Receipt, *, key: PublicKey) -> NewKeys:
    """With a bag that the receipt leads to, as if it were one's own."""
    index = receipt.locator.index(BagKind.DIFF, 0)
    sealed = store.stored_bags([index], using="default")[index].sealed
    nonce = sealed[-int.from_bytes(sealed[3:7], "big") :][:24]
    made = MadeOver(eve.own, nonce, SealedKey(seal_small(b"x" * 32, recipient=key)))
    return replace(eve, bags={**eve.bags, index: made})


@pytest.mark.once
def test_nobody_has_anothers_bag_made_over_who_knows_its_receipt(small_community: Community) -> None:  # noqa: F811
    """Its index proves nothing; the server alone seals what is in a list."""
    ann, eve = small_community.ann, small_community.bob
    [receipt] = ann.applies(HIDE_PROFILE)[ann.pk]
    eve.applies(HIDE_PROFILE)
    new = edna.SecretKey.generate()
    asked, proved = Browser(eve.secret_key).for_new_key(new)
    with nothing_changes(), pytest.raises(errors.HandoverRefused):
        send_new_keys(with_bag_of(asked, receipt, key=new.public_key), proved)

    ann.reveal_everything()


def without_a_bag(asked: NewKeys) -> NewKeys:
    return replace(asked, bags=dict(list(asked.bags.items())[1:]))


def of_another_body(asked: NewKeys) -> NewKeys:
    return replace(asked, bags={index: replace(made, nonce=bytes(24)) for index, made in asked.bags.items()})


def without_a_list(asked: NewKeys) -> NewKeys:
    return replace(asked, lists={key: items for key, items in asked.lists.items() if key != asked.own})


def with_another_key_for_an_item(asked: NewKeys) -> NewKeys:
    items = asked.lists[asked.own]
    return replace(asked, lists={**asked.lists, asked.own: dict.fromkeys(items, bytes(32))})


def with_a_strangers_voice(asked: NewKeys) -> NewKeys:
    bags = {index: replace(made, voices={bytes(32): made.box}) for index, made in asked.bags.items()}
    return replace(asked, bags=bags)


def as_another_voices(asked: NewKeys) -> NewKeys:
    other = next(key for key in asked.keys if key != asked.own)
    return replace(asked, bags={index: replace(made, owner=other) for index, made in asked.bags.items()})


def with_made_up_notes(asked: NewKeys) -> NewKeys:
    return replace(asked, bags={index: replace(made, succession=[bytes(66)]) for index, made in asked.bags.items()})


@pytest.mark.once
@pytest.mark.parametrize(
    "changed",
    [
        without_a_bag,
        of_another_body,
        without_a_list,
        with_another_key_for_an_item,
        with_a_strangers_voice,
        as_another_voices,
        with_made_up_notes,
    ],
)
def test_what_does_not_fit_is_refused_as_a_whole(
    small_community: Community,  # noqa: F811
    changed: Callable[[NewKeys], NewKeys],
) -> None:
    small_community.ann.applies(ANON)
    asked, proved = mine(small_community)
    with nothing_changes(), pytest.raises(errors.HandoverRefused):
        send_new_keys(changed(asked), proved)


def without_a_content_key(asked: NewKeys) -> NewKeys:
    return replace(asked, bags={index: replace(made, content_key=None) for index, made in asked.bags.items()})


def without_a_voice(asked: NewKeys) -> NewKeys:
    return replace(asked, bags={index: replace(made, voices={}) for index, made in asked.bags.items()})


def without_somebody(asked: NewKeys) -> NewKeys:
    """Somebody for whom they speak stays as they are, in the bag, too."""
    other = next(key for key in asked.keys if key != asked.own)
    bags = {
        index: replace(made, voices={key: box for key, box in made.voices.items() if key != other})
        for index, made in asked.bags.items()
    }
    return replace(asked, keys={key: new for key, new in asked.keys.items() if key != other}, bags=bags)


@pytest.mark.once
@pytest.mark.parametrize("changed", [without_a_content_key, without_a_voice, without_somebody])
def test_where_several_own_rows_nobody_is_left_out(
    small_community: Community,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    changed: Callable[[NewKeys], NewKeys],
) -> None:
    """Their list may say that another owner is away."""
    let_several_own(monkeypatch, True)
    small_community.ann.applies(ANON)
    asked, proved = mine(small_community)
    with nothing_changes(), pytest.raises(errors.HandoverRefused):
        send_new_keys(changed(asked), proved)


@pytest.mark.once
def test_every_key_has_to_be_proved(small_community: Community) -> None:  # noqa: F811
    """The old ones and the new ones, the person's and those of their pseudoprincipals; and the new ones have to be new."""
    ann, bob = small_community.ann, small_community.bob
    ann.applies(ANON)
    asked, proved = mine(small_community)
    for former, new in list(asked.keys.items())[:3]:
        for key in (former, bytes(new)):
            with nothing_changes(), pytest.raises(errors.KeyNotProved):
                send_new_keys(asked, {public: secret for public, secret in proved.items() if public != key})
    taken = replace(asked, keys={**asked.keys, asked.own: bob.secret_key.public_key})
    with nothing_changes(), pytest.raises(errors.PrincipalAlreadyRegistered):
        send_new_keys(taken, proved | {bytes(bob.secret_key.public_key): bob.secret_key})
    pseudo = next(key for key in asked.keys if key != asked.own)
    with nothing_changes(), pytest.raises(errors.PrincipalNotRegistered):
        send_new_keys(replace(asked, own=pseudo), proved)


@pytest.mark.once
@pytest.mark.parametrize("what", ["disguise", "reveal", "another"])
def test_what_came_in_between_is_not_lost(small_community: Community, what: str) -> None:  # noqa: F811
    """A disguise, a reveal, or another new key since the browser looked: it is refused, and the next attempt takes all along."""
    ann, before = small_community.ann, state()
    [receipt] = ann.applies(HIDE_PROFILE)[ann.pk]
    ann.applies(ANON)
    asked, proved = mine(small_community)
    works: dict[str, Callable[[], Any]] = {
        "disguise": lambda: ann.disguise(CLEAR_MESSAGES),
        "reveal": lambda: ann.reveal(receipt),
        "another": lambda: anew(ann),
    }
    works[what]()
    refusals = errors.HandoverRefused, errors.PrincipalNotRegistered
    with nothing_changes(), pytest.raises(refusals):
        send_new_keys(asked, proved)
    old = keys_of(ann)
    anew(ann)
    assert_opens_nothing(old)
    ann.reveal_everything()
    assert state() == before


@pytest.mark.once
def test_where_receipts_may_be_the_only_way_there_is_none(small_community: Community, settings: Any) -> None:  # noqa: F811
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    with nothing_changes(), pytest.raises(errors.ReceiptsIncomplete):
        send_new_keys(*mine(small_community))
