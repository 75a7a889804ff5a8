"""In Chromium, where keys stay in browsers: on pages whose script uses the key, one after the other, all that can go wrong there.

Pages that are the same on every site go wrong on the bare one (`bare/test_mishaps_in_chromium.py`). A site is made once for all its pages,
and one profile goes through them. Nothing that goes wrong changes anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.guardians.parties import parties
from tests.pages.mishaps import sites
from tests.pages.mishaps.addresses import SITES, Page
from tests.pages.mishaps.site import PASSWORD, Site
from tests.pages.mishaps.unlucky import WRONG, Unlucky, scripted_pages

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]


def share_of(site: Site) -> list[Page]:
    """The site's own pages, those of edna's that it has made otherwise, and every third of optional applications'."""
    others = [page for page in scripted_pages(site) if not page.is_the_same_everywhere]
    optional = [page for page in others if page.view.__module__.startswith("edna.")]
    return [*(page for page in others if page not in optional), *optional[SITES.index(site.name) :: len(SITES)]]


@pytest.mark.parametrize("name", SITES)
def test_each_page_whose_script_uses_the_key(name: str, page: Any, live_server: Any, tmp_path: Path) -> None:
    with parties(tmp_path, CUSTODY="browser"):
        site = sites.MAKE[name]()
        Unlucky(page, live_server.url, site).goes_wrong_on_each(share_of(site))


def test_each_page_of_devices(page: Any, live_server: Any, tmp_path: Path) -> None:
    """In a browser that is one, and another key on paper."""
    with parties(tmp_path, CUSTODY="browser"):
        site = sites.MAKE["websubmit"]()
        walker = Unlucky(page, live_server.url, site)
        of = {each.name: each for each in site.pages if each.name.startswith("devices")}
        walker.goes_wrong(of["devices"])
        walker.opens(of["devices-first"])
        walker.fills(PASSWORD)
        walker.sends()
        walker.sees("This is your only device.")
        for name in ("devices-paper", "devices-add", "devices-rename", "devices-update"):
            walker.goes_wrong(of[name])
        walker.opens(of["devices-paper"])
        walker.fills("")
        walker.sends()
        walker.sees("You see it this once.")
        walker.goes_wrong(of["devices-remove"])
        of.pop("devices-first")  # tried as everybody's page
        assert walker.missed(of.values()) == {}
        assert walker.uncaught == [], walker.uncaught


def test_a_page_does_without_the_module_that_says_whether_this_browser_is_a_device(
    page: Any, live_server: Any, tmp_path: Path
) -> None:
    """Whoever is cut off just then types what opens the key, as anywhere; nothing is thrown."""
    with parties(tmp_path, CUSTODY="browser"):
        site = sites.MAKE["websubmit"]()
        walker = Unlucky(page, live_server.url, site)
        page.route("**/devices/stored*.js", lambda route: route.abort())
        with page.expect_event("requestfailed"):
            walker.opens(next(each for each in site.pages if each.name == "recovery-code"))
        walker.fills("a guess")
        walker.sends()
        walker.sees(WRONG)
        assert walker.uncaught == [], walker.uncaught
