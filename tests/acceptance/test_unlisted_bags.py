"""Bags that no list leads to (locator mode ``client``): a reveal that does not know them makes none of them worthless.

Ann's stories stand under a pseudoprincipal's name, which has written a message of its own. She removes the message with her key at hand:
from then on a bag names the pseudoprincipal, and only a receipt leads there.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import pytest

import edna
from edna import errors
from edna.crypto.keys import PublicKey
from edna.engine.bags.reader import read_all
from edna.models import PrincipalEntry
from edna.operations.upkeep import residue
from edna.records.locator import seal_locator
from tests.lobsters.community import Community, Member, between
from tests.lobsters.models import Message, Story, User
from tests.lobsters.specs import ANON, BY_URL, CLEAR_OUTBOX, DISOWN_STORIES, GDPR, TOPIC
from tests.support import edna_dump, statements

pytestmark = [pytest.mark.django_db, pytest.mark.every_database, pytest.mark.long]


@dataclass
class Scene:
    community: Community
    ann: Member
    disowned: edna.Receipt
    cleared: edna.Receipt
    voice: User
    message: Message

    def owners(self) -> set[int]:
        return set(Message.objects.filter(body=self.message.body).values_list("author_id", flat=True))

    def reveals(self, receipt: edna.Receipt, *others: edna.Receipt) -> edna.Outcome:
        with self.ann.unlock(receipts=[receipt, *others]) as unlocked:
            return edna.reveal(receipt, unlocked)

    def disguises(self, name: str, *receipts: edna.Receipt, **params: Any) -> edna.Receipt:
        with self.ann.unlock(receipts=receipts) as unlocked:
            return edna.disguise(name, self.ann.user, params=params, unlocked=unlocked)

    def entry(self) -> PrincipalEntry:
        return PrincipalEntry.objects.get(reference=str(self.voice.pk))


@pytest.fixture
def scene(community: Community, settings: Any) -> Scene:
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    ann = community.ann
    disowned = edna.disguise(DISOWN_STORIES, ann.user)
    with ann.unlock(receipts=[disowned]) as unlocked:
        voice = edna.speak_as(unlocked, Story.objects.get(title="ann 0"))
    assert isinstance(voice, User)
    message = Message.objects.create(author=voice, recipient=community.bob.user, body="Thank you")
    with ann.unlock(receipts=[disowned]) as unlocked:
        cleared = edna.disguise(CLEAR_OUTBOX, ann.user, unlocked=unlocked)
    made = Scene(community, ann, disowned, cleared, voice, message)
    assert made.owners() == set()
    return made


def returns_in_the_end(scene: Scene) -> None:
    """The message is the pseudoprincipal's, then hers; nobody is left over."""
    assert scene.reveals(scene.cleared).complete
    assert scene.owners() == {scene.voice.pk}
    assert scene.reveals(scene.disowned).complete
    assert scene.owners() == {scene.ann.pk}
    assert scene.community.pseudoprincipals() == set()


def test_the_pseudoprincipal_s_own_entry_says_nothing(scene: Scene) -> None:
    assert bytes(scene.entry().locators) == b""


@pytest.mark.once
def test_it_stays_until_the_receipt_is_brought(scene: Scene) -> None:
    for _ in range(2):
        scene.reveals(scene.disowned)
        assert User.objects.filter(pk=scene.voice.pk).exists()
    returns_in_the_end(scene)


@pytest.mark.once
def test_what_was_noted_is_forgotten_with_the_bag(scene: Scene) -> None:
    """Who has given both receipts lets go of it at once; then nothing says that there was a bag."""
    assert scene.reveals(scene.cleared, scene.disowned).complete
    with scene.ann.unlock(receipts=[scene.disowned]) as unlocked:
        assert unlocked.needed() == set()
        assert {index for opened in read_all(unlocked).opened for index in opened.unlisted} == set()
    assert scene.reveals(scene.disowned).complete
    assert not User.objects.filter(pk=scene.voice.pk).exists()


