"""Clusters of servers that are these tests' own. They end with their module: what comes after it has the usual server again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from benchmarks.kit.servers.clusters import Node, private_galera
from tests.cluster.nodes import on_nodes
from tests.faults.conftest import POST
from tests.installed import installed, registered
from tests.zoo.tables import zoo_installed


@pytest.fixture(scope="module")
def galera(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[Node]]:
    """Three nodes, so that two go on when one is lost. Each of them may be written to."""
    with private_galera(count=3) as nodes, django_db_blocker.unblock(), on_nodes(nodes):
        call_command("migrate", verbosity=0)
        yield nodes


@pytest.fixture(scope="module")
def post_on_galera(galera: list[Node], django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(POST, principals=["post.citizen"]):
        yield


@pytest.fixture(scope="module")
def zoo_tables(galera: list[Node], django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), zoo_installed() as models:
        yield models


@pytest.fixture
def on_galera(
    galera: list[Node], post_on_galera: None, transactional_db: None, tmp_path: Path, settings: Any
) -> Iterator[list[Node]]:
    """All nodes, empty, and everything that `tests.faults` can do."""
    settings.MEDIA_ROOT = tmp_path
    with registered(POST):
        yield galera
    connections.close_all()  # whatever has become of the node that they went to
