"""edna.devices.apps and edna.guardians.apps: what they add to the rest of edna."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps

from edna.engine.books import beside
from edna.pages import handed, urls


def added() -> Any:
    kept = beside._without_slots, beside._openers, beside._before_rotation, urls.beside, urls.http_beside
    return [list(each) for each in (*kept, handed.brings, handed.openers)]


@pytest.mark.parametrize("label", ["edna_devices", "edna_guardians"])
def test_what_is_added_is_there_once_however_often_the_application_is_made_ready(label: str) -> None:
    """Django does so again where a test installs other applications; a rotation would ask for devices once more each time."""
    before = added()
    assert any(before)
    apps.get_app_config(label).ready()
    assert added() == before
