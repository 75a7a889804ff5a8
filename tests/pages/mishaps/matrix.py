"""What can go wrong on which page, in which custody, and which test tries it: for each cell a sentence.

A page is of one kind. A page that stands in no kind has nobody who has thought of what can go wrong there, and `test_matrix` fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.pages.mishaps.addresses import BARE, Page

MISHAPS: Final = (
    "wrong password",
    "lost receipt",
    "taken name",
    "double submit",
    "back button",
    "two tabs",
    "expired session",
    "reload",
    "offline",
    "no scripts",
)
#: Django's client has no scripts, and decides in milliseconds what a browser adds nothing to.
CLIENT: Final = "tried: mishaps/test_without_scripts.py"
#: A site's own pages, and those of edna's that it has made otherwise. Of guardians and devices each on one of the three sites.
CHROMIUM: Final = "tried: mishaps/test_in_chromium.py"
#: All others of edna's, once: view and script are the same on each site.
EVERYWHERE: Final = "tried: bare/test_mishaps_in_chromium.py"
STORIES: Final = "tried: test_mishaps.py"
#: What stands for these two on the README's own project, by custody.
ON_BARE: Final[dict[str, dict[str, str]]] = {
    "server": {CLIENT: "tried: bare/test_mishaps.py", STORIES: "tried: bare/test_browser.py"},
    "browser": {CLIENT: "tried: bare/test_mishaps.py", STORIES: "tried: bare/test_in_browser.py"},
}
OWN: Final = "tried: test_mishaps_of_sites.py"
SAME_FORM: Final = "tried: mishaps/test_in_chromium.py, where a password is asked for: the same form takes no second click while it works"
ASKS_NONE: Final = "cannot: it asks for none"
SENDS_NOTHING: Final = "cannot: it sends nothing"
BROWSERS: Final = "cannot: nothing of ours runs then; the browser says so itself and keeps the form (test_mishaps.py, on each of the three)"
SAME: Final = "as in server custody: no key is used"

_BEGINS = ("tried: ", "cannot: ", "as in server custody: ")
#: Where the tests are that sentences name.
_PLACES = (Path(__file__).resolve().parents[1], Path(__file__).resolve().parents[3])

_NONE = dict.fromkeys(("wrong password", "lost receipt", "taken name"), ASKS_NONE)
_SHOWN = dict.fromkeys(("back button", "expired session", "reload", "no scripts"), CLIENT)
_SENT = dict.fromkeys(("double submit", "two tabs", "expired session", "reload", "no scripts"), CLIENT)
_IN_BROWSER = ("wrong password", "double submit", "back button", "two tabs", "expired session", "reload", "offline")
_SCRIPTED = {**_NONE, "no scripts": CLIENT, **dict.fromkeys(_IN_BROWSER, CHROMIUM)}
_FORM = {**_NONE, **_SHOWN, **_SENT, "offline": BROWSERS}
#: By what a page is, in server custody.
OF_KIND: Final[dict[str, dict[str, str]]] = {
    # shows something, and has no form of its own
    "reads": {**_NONE, **_SHOWN, "double submit": SENDS_NOTHING, "two tabs": SENDS_NOTHING, "offline": BROWSERS},
    # takes what a button on other pages sends
    "button": {**_NONE, **_SENT, "back button": "cannot: it is no page", "offline": BROWSERS},
    # has a form for something that takes no key
    "form": _FORM,
    # asks for the key
    "key": {**_FORM, "wrong password": CLIENT},
    # asks for nothing, and has a script where keys stay in browsers
    "scripted": _FORM,
    # is there where keys stay in browsers alone
    "in browser": dict.fromkeys(MISHAPS, "cannot: there is no such page"),
    # is reached by the answer of another page, which it takes along
    "step": {**_NONE, **_SENT, "back button": "cannot: its address leads to where the way begins", "offline": BROWSERS},
}
#: Where keys stay in browsers, for kinds whose pages are others then.
IN_BROWSER: Final[dict[str, dict[str, str]]] = {
    "key": _SCRIPTED,
    "in browser": _SCRIPTED,
    "scripted": {
        **_SCRIPTED,
        "wrong password": ASKS_NONE,
        "double submit": SAME_FORM,
    },
    "step": {
        **dict.fromkeys(MISHAPS, OWN),
        **_NONE,
        "wrong password": OWN,
        "back button": OWN,
        "expired session": CLIENT,
        "reload": CLIENT,
    },
}
_DEVICES = "tried: tests/devices/test_pages.py"
_OF_DEVICE = dict.fromkeys(("back button", "two tabs", "expired session", "reload", "offline"), CHROMIUM)
_OF_DEVICE |= {**_NONE, "no scripts": CLIENT, "double submit": SAME_FORM}
#: Cells that differ from their kind's, by page and custody.
OTHERS: Final[dict[tuple[str, str], dict[str, str]]] = {
    **{
        (f"{site}:{name}", "server"): {"wrong password": CLIENT}
        for site, names in {
            "websubmit": "login change-password",
            "lobsters": "login change-password",
            "hotcrp": "login change-password case-chairs case-open case case-hand-on",
        }.items()
        for name in names.split()
    },
    **{(f"{site}:register", "server"): {"taken name": CLIENT} for site in ("websubmit", "lobsters")},
    ("hotcrp:register", "server"): {"taken name": "cannot: it answers everybody alike, and mails"},
    ("bare:login", "server"): {"wrong password": CLIENT},
    **{
        (f"edna:{name}", custody): {"taken name": STORIES, "lost receipt": STORIES}
        for name in ("return", "bring-back")
        for custody in ("server", "browser")
    },
    **{
        (f"edna:{name}", "browser"): _OF_DEVICE
        for name in ("devices-add", "devices-paper", "devices-rename", "devices-update", "devices-remove")
    },
    ("edna:devices-remove", "server"): {"double submit": _DEVICES, "two tabs": _DEVICES, "no scripts": _DEVICES},
    **{(f"edna:{name}", "browser"): dict.fromkeys(MISHAPS, SAME) for name in ("receipt-file", "receipt-mail")},
    ("edna:devices", "browser"): _OF_DEVICE,
    ("edna:make-key", "browser"): {"wrong password": ASKS_NONE, "double submit": SAME_FORM},
    ("edna:devices-begin", "browser"): dict.fromkeys(MISHAPS, "cannot: the page of the list does it, by its script"),
    ("edna:give-up", "browser"): {
        **dict.fromkeys(("wrong password", "double submit", "back button", "two tabs", "offline"), CHROMIUM),
        "no scripts": CLIENT,
    },
    ("lobsters:finish", "server"): {"lost receipt": "tried: apps/lobsters_sim/tests/test_browser.py"},
    ("lobsters:finish", "browser"): {"lost receipt": "tried: apps/lobsters_sim/tests/test_in_browser.py"},
}

#: Makes another one each time, and shows that one: the second answer is as good as the first.
RENEWS: Final = frozenset(
    {"recovery-code", "devices-paper", "devices-begin", "devices-update", "case-key", "guardians", "guardians-ask"}
)
#: Does the same once more, which harms nobody: a second mail with the same receipt or link, the same text saved again, another try of what
#: cannot come back.
AGAIN: Final = frozenset({"receipt-mail", "register", "disguised-review", "reclaim"})

#: Of edna's pages, once for all sites; then of each site.
KINDS: Final[dict[str, dict[str, str]]] = {
    "edna": {
        "reads": "home devices",
        "key": "apply hidden bring-back recovery-code replace-key return delete take-along devices-first "
        "guardians guardians-withdraw guardians-veto",
        "form": "forgotten",
        "scripted": "guardians-ask guardians-request",
        "in browser": "make-key key-password passkey",
        "step": "give-up receipt-file receipt-mail devices-begin devices-add devices-paper devices-rename devices-remove devices-update",
    },
    "websubmit": {
        "reads": "home lectures account staff-answers staff-users staff-anonymise",
        "form": "register login lecture change-password staff-lectures staff-lecture staff-question staff-anonymise-all "
        "staff-anonymise-lecture",
        "key": "anonymised",
        "step": "anonymised-edit",
        "button": "logout",
    },
    "lobsters": {
        "reads": "front front-page recent recent-page comments-page profile profile-stories profile-stories-page profile-comments "
        "profile-comments-page messages messages-page sent sent-page message saved saved-page hidden hidden-page tags tag tag-page "
        "hats hats-page moderations moderations-page story submit flag-story choose-topic",
        "form": "stories comments comment edit-story edit-comment moderate-story moderate-comment write-message filters "
        "request-hat register login account change-password",
        "key": "finish disguised",
        "step": "leave-topic edit-disguised",
        "button": "delete-story save unsave hide unhide upvote-story downvote-story unvote-story delete-comment upvote-comment "
        "downvote-comment unvote-comment delete-message doff-hat grant-hat refuse-hat logout",
    },
    "bare": {"form": "login"},
    "hotcrp": {
        "reads": "home papers paper pc dashboard people cases account",
        "form": "login register register-confirm review preferences conflicts anonymise case-chairs case-open case change-password",
        "key": "disguised reclaim",
        "step": "disguised-review",
        "button": "logout comment assign unassign case-key case-hand-on",
    },
}


def kinds_of(site: str) -> dict[str, str]:
    """Each page of the site, or of edna's, with its kind; a page in two kinds is a mistake."""
    found: dict[str, str] = {}
    for kind, names in KINDS[site].items():
        for name in names.split():
            assert name not in found, f"{site}:{name} is of two kinds"
            found[name] = kind
    return found


