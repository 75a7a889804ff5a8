"""Shared bags that a vandal has written to, and items that one has planted: what is refused, and that nothing leaks."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.db import connection

import edna
from edna import Remove, errors, store
from edna.crypto.keys import PublicKey
from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.reader import read_all
from edna.engine.bags.seal import seal_shared
from edna.records.bag import Bag, BagKind
from edna.records.diff import Removed
from edna.records.locator import Locator, seal_locator
from edna.store import serverkeys
from edna.testing import Person, application_dump
from edna.testing.search import finds
from tests.faults.post.models import Citizen, Letter
from tests.faults.post.specs import Leave, Mask
from tests.installed import forget_relations, installed, registered
from tests.support import edna_dump, execute, flipped, loot, nothing_changes, rows_of, statements

pytestmark = [pytest.mark.django_db, pytest.mark.long]

POST = "tests.faults.post"


@pytest.fixture(scope="module")
def post_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(POST, principals=["post.citizen"]):
        yield


@dataclass
class Scene:
    """Dora and Emil, who wrote to each other, and Frieda, who wrote to herself. Dora has left, then Emil."""

    dora: Person
    emil: Person
    frieda: Person
    receipts: dict[str, edna.Receipt]
    before: Any
    tables: Any


@pytest.fixture
def scene(post_tables: None, db: None) -> Iterator[Scene]:
    with registered(POST):
        names = ("Dora", "Emil", "Frieda")
        people = [Citizen.objects.create(name=name) for name in names]
        dora, emil, frieda = [Person(each, edna.register_principal(each).secret_key) for each in people]
        for sender, recipient in ((dora, emil), (emil, dora), (frieda, frieda), (dora, dora)):
            Letter.objects.create(sender=sender.user, recipient=recipient.user, text=f"To {recipient.user.name}")
        before, tables = application_dump(), edna_dump()
        receipts = {each.user.name: each.disguise("post.leave") for each in (dora, emil)}
        yield Scene(dora, emil, frieda, receipts, before, tables)


def opened_by(person: Person) -> list[Opened]:
    with person.unlock() as unlocked:
        return read_all(unlocked).opened


def shared_bags(person: Person) -> list[Opened]:
    return [each for each in opened_by(person) if each.shared and isinstance(each.diffs[0], Removed)]


def put(index: bytes, sealed: bytes) -> None:
    name = connection.ops.quote_name("index")
    mark = "_binary %s" if connection.vendor == "mysql" else "%s"
    assert execute(f"UPDATE edna_bag SET sealed = {mark} WHERE {name} = {mark}", [sealed, index]) == 1


def stored(index: bytes) -> bytes:
    return dict(rows_of("edna_bag", ["index", "sealed"]))[index]


def plant(locator: Locator, public_key: PublicKey) -> None:
    """Append an item to the list of whoever has this public key, as anybody can who writes to the table."""
    [entry] = store.entries_by_public_key([bytes(public_key)], using="default")
    item = seal_locator(locator, recipient=public_key)
    store.save_entries([entry._replace(locators=entry.locators + item)], using="default")


def pseudoprincipal_of(person: Person) -> PublicKey:
    with person.unlock() as unlocked:
        return PublicKey(unlocked.spoken_for()[0].entry.public_key)


def finish(scene: Scene) -> None:
    """Everybody reveals everything, and all is as it was."""
    for _ in range(3):
        for person in (scene.emil, scene.dora):
            for entry in person.history():
                person.reveal(entry.receipt)
    assert application_dump() == scene.before
    assert edna_dump() == scene.tables


@pytest.mark.once
def test_a_shared_bag_names_nobody(scene: Scene) -> None:
    """Neither whose it is nor which disguise made it; both owners open it, and only they."""
    bags = shared_bags(scene.emil)
    assert {bag.locator for bag in bags} == {bag.locator for bag in shared_bags(scene.dora)}
    assert not [each for each in opened_by(scene.frieda) if each.shared]
    assert sum(len(batch.rows) for bag in bags for batch in bag.diffs) == 2
    for bag in bags:
        assert (bag.head.disguise, bag.head.principal, bag.head.params) == ("", None, {})
        assert finds(loot(), {"locator": bag.locator.expose(), "key": bag.locator.shared_key().expose()}) == []
    finish(scene)


@pytest.mark.once
@pytest.mark.parametrize(
    "spoil", [flipped, lambda sealed: sealed[:-1], lambda sealed: flipped(sealed, 40)], ids=["tag", "cut", "stanza"]
)
def test_a_tampered_shared_bag_keeps_those_who_point_at_it_from_revealing(scene: Scene, spoil: Any) -> None:
    """Refused as a whole, kept as evidence, and nobody's way to it is forgotten: put right, everything comes back."""
    [index] = shared_bags(scene.emil)[0].indexes
    sealed = stored(index)
    put(index, spoil(sealed))
    with scene.emil.unlock() as unlocked, nothing_changes(), pytest.raises(errors.BagError) as caught:
        edna.reveal(scene.receipts["Emil"], unlocked)
    assert "Letter" not in str(caught.value)
    # Dora gets there through the lists of her pseudoprincipals: what she has comes back, and that one waits for the bag.
    assert scene.dora.reveal(scene.receipts["Dora"]).restored["post.letter"] >= 2
    assert "Dora" in Letter.objects.values_list("sender__name", flat=True)
    put(index, sealed)
    finish(scene)


class OneVeil(edna.Disguise):
    """One pseudoprincipal for all of them: rows that the same two own lie in the same bag."""

    name = "post.one-veil"
    transformations = [edna.Decorrelate(Letter, owner=["sender", "recipient"], group_by=edna.ALL)]
    pseudoprincipal = Mask


