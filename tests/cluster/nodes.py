"""Connections of one process that go to several servers in turn, as a load balancer between a site and a cluster deals them out."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

from django.db import connection, connections

from benchmarks.kit.servers.clusters import Node
from tests.support import on_server
from tests.waiting import eventually


class Balancer:
    """Deals out nodes in turn: those that serve, or, if none does, those that run, or any."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        #: Where the latest connection went.
        self.latest = nodes[0]
        self._turns = itertools.cycle(nodes)

    def next(self) -> Node:
        serving = [node for node in self.nodes if node.serves]
        known = serving or [node for node in self.nodes if node.runs] or self.nodes
        self.latest = next(node for node in self._turns if node in known)
        return self.latest


@contextlib.contextmanager
def on_nodes(nodes: Sequence[Node]) -> Iterator[Balancer]:
    """Each new connection of this process goes to the next of those that serve, in whatever thread. The driver does not know of others."""
    balancer = Balancer(nodes)
    wrapper = type(connections["default"])
    usual = wrapper.get_connection_params

    def next_node(self: Any) -> dict[str, Any]:
        return {**usual(self), "unix_socket": str(balancer.next().socket)}

    with on_server(nodes[0].url), patch.object(wrapper, "get_connection_params", next_node):
        yield balancer
        connection.close()


def until_they_agree(nodes: Sequence[Node]) -> None:
    """Those that serve know that they are as many, and each has what the others have."""
    serving = [node for node in nodes if node.serves]
    for node in serving:
        eventually(lambda: node.is_one_of(len(serving)), what=f"{len(serving)} nodes agree")  # noqa: B023


def all_return(nodes: Sequence[Node]) -> None:
    """Who was killed, and who was cut off, joins the others again."""
    for node in nodes:
        if not node.runs:
            node.start()
        elif node.isolated:
            node.isolate(isolated=False)
    until_they_agree(nodes)
