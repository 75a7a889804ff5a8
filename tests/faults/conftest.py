"""What the operations need: WebSubmit, the post with its letters, and a directory for files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from tests.installed import installed, registered
from tests.thorough import thorough

pytest_collection_modifyitems = thorough(__file__)

POST = "tests.faults.post"


@pytest.fixture(scope="module")
def post_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(POST, principals=["post.citizen"]):
        yield


@pytest.fixture
def applications(post_tables: None, transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[None]:
    """Every operation can be prepared."""
    settings.MEDIA_ROOT = tmp_path
    with registered(POST):
        yield
    connections.close_all()