@pytest.mark.once
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_missing_segment_of_a_shared_bag_is_noticed(scene: Scene, number: int, settings: Any) -> None:
    """The last one too."""
    finish(scene)
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
    Letter.objects.bulk_create(
        Letter(sender=scene.dora.user, recipient=scene.emil.user, text=f"Number {n}") for n in range(2)
    )
    scene.before, scene.tables = application_dump(), edna_dump()
    edna.register(OneVeil)
    try:
        scene.dora.disguise("post.one-veil")
        receipt = scene.emil.disguise("post.leave")
        [index] = [bag.indexes[number] for bag in shared_bags(scene.emil) if len(bag.indexes) == 3]
        sealed = stored(index)
        store.delete_bags([index], using="default")
        with scene.emil.unlock() as unlocked, nothing_changes(), pytest.raises(errors.BagMissing):
            edna.reveal(receipt, unlocked)
        store.add_bags([(index, sealed)], expires_on=None, using="default")
        finish(scene)
    finally:
        edna.unregister(OneVeil)


@pytest.mark.once
def test_a_shared_bag_sealed_anew_by_somebody_who_has_its_locator_is_refused(scene: Scene) -> None:
    """An owner can open and seal it, and cannot sign: rows of theirs do not get into the other's reveal."""
    bag = shared_bags(scene.dora)[0]
    forged = [replace(batch, rows=[[*row[:-2], "forged", row[-1]] for row in batch.rows]) for batch in bag.diffs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serverkeys, "signing_key", lambda **_: b"not the server's key at all")
        [(index, sealed)] = seal_shared(bag.head, forged, locator=bag.locator, using="default")
    genuine = stored(index)
    put(index, sealed)
    with scene.emil.unlock() as unlocked, nothing_changes(), pytest.raises(errors.BagForged):
        edna.reveal(scene.receipts["Emil"], unlocked)
    put(index, genuine)
    finish(scene)


# Planted items


def made_up(locator: Locator) -> None:
    """A bag for whoever has the locator, by somebody who has no key of the server."""
    batch = Removed("post.letter", "", ("id",), ("id", "text"), [[99, "made up"]])
    now = datetime.datetime.now(datetime.UTC)
    head = Bag(BagKind.SHARED, "", now, "post.citizen", None, {}, connection.vendor, True, (1, 0), ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serverkeys, "signing_key", lambda **_: b"not the server's key at all")
        store.add_bags(seal_shared(head, [batch], locator=locator, using="default"), expires_on=None, using="default")


@pytest.mark.once
@pytest.mark.parametrize("whose", ["their own", "their pseudoprincipal's"])
@pytest.mark.parametrize("what", ["nothing", "a made-up bag", "a foreign bag", "a foreign shared bag"])
def test_a_planted_item_neither_breaks_nor_leaks(scene: Scene, what: str, whose: str) -> None:
    """Whoever can write to the table appends to Frieda's list: she gets nothing foreign, and her own rows come back."""
    receipt = scene.frieda.disguise("post.veil")
    bags = {"nothing": Locator.new(), "a made-up bag": Locator.new(), "a foreign bag": scene.receipts["Emil"].locator}
    locator = bags[what] if what in bags else shared_bags(scene.emil)[0].locator
    if what == "a made-up bag":
        made_up(locator)
    key = scene.frieda.secret_key.public_key if whose == "their own" else pseudoprincipal_of(scene.frieda)
    plant(locator, key)
    others = dict(rows_of("edna_bag", ["index", "sealed"]))
    own = {receipt.locator.index(kind, 0) for kind in BagKind}

    with scene.frieda.unlock() as unlocked:
        assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]
        sent = statements(lambda: edna.speaks_for(unlocked))
        assert len(sent) <= 4
        outcome = edna.reveal(receipt, unlocked)

    assert outcome.held == []
    assert Letter.objects.filter(sender=scene.frieda.user.pk, recipient=scene.frieda.user.pk).count() == 1
    assert scene.frieda.history() == []
    if what != "a foreign shared bag":
        # Emil's rows have not moved, and his bags are as they were. A shared bag can be planted only by one of its owners,
        # who may bring its rows back anyhow.
        assert Letter.objects.count() == 1
        now = dict(rows_of("edna_bag", ["index", "sealed"]))
        assert all(now.get(index) == sealed for index, sealed in others.items() if index not in own)
    for _ in range(2):
        for person in (scene.emil, scene.dora):
            for entry in person.history():
                person.reveal(entry.receipt)
    assert application_dump()["post_letter"] == scene.before["post_letter"]


@pytest.fixture
def forgetting() -> Iterator[None]:
    """What a process looks up once is looked up again: a specification that changes while it runs is one of a test alone."""
    forget_relations()
    yield
    forget_relations()


@pytest.mark.once
def test_a_shared_row_comes_back_on_the_terms_of_today(
    scene: Scene, forgetting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shared bag names no disguise; whoever of its owners opens it is bound by what is said of its model."""
    steps = [Remove(Letter, owner=["sender", "recipient"], returning={"text": "[gone]"}), Remove(Citizen)]
    monkeypatch.setattr(Leave, "transformations", steps)
    for person in (scene.emil, scene.dora):
        for entry in person.history():
            assert person.reveal(entry.receipt).complete
    texts = {letter.sender_id: letter.text for letter in Letter.objects.all()}
    assert texts == {scene.dora.user.pk: "[gone]", scene.emil.user.pk: "[gone]", scene.frieda.user.pk: "To Frieda"}
    assert edna_dump() == scene.tables
