"""Giving up what cannot come back, in a real browser; pictures are in ``build/screenshots``."""

from __future__ import annotations

from typing import Any

import pytest

from apps.showcase.tests.beas import OLD, PASSWORD, Bea
from apps.showcase.tests.test_giving_up import DELETED, waiting
from apps.showcase.tests.test_ways_back import by_password, key_of
from apps.showcase.tests.test_ways_back_browser import Walker

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(params=OLD)
def bea(request: Any, transactional_db: None, beas: dict[str, Bea]) -> Bea:
    found: Bea = beas[request.param]
    return found


def test_it_is_ticked_confirmed_and_gone(page: Any, live_server: Any, bea: Bea) -> None:
    """Whoever has ticked something is asked once more; no address says what it is about; a reload sends nothing again."""
    walker = Walker(page, live_server.url, key_of(bea))
    bea.leave()
    DELETED[key_of(bea)][0].objects.all().delete()
    page.set_default_timeout(20_000)
    walker.go("return")
    walker.fill(**by_password(bea))
    walker.press("Bring my account back")
    walker.sees("What could not come back yet")
    walker.picture("90-returned-almost")
    # What is held is listed with what is disguised, too, for whoever opens the key.
    walker.go("anonymised" if key_of(bea) == "websubmit" else "disguised")
    for name, value in by_password(bea).items():
        if walker.page.locator(f"[name={name}]:visible").count():
            walker.fill(**{name: value})
    walker.page.locator("main form button").first.click()
    walker.sees("What could not come back yet", "Try again …")
    walker.picture("93-what-waits")
    button = walker.page.get_by_role("button", name="Give up what is ticked …")
    assert button.is_disabled()
    for box in walker.page.locator("#held input[type=checkbox]").all():
        box.check()
    walker.press("Give up what is ticked …")
    walker.sees("This is final.")
    walker.picture("91-give-up")
    address = walker.page.url
    assert "?" not in address
    if "email" in by_password(bea) and walker.page.locator("[name=email]:visible").count():
        walker.fill(email=by_password(bea)["email"])
    walker.fill(password=PASSWORD)
    walker.press("Give it up for good")
    assert walker.page.url == address
    walker.sees("This is final.")  # the browser asks for the tick first
    walker.page.get_by_label("I know that this is final").check()
    walker.press("Give it up for good")
    walker.sees("Nothing waits for you any more.")
    walker.picture("92-given-up")
    assert waiting(bea) == []
    assert walker.page.reload().request.method == "GET"
    assert walker.errors == []
