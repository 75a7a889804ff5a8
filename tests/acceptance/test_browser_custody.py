"""Browser custody: what a browser hands over does what its owner's key does, and the server sees no more than that.

`tests.handing` plays the browser. The promises of `test_composition` are walked through again with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations

import pytest
from django.conf import settings
from django.db import transaction
from django.test import override_settings

import edna
from edna import inner_door
from edna.crypto.keys import ContentKey, SecretKey
from edna.crypto.sealing import open_with_content_key
from edna.errors import HandoverRefused, SecretKeyNeeded
from edna.inner_door import Handover
from edna.models import Bag
from edna.records.speaksfor import SealedKey
from tests.acceptance import test_composition as composition
from tests.handing import Browser, keys_in_browsers, without_keys
from tests.lobsters.community import Community, Member, state
from tests.lobsters.models import Story
from tests.lobsters.specs import ANON, BY_URL, CLEAR_MESSAGES, GDPR, TOPIC
from tests.support import cut_into_chunks, edna_dump

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]

IN_ANY_ORDER: list[Callable[[Community, bool], None]] = [
    composition.test_08_anon_gdpr_revealed_gdpr_first_is_pseudonymous_in_between,
    composition.test_09_anon_gdpr_revealed_anon_first_restores_nothing_visible_until_gdpr,
    composition.test_14_a_recorded_update_between_disguise_and_reveal_holds_for_the_revealed_rows,
]


@pytest.fixture(params=[None, 2], ids=["whole", "chunks"])
def browsers(request: pytest.FixtureRequest) -> Iterator[None]:
    with keys_in_browsers(), cut_into_chunks(request.param):
        yield


@pytest.mark.thorough
@pytest.mark.parametrize("promise", IN_ANY_ORDER, ids=lambda promise: promise.__name__[5:7])
def test_what_is_promised_of_two_disguises_holds_with_the_key_in_the_browser(
    promise: Callable[[Community, bool], None], community: Community, browsers: None
) -> None:
    """Removed, changed and given away with the key at hand, and without; the tables are byte for byte what they were."""
    promise(community, True)


@pytest.mark.thorough
@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_three_disguises_come_back_in_any_order(order: tuple[int, ...], small_community: Community) -> None:
    """Shared rows among them: the messages that two people have."""
    ann = small_community.ann
    with keys_in_browsers():
        rounds = [
            small_community.everybody(BY_URL),
            ann.applies(CLEAR_MESSAGES, with_key=True),
            ann.applies(GDPR, with_key=True),
        ]
        for number in order:
            ann.takes_back(rounds[number])
        for member in (small_community.bob, small_community.cat):
            member.takes_back(rounds[0])

    assert state() == small_community.before
    assert edna_dump() == small_community.tables


# What is refused


@pytest.fixture
def ann(community: Community) -> Iterator[Member]:
    """By whom the server has seen no key; whose stories are pseudonymous, and whose account is gone."""
    with override_settings(EDNA={**settings.EDNA, "CUSTODY": "browser"}):
        community.everybody(ANON)
        yield community.ann


def refused(member: Member, receipt: edna.Receipt, handover: Handover) -> str:
    """Why; nothing is changed."""
    before = state(), edna_dump()
    with inner_door.unlock_handed(handover) as unlocked, pytest.raises(HandoverRefused) as raised:
        edna.reveal(receipt, unlocked)
    assert (state(), edna_dump()) == before
    return str(raised.value)


def handed(member: Member) -> tuple[edna.Receipt, Handover]:
    receipt = member.history()[0].receipt
    return receipt, Browser(member.secret_key).for_reveal(receipt)


def test_another_content_key_is_refused(ann: Member) -> None:
    receipt, handover = handed(ann)
    for index in handover.content_keys:
        said = refused(ann, receipt, replace(handover, content_keys={**handover.content_keys, index: ContentKey.new()}))
        assert "not the content key" in said


def test_a_bag_that_was_not_handed_over_is_refused(ann: Member) -> None:
    receipt, handover = handed(ann)
    for index in handover.content_keys:
        others = {place: key for place, key in handover.content_keys.items() if place != index}
        assert "was not handed over" in refused(ann, receipt, replace(handover, content_keys=others))


def test_a_list_that_has_changed_since_is_refused(ann: Member) -> None:
    """In another tab, say; and one with somebody else's item, and one that is of nobody for whom a bag speaks."""
    receipt, handover = handed(ann)
    own = bytes(ann.secret_key.public_key)
    locator = next(iter(handover.lists[own].values()))
    strange = {**handover.lists, own: {**handover.lists[own], bytes(80): locator}}
    assert "may have changed" in refused(ann, receipt, replace(handover, lists=strange))
    more = {**handover.lists, bytes(32): {}}
    assert "no bag that was speaks for them" in refused(ann, receipt, replace(handover, lists=more))

    edna.disguise(TOPIC, ann.user, params={"tag": "ai"})
    assert "may have changed" in refused(ann, receipt, handover)


