"""The shape of an audience's tree: which node lies under which, what a change does to it, and which nodes need new secrets then.

Keeps: a member lies at most ceil(log2 n) + 1 steps below the root. A node that somebody knew who goes is among those to refresh, and so is
everything above it. Whoever reads an update comes to the same shape as who made it. Does not know keys.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

#: Below so many members all hang on the root: each is told its secret, which costs no more than a path.
FLAT_BELOW: Final = 16


def most_depth(members: int) -> int:
    """How far below the root a member may lie."""
    return (members - 1).bit_length() + 1


@dataclass(frozen=True, slots=True)
class Shape:
    """A tree. Leaves are members, by their ids; a number is never given to another node."""

    root: int = 0
    children: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    parents: Mapping[int, int] = field(default_factory=dict)
    leaves: Mapping[bytes, int] = field(default_factory=dict)
    #: The next number to be given.
    next: int = 1

    def path(self, node: int) -> list[int]:
        """The nodes above it, up to the root."""
        found = []
        while node in self.parents:
            node = self.parents[node]
            found.append(node)
        return found

    def depth(self) -> int:
        """Of the member that lies deepest."""
        return self.height(self.root)

    def height(self, node: int) -> int:
        """How many steps below it the member lies who lies deepest."""
        height, level = -1, [node]
        while level:
            level = [child for each in level for child in self.children.get(each, ())]
            height += 1
        return height

    def from_below(self, nodes: Collection[int]) -> list[int]:
        """These, each after those of them that lie below it; the order is the same for everybody."""
        ordered, queue = [], deque([self.root] if self.root in nodes else [])
        while queue:
            node = queue.popleft()
            ordered.append(node)
            # What is above a node that needs a new secret needs one, too: so none is missed.
            queue.extend(child for child in self.children.get(node, ()) if child in nodes)
        return ordered[::-1]


@dataclass(frozen=True, slots=True)
class Change:
    """The shape after a change, and the nodes to refresh, from below."""

    shape: Shape
    refreshed: Sequence[int]


def create(members: Sequence[bytes]) -> Change:
    """A tree of these members."""
    return create_again(Shape(), members)


def join(shape: Shape, members: Sequence[bytes]) -> Change:
    """The tree with these members, who are not in it."""
    if len(shape.leaves) < FLAT_BELOW:
        return create_again(shape, [*shape.leaves, *members])
    draft = _Draft(shape)
    added = {draft.parent_of(draft.add_leaf(member)) for member in members}
    after = draft.shape()
    return Change(after, after.from_below(_with_above(after, added)))


def leave(shape: Shape, members: Collection[bytes], *, known: Collection[int] = ()) -> Change:
    """The tree without these members, of whom one at least is in it and not all. ``known`` are further nodes whose secret one of them
    has set.

    One who goes alone takes the nodes above along, each of which gets a new secret; of several, what is left below those is merged to a
    balanced tree.
    """
    gone = {shape.leaves[member] for member in members}
    staying = [member for member in shape.leaves if member not in members]
    if len(staying) < FLAT_BELOW:
        return create_again(shape, staying)
    spoilt = _with_above(shape, [*(shape.parents[leaf] for leaf in gone), *known])
    if len(gone) == 1:
        draft = _Draft(shape)
        vanished = draft.remove_leaf(next(iter(members)))
        after = draft.shape()
        if after.depth() <= most_depth(len(staying)):
            return Change(after, after.from_below((spoilt - {vanished}) | {after.root}))
    whole = [child for node in spoilt for child in shape.children[node] if child not in spoilt and child not in gone]
    kept = Shape(
        shape.root, shape.children, shape.parents, {member: shape.leaves[member] for member in staying}, shape.next
    )
    return _merged(kept, sorted(whole))


def create_again(shape: Shape, members: Sequence[bytes]) -> Change:
    """A tree of these members alone, anew; who was there keeps their number, and no other was given before."""
    coming = [member for member in members if member not in shape.leaves]
    numbers = {**shape.leaves, **dict(zip(coming, range(shape.next, shape.next + len(coming)), strict=True))}
    leaves = {member: numbers[member] for member in members}
    return _merged(Shape(leaves=leaves, next=shape.next + len(coming)), list(leaves.values()))


def _with_above(shape: Shape, nodes: Iterable[int]) -> set[int]:
    found: set[int] = set()
    for node in nodes:
        for each in (node, *shape.path(node)):
            if each in found:
                break
            found.add(each)
    return found


def _merged(shape: Shape, whole: Sequence[int]) -> Change:
    """One tree of these subtrees of a shape, which stay as they are unless one is too deep: then it is taken apart. The lowest go together
    first, so that the tree is as low as they allow."""
    count, subtrees = len(shape.leaves), list(whole)
    while True:
        heights = {node: shape.height(node) for node in subtrees}
        change = _merge(shape, subtrees, heights)
        if change.shape.depth() <= most_depth(count):
            return change
        tallest = max(subtrees, key=lambda node: (heights[node], node))
        subtrees.remove(tallest)
        subtrees += shape.children[tallest]


def _merge(shape: Shape, subtrees: Sequence[int], heights: Mapping[int, int]) -> Change:
    children: dict[int, tuple[int, ...]] = {}
    number = shape.next
    if len(shape.leaves) < FLAT_BELOW:
        return _finished(shape, {number: tuple(sorted(shape.leaves.values()))}, number)
    heap = [(heights[node], node) for node in sorted(subtrees)]
    heapq.heapify(heap)
    while len(heap) > 1:
        (_, one), (height, other) = heapq.heappop(heap), heapq.heappop(heap)
        children[number] = (one, other)
        heapq.heappush(heap, (height + 1, number))
        number += 1
    return _finished(shape, children, heap[0][1])


def _finished(shape: Shape, new: Mapping[int, tuple[int, ...]], root: int) -> Change:
    children = dict(new)
    waiting = [child for below in new.values() for child in below if child not in new]
    while waiting:
        node = waiting.pop()
        if node in shape.children:
            children[node] = shape.children[node]
            waiting.extend(shape.children[node])
    parents = {child: node for node, below in children.items() for child in below}
    after = Shape(root, children, parents, shape.leaves, max([shape.next, *(node + 1 for node in new)]))
    return Change(after, after.from_below(new.keys() or {root}))


class _Draft:
    """A shape while leaves are put in or taken out."""

    def __init__(self, shape: Shape) -> None:
        self._root, self._next = shape.root, shape.next
        self._children, self._parents, self._leaves = dict(shape.children), dict(shape.parents), dict(shape.leaves)

    def shape(self) -> Shape:
        return Shape(self._root, self._children, self._parents, self._leaves, self._next)

    def parent_of(self, node: int) -> int:
        return self._parents[node]

    def add_leaf(self, member: bytes) -> int:
        """Beside the member who lies highest, under a new node."""
        beside = next(node for node in self._from_above() if node not in self._children)
        leaf, node = self._next, self._next + 1
        self._next += 2
        self._replace(beside, node)
        self._children[node] = (beside, leaf)
        self._parents |= {beside: node, leaf: node}
        self._leaves[member] = leaf
        return leaf

    def remove_leaf(self, member: bytes) -> int:
        """Its sibling takes the place of the node above both, whose number is returned."""
        leaf = self._leaves.pop(member)
        node = self._parents.pop(leaf)
        (sibling,) = (child for child in self._children.pop(node) if child != leaf)
        self._replace(node, sibling)
        self._parents.pop(node, None)
        return node

    def _replace(self, former: int, now: int) -> None:
        if former == self._root:
            self._root = now
            self._parents.pop(now, None)
            return
        above = self._parents[former]
        self._children[above] = tuple(now if child == former else child for child in self._children[above])
        self._parents[now] = above

    def _from_above(self) -> Iterator[int]:
        queue = deque([self._root])
        while queue:
            node = queue.popleft()
            yield node
            queue.extend(self._children.get(node, ()))