@pytest.mark.once
def test_a_bag_that_is_gone_keeps_nobody(scene: Scene) -> None:
    """Taken back by its own receipt alone: the note is still there, and leads to nothing."""
    assert scene.reveals(scene.cleared).complete
    assert scene.reveals(scene.disowned).complete
    assert scene.owners() == {scene.ann.pk}
    assert not User.objects.filter(pk=scene.voice.pk).exists()


@pytest.mark.once
def test_the_note_goes_where_the_voice_goes(scene: Scene) -> None:
    """A story waits for another disguise, and takes the key of its pseudoprincipal along into that bag."""
    left = scene.disguises(GDPR, scene.disowned)
    scene.reveals(scene.disowned, left)
    assert scene.reveals(left).held == []
    assert User.objects.filter(pk=scene.voice.pk).exists()
    assert scene.reveals(scene.cleared).complete
    assert scene.owners() == {scene.voice.pk}
    assert_hers_again(scene, left)


@pytest.mark.once
def test_the_account_leaves_its_row_for_the_bag(scene: Scene) -> None:
    """Whoever brings that receipt first finds the pseudoprincipal under which the message was written."""
    left = scene.disguises(GDPR, scene.disowned)
    assert scene.entry().reference == str(scene.voice.pk)
    # Her own messages wait for her account; the pseudoprincipal's does not.
    assert {held.reason for held in scene.reveals(scene.cleared).held} == {edna.Reason.REFERENCE_MISSING}
    assert scene.owners() == {scene.voice.pk}
    assert scene.reveals(left, scene.disowned).complete
    assert_hers_again(scene, left)


def assert_hers_again(scene: Scene, left: edna.Receipt) -> None:
    """Whichever of the receipts leads to the key of the pseudoprincipal now."""
    receipts = (scene.disowned, left, scene.cleared)
    for receipt in receipts:
        with contextlib.suppress(errors.ReceiptUnknown):
            assert scene.reveals(receipt, *receipts).complete
    assert scene.owners() == {scene.ann.pk}
    assert scene.community.pseudoprincipals() == set()


@pytest.mark.once
def test_a_rotation_knows_that_a_receipt_is_missing(scene: Scene) -> None:
    """Although it was told that all are there: what the new key would never open is not left behind without a word."""
    before = edna_dump()
    with scene.ann.unlock(receipts=[scene.disowned]) as unlocked, pytest.raises(errors.ReceiptsIncomplete):
        edna.rotate(unlocked, receipts_complete=True)
    assert edna_dump() == before
    with scene.ann.unlock(receipts=[scene.disowned, scene.cleared]) as unlocked:
        made = edna.rotate(unlocked, receipts_complete=True)
    assert made.secret_key is not None
    scene.ann.secret_key = made.secret_key
    scene.reveals(scene.disowned)
    assert User.objects.filter(pk=scene.voice.pk).exists()
    # A new public key for her does not make it hard to find what was noted before.
    assert scene.reveals(scene.cleared).complete
    assert scene.reveals(scene.disowned).complete


@pytest.mark.once
def test_what_a_rotation_gives_up_keeps_nobody(scene: Scene) -> None:
    with scene.ann.unlock(receipts=[scene.disowned]) as unlocked:
        made = edna.rotate(unlocked, receipts_complete=True, leave_damaged=True)
    assert made.secret_key is not None
    scene.ann.secret_key = made.secret_key
    assert scene.reveals(scene.disowned).complete
    assert not User.objects.filter(pk=scene.voice.pk).exists()


@pytest.mark.once
def test_nobody_is_swept_whom_a_receipt_may_lead_to(scene: Scene) -> None:
    """Nothing in the tables refers to it, and without the key nobody can tell that a bag does."""
    Story.objects.filter(user=scene.voice).delete()
    residue.sweep()
    assert User.objects.filter(pk=scene.voice.pk).exists()


