"""The tree stays low whatever happens, and costs what was promised; the channels stand whoever leaves. Of graphs alone: no keys."""

from __future__ import annotations

import random

import pytest

from edna.custody.audiences import channels
from edna.custody.audiences import shape as shapes
from edna.custody.audiences.shape import Change, Shape


def member(number: int) -> bytes:
    return number.to_bytes(16, "big")


def tree(count: int) -> Shape:
    return shapes.create([member(number) for number in range(count)]).shape


def wraps(change: Change) -> int:
    return sum(len(change.shape.children[node]) for node in change.refreshed)


def check(change: Change, before: Shape) -> None:
    """Everybody lies below the root, once, not too deep; what was not refreshed lies over the same nodes as before."""
    after = change.shape
    assert after.depth() <= shapes.most_depth(len(after.leaves))
    for leaf in after.leaves.values():
        assert after.path(leaf)[-1] == after.root
    assert sorted(after.parents) == sorted(child for below in after.children.values() for child in below)
    assert len(set(after.leaves.values())) == len(after.leaves)
    for node, below in after.children.items():
        assert node in change.refreshed or before.children[node] == below
    assert after.root in change.refreshed


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_thousand_random_joins_and_leaves_keep_the_tree_low(seed: int) -> None:
    chance = random.Random(seed)
    shape, number = tree(chance.choice([2, 40, 300])), 1000
    for _ in range(1000):
        before = shape
        going = chance.random() < 0.5 and len(shape.leaves) > 5
        if going:
            gone = set(chance.sample(list(shape.leaves), chance.choice([1, 1, 1, 3])))
            known = chance.sample(list(shape.children), min(2, len(shape.children)))
            change = shapes.leave(shape, gone, known=known)
            for node in set(known) & change.shape.children.keys():
                assert node in change.refreshed  # who goes has set its secret
            for above in (node for each in gone for node in before.path(before.leaves[each])):
                assert above not in change.shape.children or above in change.refreshed
        else:
            change = shapes.join(shape, [member(number)])
            number += 1
        check(change, before)
        shape = change.shape


def test_members_who_leave_one_side_alone_do_not_make_the_other_too_deep() -> None:
    shape = tree(256)
    for each in [member(number) for number in range(256) if number not in (0, 64, 128, 192, *range(8, 24))]:
        before, change = shape, shapes.leave(shape, {each})
        check(change, before)
        shape = change.shape
    assert len(shape.leaves) == 20


def test_one_who_leaves_costs_a_path_of_wraps() -> None:
    assert max(wraps(shapes.leave(tree(1024), {member(gone)})) for gone in (0, 1, 511, 1023)) <= 20
    assert wraps(shapes.leave(tree(16_384), {member(9)})) <= 30


def test_many_who_leave_at_once_cost_less_than_two_fifths_of_telling_everybody() -> None:
    gone = {member(number) for number in random.Random(1).sample(range(1024), 32)}
    change = shapes.leave(tree(1024), gone)
    assert wraps(change) + len(change.refreshed) * 32 / 80 < 0.4 * (1024 - 32)


def test_below_sixteen_everybody_hangs_on_the_root() -> None:
    assert tree(15).depth() == 1
    assert tree(16).depth() == 4
    assert shapes.leave(tree(16), {member(3)}).shape.depth() == 1


def cut_off_by_one(around: list[set[int]]) -> list[int]:
    """Whose leaving would cut others off: the articulation points of a graph (Tarjan 1972), for all in one walk."""
    order: dict[int, int] = {0: 0}
    low, found, children = {0: 0}, [], 0
    stack = [(0, -1, iter(sorted(around[0])))]
    while stack:
        node, parent, others = stack[-1]
        other = next(others, None)
        if other is None:
            stack.pop()
            if parent > 0 and low[node] >= order[parent]:
                found.append(parent)
            if parent >= 0:
                low[parent] = min(low[parent], low[node])
        elif other not in order:
            order[other] = low[other] = len(order)
            children += node == 0
            stack.append((other, node, iter(sorted(around[other]))))
        elif other != parent:
            low[node] = min(low[node], order[other])
    assert len(order) == len(around)
    return found + [0] * (children > 1)


def test_a_flood_reaches_all_after_any_single_removal() -> None:
    for count in range(4, 513):
        around = channels.neighbours(count)
        assert not cut_off_by_one(around)
        assert max(map(len, around)) <= 5


def test_a_flood_goes_where_the_graph_says() -> None:
    for count in (4, 5, 16, 31):
        for gone in range(count):
            start = (gone + 1) % count
            hops = channels.flood(count, start=start, without={gone})
            assert {start, *(reader for _, reader in hops)} == set(range(count)) - {gone}
            assert all(reader in channels.neighbours(count)[teller] for teller, reader in hops)
    # Of several, somebody may be cut off: then the tree tells them.
    assert channels.flood(6, start=0, without={1, 2, 5}) == []
