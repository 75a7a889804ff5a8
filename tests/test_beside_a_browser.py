"""What follows a browser's test in the same process finds no event loop of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync


@pytest.mark.browser
def test_a_browser_is_driven_through_a_loop_of_this_process(page: Any) -> None:
    page.set_content("here")
    assert page.locator("body").inner_text() == "here"
    assert asyncio._get_running_loop() is not None


def test_what_is_asynchronous_runs_though_a_browser_was_there() -> None:
    async def here() -> str:
        return "here"

    assert async_to_sync(here)() == "here"