def test_a_voice_without_its_key_is_refused_where_its_record_may_move(community: Community, ann: Member) -> None:
    """What is sealed to a pseudoprincipal is sealed to its person when that one goes."""
    edna.disguise_all(BY_URL)
    receipts = [entry.receipt for entry in ann.history()]
    handovers = [(receipt, Browser(ann.secret_key).for_reveal(receipt)) for receipt in receipts]
    receipt, handover = max(handovers, key=lambda each: len(each[1].voices))

    assert "key of a pseudoprincipal" in refused(ann, receipt, replace(handover, voices={}))


def test_somebody_elses_bag_is_refused(community: Community, ann: Member) -> None:
    """Its MAC names its owner: a locator and a content key that somebody else has given away open nothing for ann."""
    _, handover = handed(ann)
    theirs, stolen = handed(community.bob)
    own = bytes(ann.secret_key.public_key)
    item = next(iter(handover.lists[own]))
    lists = {**handover.lists, own: {**handover.lists[own], item: theirs.locator}}
    before = state(), edna_dump()

    both = replace(handover, lists=lists, content_keys={**handover.content_keys, **stolen.content_keys})
    with inner_door.unlock_handed(both) as unlocked, pytest.raises(edna.errors.EdnaError):
        edna.reveal(theirs, unlocked)

    assert (state(), edna_dump()) == before


def test_what_needs_the_key_itself_says_so(ann: Member) -> None:
    _, handover = handed(ann)
    for act in (edna.rotate, lambda unlocked: edna.change_password(unlocked, identifier="ann", password="a new one")):
        with inner_door.unlock_handed(handover) as unlocked, pytest.raises(SecretKeyNeeded):
            act(unlocked)


# What the server sees


def test_neither_a_secret_key_nor_another_disguise_is_handed_over(community: Community, ann: Member) -> None:
    """The content of a bag that speaks for somebody has no key in it; of a disguise that touches nothing of the first, nothing is there."""
    about = edna.disguise(CLEAR_MESSAGES, community.bob.user)
    edna.disguise(TOPIC, community.bob.user, params={"tag": "privacy"})
    browser = Browser(community.bob.secret_key)
    secrets = {holder.opener.secret_key.expose() for holder in browser.graph.holders.values()}
    handover = browser.for_reveal(about)

    seen = [
        open_with_content_key(bytes(bag.sealed), content_key=handover.content_keys[bytes(bag.index)])
        for bag in Bag.objects.filter(index__in=handover.content_keys)
    ]

    assert seen
    assert not any(secret in content for secret in secrets for content in seen)
    assert len(handover.content_keys) < sum(len(segments) for segments in browser.bags.values())
    assert None in handover.lists[bytes(handover.public_key)].values()


def test_whoever_has_the_key_reads_what_was_sealed_for_browsers(community: Community, ann: Member) -> None:
    """In server custody, on the same site: the keys in the bags are opened with the keys of whom they are sealed to."""
    with override_settings(EDNA={**settings.EDNA, "CUSTODY": "both"}):
        assert ann.owns(Story) == []
        ann.reveal_everything()

    assert ann.owns(Story)


def test_a_sealed_key_of_another_pair_is_no_voice() -> None:
    """Whoever hands over a key seals it, and the server cannot look: the public half is compared when it is opened."""
    key, other, holder = (SecretKey.generate() for _ in range(3))
    box = SealedKey.of(key, recipient=holder.public_key)

    assert box.open([other, holder], public_key=key.public_key) == key
    assert box.open([other, holder], public_key=other.public_key) is None
    assert box.open([other], public_key=key.public_key) is None


# Erasing


@pytest.mark.thorough
@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
@pytest.mark.parametrize("chunk_rows", [None, 2], ids=["whole", "chunks"])
def test_three_disguises_are_erased_in_any_order_as_with_the_key(
    order: tuple[int, ...], chunk_rows: int | None, small_community: Community
) -> None:
    """The same is destroyed, and forgotten, and the same is left: tables, history, and what comes back."""
    ann = small_community.ann

    def by_key(receipt: edna.Receipt) -> edna.Erasure:
        with ann.unlock() as unlocked:
            return edna.erase(receipt, unlocked)

    def by_browser(receipt: edna.Receipt) -> edna.Erasure:
        handover = Browser(ann.secret_key).for_reveal(receipt)
        with without_keys(), inner_door.unlock_handed(handover) as unlocked:
            planned = edna.plan_erasure(receipt, unlocked)
            assert edna.erase(receipt, unlocked) == planned
        return planned

    def left(erase: Callable[[edna.Receipt], edna.Erasure]) -> object:
        erasures = [erase(receipts[number]) for number in order[:2]]
        counts = [entry.counts for entry in ann.history()]
        outcome = ann.reveal(receipts[order[2]]).as_dict()
        return erasures, counts, outcome, state(), Bag.objects.count()

    configured = {**settings.EDNA, "CUSTODY": "browser"}
    with override_settings(EDNA=configured), cut_into_chunks(chunk_rows):
        receipts = [
            small_community.everybody(BY_URL)[ann.pk][0],
            ann.disguise(CLEAR_MESSAGES, with_key=True),
            ann.disguise(GDPR, with_key=True),
        ]
        found = []
        for erase in (by_key, by_browser):
            with transaction.atomic():
                found.append(left(erase))
                transaction.set_rollback(True)
    assert found[0] == found[1]
