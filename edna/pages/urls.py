"""The addresses of the pages, in the namespace ``edna``. No secret, and nobody's id, is ever part of one."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from django.views.generic import View

from edna.pages import applying, hidden_data, home, receipts, returning
from edna.pages.keys import urls as keys

#: Modules with ``patterns`` of their own, of optional applications: each once, however often Django makes these ready.
beside: Final[dict[str, None]] = {}
#: Modules with addresses below ``api/1/``, of the same.
http_beside: Final[dict[str, None]] = {}


def patterns(page: Callable[[str, type[View], str], Any]) -> list[Any]:
    """``page`` makes one, of its route, its view and its name."""
    return [
        page("", home.Home, "home"),
        page("do/<str:name>/", applying.Apply, "apply"),
        page("hidden/", hidden_data.Hidden, "hidden"),
        page("back/", returning.BringBack, "bring-back"),
        page("api/1/words", hidden_data.HiddenWords, "words"),
        page("give-up/", returning.GiveUp, "give-up"),
        page("receipt/file/", receipts.ReceiptFile, "receipt-file"),
        page("receipt/mail/", receipts.ReceiptMail, "receipt-mail"),
        *keys.patterns(page),
        *(each for name in beside for each in import_module(name).patterns(page)),
    ]
