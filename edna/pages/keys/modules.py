"""Which JavaScript modules a page needs, for the browser to ask for all of them at once: each names others, and a chain of names takes a
round trip for each link.

Keeps: the addresses are those by which the modules name each other, so that nothing is fetched twice. Knows no page but by what its script
does (`hands`).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin

from django.apps import apps
from django.templatetags.static import static

_FIRST: Final = "edna/js/pages/start.js"
#: What `start.js` names, and what that names.
_ALWAYS: Final = (
    *("base/bytes.js", "base/errors.js", "base/sodium.js", "custody.js", "keys.js"),
    *("pages/focus.js", "pages/question.js", "pages/said.js", "passkey.js", "server.js", "slots.js", "stretch.js"),
)
_GRAPH: Final = (
    *("bag.js", "base/hpke.js", "base/inflate.js", "container.js", "graph.js", "locator.js", "succession.js"),
    *("values/decode.js", "values/plain.js", "values/sameness.js", "values/spellings.js"),
)
_HANDED: Final = (*_GRAPH, "reveal.js", "values/tagged.js")
_ACTS: Final = (*_HANDED, "pages/acts.js")
_KEY: Final = ("pages/files.js", "pages/key.js")
_WAYS: Final = (*_KEY, "pages/ways.js")
_GUARDIANS: Final = (
    *_KEY,
    "pages/guardians.js",
    *(f"guardians/{name}.js" for name in ("envelope", "evaluation", "group", "tickets", "way-back")),
)
_OF_GUARDIANS: Final = ("guardians", *(f"guardians-{act}" for act in ("withdraw", "veto", "ask", "request")))
_DEVICES: Final = (
    *_GRAPH,
    *("pages/devices.js", "pages/scanned.js", "rotation.js", "values/encode.js"),
    *(
        f"devices/{name}.js"
        for name in ("acts", "device", "keeping", "membership", "messages", "operations", "states", "stored")
    ),
)
_OF_DEVICES: Final = ("devices", *(f"device-{act}" for act in ("first", "add", "paper", "rename", "remove", "update")))
#: By what the script of a page does, what it asks for besides.
_MORE: Final = {
    **dict.fromkeys(("proof", "voices", "receipt", "disguises", "return", "erase"), _ACTS),
    "list": (*_GRAPH, "pages/list.js"),
    **dict.fromkeys(("make", "code"), _KEY),
    "renew": (*_GRAPH, *_KEY, "pages/renew.js", "rotation.js"),
    "take": (*_HANDED, "export.js", "pages/files.js", "pages/take.js", "sealed-file.js"),
    **dict.fromkeys(("password", "passkey"), _WAYS),
    **dict.fromkeys(_OF_GUARDIANS, _GUARDIANS),
    **dict.fromkeys(_OF_DEVICES, _DEVICES),
}


def modules_of(hands: str) -> tuple[str, ...]:
    """What `start.js` leads to on such a page, as paths below ``edna/js/``."""
    return (*_ALWAYS, *_MORE[hands]) if hands in _MORE else _ALWAYS


def addresses_of(hands: str) -> list[str]:
    """Where they are served."""
    if _are_renamed():
        return [static(f"edna/js/{name}") for name in modules_of(hands)]
    return [urljoin(static(_FIRST), f"../{name}") for name in modules_of(hands)]


def _are_renamed() -> bool:
    """Whether the storage of static files writes other names into modules, those with a digest."""
    if not apps.is_installed("django.contrib.staticfiles"):
        return False
    from django.contrib.staticfiles.storage import staticfiles_storage

    return bool(getattr(staticfiles_storage, "support_js_module_import_aggregation", False))
