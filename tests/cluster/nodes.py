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


@contextlib.contextmanager
def on_nodes(nodes: Sequence[Node]) -> Iterator[None]:
    """Each new connection of this process goes to the next of those that run, in whatever thread. The driver does not know of others."""
    turns = itertools.cycle(nodes)
    wrapper = type(connections["default"])
    usual = wrapper.get_connection_params

    def next_node(self: Any) -> dict[str, Any]:
        return {**usual(self), "unix_socket": str(next(node.socket for node in turns if node.runs))}

    with on_server(nodes[0].url), patch.object(wrapper, "get_connection_params", next_node):
        yield
        connection.close()