@pytest.mark.parametrize("rows", [30])
def test_more_pseudoprincipals_take_no_more_statements(scene: Scene, rows: int) -> None:
    """However many keys lie in how large a bag: what is noted is noted once for each of the bags, and those are written together."""
    bob = scene.community.bob

    def later(count: int) -> int:
        Story.objects.bulk_create([Story(user=bob.user, url="", title=str(number)) for number in range(count)])
        receipts = [edna.disguise(BY_URL, bob.user), edna.disguise(ANON, bob.user)]
        with bob.unlock(receipts=receipts) as unlocked:
            return len(statements(lambda: edna.disguise(TOPIC, bob.user, params={"tag": "none"}, unlocked=unlocked)))

    later(1)  # what he had before
    assert later(1) == later(rows)


@pytest.mark.once
def test_lists_of_an_earlier_release_still_say_it(scene: Scene) -> None:
    """There, each pseudoprincipal's own list has an item for the bag, which its key does not open."""
    with scene.ann.unlock(receipts=[scene.disowned, scene.cleared]) as unlocked:
        made = edna.rotate(unlocked, receipts_complete=True)  # to be sure that new keys do not lose it
    assert made.secret_key is not None
    scene.ann.secret_key = made.secret_key
    _as_earlier_releases(scene)
    scene.reveals(scene.disowned)
    assert User.objects.filter(pk=scene.voice.pk).exists()
    returns_in_the_end(scene)


def _as_earlier_releases(scene: Scene) -> None:
    """Nothing noted, and an item in the list instead."""
    with scene.ann.unlock(receipts=[scene.disowned, scene.cleared]) as unlocked:
        made = edna.rotate(unlocked, receipts_complete=True)
    assert made.secret_key is not None
    scene.ann.secret_key = made.secret_key
    entry = scene.entry()
    entry.locators = seal_locator(scene.cleared.locator, recipient=PublicKey(entry.public_key))
    entry.save()


@pytest.mark.once
@pytest.mark.thorough
def test_receipts_from_the_history_unlock(chunked_community: Community, settings: Any) -> None:
    """In locator mode ``client`` as well: those of pseudoprincipals open with a key that another receipt leads to."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    receipt = edna.disguise(ANON, chunked_community.ann.user)
    edna.disguise_all(ANON)
    with chunked_community.ann.unlock(receipts=[receipt]) as unlocked:
        found = [entry.receipt for entry in edna.history(unlocked)]
    with chunked_community.ann.unlock(receipts=found) as unlocked:
        assert {entry.receipt for entry in edna.history(unlocked)} == set(found)
        for each in found:
            assert edna.reveal(each, unlocked).complete
    theirs = edna.disguise(DISOWN_STORIES, chunked_community.cat.user)
    with chunked_community.ann.unlock(receipts=[theirs]) as unlocked, pytest.raises(edna.errors.ReceiptForeign):
        edna.history(unlocked)


@pytest.mark.thorough
def test_receipts_that_were_not_given_are_not_made_worthless(chunked_community: Community, settings: Any) -> None:
    """Ann removes a message of her pseudoprincipal with her key; then she takes back what made it, by that receipt alone."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    disowned = edna.disguise(DISOWN_STORIES, chunked_community.ann.user)
    with chunked_community.ann.unlock(receipts=[disowned]) as unlocked:
        voice = edna.speak_as(unlocked, Story.objects.get(title="ann 0"))
    message = Message.objects.create(author=voice, recipient=chunked_community.bob.user, body="Thank you")
    with chunked_community.ann.unlock(receipts=[disowned]) as unlocked:
        cleared = edna.disguise(CLEAR_OUTBOX, chunked_community.ann.user, unlocked=unlocked)
    assert between(message) == []
    with chunked_community.ann.unlock(receipts=[disowned]) as unlocked:
        edna.reveal(disowned, unlocked)
    with chunked_community.ann.unlock(receipts=[disowned, cleared]) as unlocked:
        assert edna.reveal(cleared, unlocked).complete
        # Her pseudoprincipal has waited for the bag that the server did not know.
        assert between(message) == [(voice.pk, chunked_community.bob.pk)]
        assert edna.reveal(disowned, unlocked).complete
    assert between(message) == [(chunked_community.ann.pk, chunked_community.bob.pk)]