_KIND_OF = {site: kinds_of(site) for site in KINDS}


def kind_of(page: Page) -> str:
    """
    Raises:
        KeyError: nobody has thought of this page.
    """
    return _KIND_OF["edna" if page.is_ednas else page.site][page.name]


def cells(page: Page, custody: str) -> dict[str, str]:
    """What there is to say of each mishap on this page.

    Raises:
        KeyError: nobody has thought of this page.
    """
    kind = kind_of(page)
    found = OF_KIND[kind] if custody == "server" else IN_BROWSER.get(kind) or dict.fromkeys(MISHAPS, SAME)
    if found.get("expired session") == CHROMIUM and not getattr(page.view, "login_required", True):
        found = {**found, "expired session": "cannot: it is for those who have not logged in, too"}
    found = {**found, **OTHERS.get((f"{'edna' if page.is_ednas else page.site}:{page.name}", custody), {})}
    return {mishap: _of_page(said, page, custody) for mishap, said in found.items()}


def _of_page(sentence: str, page: Page, custody: str) -> str:
    if sentence == CHROMIUM:
        return EVERYWHERE if page.is_the_same_everywhere else CHROMIUM
    return ON_BARE[custody].get(sentence, sentence) if page.site == BARE else sentence


def tried_by(by: str, page: Page, custody: str) -> set[str]:
    """What the test that goes through the pages says to try on this one: `CLIENT` or `CHROMIUM`."""
    said = _of_page(by, page, custody)
    return {mishap for mishap, sentence in cells(page, custody).items() if sentence == said}


def unsaid(pages: Iterable[Page], custody: str) -> list[str]:
    """What is missing from the matrix: cells that say nothing, and tests that are not there."""
    missing = []
    for page in pages:
        said = cells(page, custody)
        missing += [f"{page}: {mishap}" for mishap in MISHAPS if not said.get(mishap, "").startswith(_BEGINS)]
        named = {name for sentence in said.values() for name in re.findall(r"[\w/]+\.py", sentence)}
        missing += [f"{page}: {name}" for name in named if not any((place / name).exists() for place in _PLACES)]
    return missing
