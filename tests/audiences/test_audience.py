"""Who comes to the secret of an audience, and who does not."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from edna.crypto.keys import PublicKey, SecretKey
from edna.crypto.sealing import open_small, seal_small
from edna.custody.audiences import channels
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.revoking import Way, revoke
from edna.custody.audiences.updates import Member, Update
from edna.errors import (
    AudienceChanged,
    AudienceForged,
    AudienceRefused,
    EdnaError,
    NotInAudience,
    WrapRefused,
    WrongKey,
)


class Room:
    """An audience, its members, and everything that was ever in the database."""

    def __init__(self, count: int) -> None:
        self.members = [Member.new() for _ in range(count)]
        self.all = list(self.members)
        first, *others = self.members
        self.updates: list[bytes] = []
        self.audience = Audience()
        self.dumps: list[Audience] = []
        self.follow(Audience.create(first, [each.card for each in others]))

    def follow(self, update: Update) -> None:
        self.audience = self.audience.follow(bytes(update))
        self.updates.append(bytes(update))
        self.dumps.append(self.audience)

    def join(self, by: Member, new: Member | None = None) -> Member:
        new = new or Member.new()
        self.follow(self.audience.join(by, [new.card]))
        self.members.append(new)
        self.all.append(new)
        return new

    def leave(self, by: Member, *gone: Member) -> None:
        self.follow(self.audience.leave_many(by, [each.id for each in gone]))
        self.members = [each for each in self.members if each not in gone]

    def check_agreement(self) -> None:
        secrets = {self.audience.secret(each).expose() for each in self.members}
        assert {SecretKey(secret).public_key for secret in secrets} == {self.audience.public_key}


def learnt(keys: Iterable[SecretKey], dumps: Iterable[Audience]) -> set[bytes]:
    """All secrets that somebody comes to who has these keys and every state of the database: what opens is opened, again and again."""
    boxes = {wrap for dump in dumps for node in dump.nodes.values() for wrap in node.wraps}
    boxes |= {sealed for dump in dumps for sealed in dump.former}
    known, new = {key.expose() for key in keys}, list(keys)
    while new:
        key = new.pop()
        for box in list(boxes):
            try:
                secret = open_small(box, secret_key=key)
            except WrongKey:
                continue
            boxes.discard(box)
            if secret not in known:
                known.add(secret)
                new.append(SecretKey(secret))
    return known


@pytest.mark.parametrize("count", [3, 20, 33])
def test_who_was_removed_does_not_come_to_the_new_secret(count: int) -> None:
    room = Room(count)
    gone = room.members[2]
    room.leave(room.members[0], gone)
    room.check_agreement()
    known = learnt([gone.secret_key], room.dumps)
    assert room.dumps[0].secret(room.members[0]).expose() in known  # that of before it has
    assert room.audience.secret(room.members[0]).expose() not in known
    with pytest.raises(NotInAudience):
        room.audience.secret(gone)


def test_nor_does_one_who_removed_others_and_so_chose_secrets_that_it_does_not_lie_below() -> None:
    room = Room(40)
    remover, others, newcomer = room.members[0], room.members[1:], Member.new()
    # What it chose, it may have kept: all keys of nodes that it has set.
    kept: list[SecretKey] = []
    made = SecretKey.generate

    def remembered() -> SecretKey:
        kept.append(made())
        return kept[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SecretKey, "generate", remembered)
        for gone in (others[37], others[20], others[9]):
            room.leave(remover, gone)
        room.join(remover, newcomer)
    below = set(room.audience.shape.path(room.audience.shape.leaves[remover.id]))
    assert set(room.audience.tainted([remover.id])) - below
    room.leave(others[0], remover)
    room.check_agreement()
    assert room.audience.secret(others[0]).expose() not in learnt([remover.secret_key, *kept], room.dumps)
    assert not room.audience.tainted([remover.id])


def test_one_who_was_offline_through_ten_rekeys_agrees_with_all_others() -> None:
    room = Room(20)
    away, before = room.members[7], room.audience
    sealed = seal_small(b"of before", recipient=before.public_key)
    chance = random.Random(1)
    for number in range(10):
        by, gone = chance.sample([each for each in room.members if each is not away], 2)
        room.leave(by, gone) if number % 3 else room.join(by)
    room.check_agreement()
    followed = before
    for update in room.updates[1:]:
        followed = followed.follow(update)
    assert followed == room.audience
    newcomer = room.members[-1]
    for each in (away, newcomer):
        assert any(_opens(sealed, key) for key in room.audience.secrets(each)) is True


def _opens(sealed: bytes, key: SecretKey) -> bool:
    try:
        return open_small(sealed, secret_key=key) == b"of before"
    except WrongKey:
        return False


def test_members_come_and_go_and_all_agree() -> None:
    room, chance = Room(2), random.Random(4)
    for _ in range(60):
        by = chance.choice(room.members)
        others = [each for each in room.members if each is not by]
        if len(others) > 3 and chance.random() < 0.4:
            room.leave(by, *chance.sample(others, chance.choice([1, 1, 2])))
        else:
            room.join(by)
        assert room.audience.secret(chance.choice(room.members)).public_key == room.audience.public_key
    room.check_agreement()


def test_one_of_a_thousand_leaves_and_little_is_written() -> None:
    room = Room(1024)
    update = room.audience.leave(room.members[5], room.members[700].id)
    assert len(bytes(update)) <= 2_500


def test_whoever_was_quicker_counts_and_the_other_does_it_again() -> None:
    room = Room(20)
    first, second, third, fourth, *_ = room.members
    late = room.audience.leave(second, fourth.id)
    room.leave(first, third)
    with pytest.raises(AudienceChanged):
        room.audience.follow(bytes(late))
    with pytest.raises(AudienceChanged):
        room.audience.follow(room.updates[-1])
    room.leave(second, fourth)
    room.check_agreement()


def test_what_was_changed_is_refused() -> None:
    room = Room(18)
    first, second, third, *_ = room.members
    stranger = Member.new()
    update = bytes(room.audience.leave(first, third.id))
    for place in (0, 1, 2, 20, 60, 100, 300, len(update) - 100, len(update) - 1):
        changed = bytearray(update)
        changed[place] ^= 1
        with pytest.raises(EdnaError):
            room.audience.follow(bytes(changed))
    parsed = Update.parse(update)
    with pytest.raises(AudienceForged):
        room.audience.follow(bytes(parsed.signed(second.signing_key)))
    with pytest.raises(AudienceRefused):
        room.audience.follow(bytes(replace(parsed, sender=stranger.id).signed(stranger.signing_key)))
    with pytest.raises(AudienceRefused, match="keys and wraps"):
        room.audience.follow(bytes(replace(parsed, body=parsed.body + bytes(80)).signed(first.signing_key)))
    with pytest.raises(AudienceRefused, match="no public key"):
        room.audience.follow(bytes(replace(parsed, body=bytes(len(parsed.body))).signed(first.signing_key)))
    with pytest.raises(AudienceRefused, match="another audience"):
        room.audience.follow(bytes(replace(parsed, audience=bytes(16)).signed(first.signing_key)))
    with pytest.raises(AudienceRefused):
        room.audience.leave(first, first.id)
    with pytest.raises(AudienceRefused):
        room.audience.join(first, [second.card])
    with pytest.raises(NotInAudience):
        room.audience.join(stranger, [stranger.card])


def test_a_node_that_somebody_has_swapped_is_refused_by_who_reads_it() -> None:
    room = Room(16)
    node = room.audience.nodes[room.audience.shape.root]
    other = SecretKey.generate()
    wraps = tuple(seal_small(other.expose(), recipient=_below(room, place)) for place in range(2))
    swapped = replace(
        room.audience, nodes={**room.audience.nodes, room.audience.shape.root: replace(node, wraps=wraps)}
    )
    with pytest.raises(WrapRefused):
        swapped.secret(room.members[0])


def _below(room: Room, place: int) -> PublicKey:
    return room.audience.nodes[room.audience.shape.children[room.audience.shape.root][place]].public_key


def test_a_flood_tells_all_at_once_and_the_tree_tells_the_same_afterwards() -> None:
    room = Room(24)
    remover, gone, others = room.members[0], [room.members[9]], room.members
    order = sorted(room.audience.cards)
    by_id = {each.id: each for each in others}
    keys = {
        frozenset((order[one], order[other])): channels.channel_key(
            by_id[order[one]].secret_key, by_id[order[other]].secret_key.public_key
        )
        for one, around in enumerate(channels.neighbours(24))
        for other in around
    }
    # No key is exchanged from here on.
    for leaving in (gone, room.members[3:14:2]):
        ids = [each.id for each in leaving]
        secret = SecretKey.generate()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(channels, "crypto_scalarmult", None)
            learnt, missed = channels.flooded(
                secret, order, keys, sender=remover.id, without=ids, context=room.audience.head
            )
        assert all(each == secret for each in learnt.values())
        assert not learnt.keys() & set(ids)
        if len(ids) == 1:
            assert not missed
        after = room.audience.follow(bytes(room.audience.leave_many(remover, ids, secret=secret)))
        for each in order:
            if each not in ids:  # those who were not reached, too
                assert after.secret(by_id[each]) == secret


def channels_of(room: Room) -> dict[frozenset[bytes], channels.ChannelKey]:
    members = sorted(room.members, key=lambda each: each.id)
    return {
        frozenset((members[one].id, members[other].id)): channels.channel_key(
            members[one].secret_key, members[other].secret_key.public_key
        )
        for one, around in enumerate(channels.neighbours(len(members)))
        for other in around
    }


@pytest.mark.parametrize(
    ("count", "going", "cut", "way"),
    [
        (24, 1, 0, Way.FLOOD),
        (24, 1, 30, Way.FLOOD),
        (24, 1, None, Way.TREE),
        (24, 3, 0, Way.TREE),
        (17, 1, 0, Way.FLOOD),
        (16, 1, 0, Way.FLAT),
        (18, 3, 0, Way.FLAT),
    ],
)
def test_who_goes_is_taken_out_by_the_quickest_way_and_all_others_agree(
    count: int, going: int, cut: int | None, way: Way
) -> None:
    """A flood for one, the tree for several or where there are no channels, a wrap for each below 16. With channels that are cut the flood
    misses some, who read the tree."""
    room = Room(count)
    remover, gone = room.members[0], room.members[3 : 3 + going]
    keys = {} if cut is None else dict(list(channels_of(room).items())[cut:])
    before = room.audience
    done = revoke(before, remover, [each.id for each in gone], keys=keys)
    assert done.way is way
    room.follow(done.update)
    room.members = [each for each in room.members if each not in gone]
    room.check_agreement()
    assert {secret.public_key for secret in done.learnt.values()} <= {room.audience.public_key}
    assert bool(done.learnt) == (way is Way.FLOOD)
    assert bool(done.missed) == bool(cut)
    assert {*done.learnt, *done.missed}.isdisjoint(each.id for each in gone)
    assert room.audience.secret(remover).expose() not in learnt([each.secret_key for each in gone], room.dumps)


def test_a_hop_is_for_one_reader_of_one_flood() -> None:
    one, other = SecretKey.generate(), SecretKey.generate()
    key = channels.channel_key(one, other.public_key)
    assert key == channels.channel_key(other, one.public_key)
    hop = channels.seal_hop(one, key=key, sender=b"1", reader=b"2", context=b"first")
    assert channels.open_hop(hop, key=key, context=b"first") == one
    assert channels.open_hop(hop, key=key, context=b"second") is None
    assert channels.open_hop(replace(hop, reader=b"1"), key=key, context=b"first") is None
    assert channels.open_hop(replace(hop, sealed=hop.sealed[:-1]), key=key, context=b"first") is None
