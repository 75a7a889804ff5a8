"""The zoo's stories on a cluster: what one act does is committed on one node, and looked at on the next. Nodes are lost between two acts
and in the middle of one, and come back some acts later; whoever was at work knows by looking whether it was done.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.db import connection, transaction
from django.db.models import Model, QuerySet
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from benchmarks.kit.servers.clusters import Node
from edna.spec import Disguise
from tests.cluster.faults import BROKEN, CUT_OFF, ERRORS, FAULTS, KILLED, before_statement, strike, while_committing
from tests.cluster.nodes import Balancer, all_return, on_nodes, until_they_agree
from tests.emptying import empty_now
from tests.properties.test_zoo_model import Gallery
from tests.zoo.machine import Habitat, Inhabitant, edna_dump, exact_rows, few, numbers
from tests.zoo.oracle import Snapshot


@dataclass(frozen=True)
class Fault:
    """What will happen in the next act: before a statement of it, or while it commits."""

    how: str
    statement: int | None


class OnNodes(Habitat):
    """Mixed into a habitat. A look is a request of its own, and so on another node than what was done before it."""

    balancer: ClassVar[Balancer]
    #: How many nodes are lost in a story at most: each takes its seconds to be missed, and to come back.
    most_lost: ClassVar[int]
    #: What has happened, in all stories.
    counted: ClassVar[Counter[str]]

    def begin(self) -> None:
        self.story: list[str] = []
        self.nodes_lost = 0
        self.fault: Fault | None = None
        self.counted["stories told on several nodes"] += 1
        connection.close()

    def end(self) -> None:
        all_return(self.balancer.nodes)
        connection.close()
        empty_now()
        for model in self.tables:
            if not model._meta.managed:
                QuerySet(model)._raw_delete(using="default")

    def tell(self, story: str) -> None:
        super().tell(story)
        self.story.append(story)

    def look_at(self, tables: Iterable[type[Model]]) -> Snapshot:
        connection.close()
        return super().look_at(tables)

    # Between two acts

    @property
    def one_can_be_lost(self) -> bool:
        """The others have to be more than half."""
        return self.nodes_lost < self.most_lost and all(node.serves for node in self.balancer.nodes)

    @precondition(lambda self: self.one_can_be_lost and self.nodes_lost + 1 < self.most_lost)
    @rule(which=few, how=st.sampled_from((KILLED, CUT_OFF)))
    def lose_a_node(self, which: int, how: str) -> None:
        node = self.balancer.nodes[which % len(self.balancer.nodes)]
        self.tell(f"node {which} is {how}")
        strike(node, how)
        self.has_lost(how, "between two acts")

    @precondition(lambda self: not all(node.serves for node in self.balancer.nodes))
    @rule()
    def it_is_back(self) -> None:
        self.tell("the node is back")
        all_return(self.balancer.nodes)
        self.counted["nodes were back within a story"] += 1

    def has_lost(self, how: str, when: str) -> None:
        self.counted[f"{'connections were' if how == BROKEN else 'nodes were'} {how} {when}"] += 1
        self.nodes_lost += how != BROKEN
        self.go_on()

    def go_on(self) -> None:
        until_they_agree(self.balancer.nodes)
        self.latest = None
        connection.close()

    # In the middle of one

    @rule(
        how=st.sampled_from(FAULTS),
        statement=st.one_of(st.none(), st.integers(0, 20)),
        act=st.sampled_from(("disguise", "reveal", "reveal", "disguise all", "rotate", "sweep")),
        who=few,
        which=numbers,
        with_key=st.booleans(),
        data=st.data(),
    )
    def act_with_a_fault(
        self, how: str, statement: int | None, act: str, who: int, which: int, with_key: bool, data: Any
    ) -> None:
        self.fault = Fault(how if self.one_can_be_lost else BROKEN, statement)
        self.tell(f"{self.fault}: {act}")
        if act == "disguise":
            self.disguise(who, which, with_key, None, None, data)
        elif act == "reveal":
            self.reveal(who, which, None)
        elif act == "disguise all":
            self.disguise_all(which, None, data)
        elif act == "rotate":
            self.rotate(who, None)
        else:
            self.sweep_now()
        self.fault = None  # nobody was there, or there was nothing to do

    def disguise_one(
        self, person: Inhabitant, cls: type[Disguise], params: Mapping[str, Any], *, with_key: bool, **how: Any
    ) -> None:
        if self.fault is not None:
            how["chunk"] = None  # whoever is struck between two of them has done a part
        super().disguise_one(person, cls, params, with_key=with_key, **how)

    def survive(self, work: Callable[[], Any], crash: int | None) -> Any:
        fault, self.fault = self.fault, None
        if fault is None:
            return super().survive(work, crash)
        return super().survive(partial(self.with_fault, work, fault), None)

    def with_fault(self, work: Callable[[], Any], fault: Fault) -> Any:
        """The result, if it is done, though whoever did it was told otherwise; None if nothing is."""
        before, node, how = edna_dump(), self.balancer.latest, fault.how
        drawer: list[Any] = []

        def put_away() -> Any:
            with transaction.atomic():
                drawer.append(work())
            return drawer[-1]

        if fault.statement is None:
            falls, act, when = while_committing(self.balancer.nodes, node, how), put_away, "in a commit"
        else:
            falls, act, when = before_statement(fault.statement, node, how), work, "in an act"
        try:
            with falls as fell:
                result = act()
        except ERRORS:
            if not fell and fault.statement is not None:
                raise
            if fell:
                self.has_lost(how, when)
            else:
                self.go_on()
            if edna_dump() == before:
                self.counted[f"{when}: nothing was done"] += 1
                return None
            self.counted[f"{when}: all was done"] += 1
            self.answer_was_lost()
            return drawer[-1] if drawer else None
        if fell:
            self.has_lost(how, when)
            self.counted[f"{when}: all was done, and said so"] += 1
        return result

    def answer_was_lost(self) -> None:
        """What else is not done then."""

    # The end

    def teardown(self) -> None:
        self.fault = None
        if (error := sys.exception()) is not None:
            error.add_note("\n".join(self.story))
        try:
            super().teardown()
        except Exception as error:
            error.add_note("\n".join(self.story))
            raise

    def compare_with_the_twin(self) -> None:
        all_return(self.balancer.nodes)
        first, *others = map(self.dump_on, self.balancer.nodes)
        assert others == [first] * len(others), "the nodes differ"
        super().compare_with_the_twin()

    def dump_on(self, node: Node) -> dict[str, list[tuple[str | None, ...]]]:
        with on_nodes([node]):
            return edna_dump() | {model._meta.db_table: exact_rows(model._meta.db_table) for model in self.tables}


class FilesToo(OnNodes):
    """The process does not come to the storage when it is not told that it has committed."""

    def answer_was_lost(self) -> None:
        self.interrupted = True


def told_on(balancer: Balancer, habitat: type[Habitat], *, most_lost: int, counted: Counter[str]) -> type[Habitat]:
    """The habitat, on the nodes."""
    mixin = FilesToo if issubclass(habitat, Gallery) else OnNodes
    own = {"balancer": balancer, "most_lost": most_lost, "counted": counted, "__module__": __name__}
    return type(f"{habitat.__name__}OnNodes", (mixin, habitat), own)
