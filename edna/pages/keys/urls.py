"""The addresses of the pages of the key. None of them has a secret, or anybody's id, in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.views.generic import View

from edna.pages.keys import erasing, in_browser, key_and_code, passwords, returning, taking_along


def patterns(page: Callable[[str, type[View], str], Any]) -> list[Any]:
    """``page`` makes one, of its route, its view and its name."""
    return [
        page("key/", key_and_code.MakeKey, "make-key"),
        page("key/code/", key_and_code.RecoveryCode, "recovery-code"),
        page("key/new/", key_and_code.ReplaceKey, "replace-key"),
        page("key/password/", in_browser.KeyPassword, "key-password"),
        page("key/passkey/", in_browser.Passkey, "passkey"),
        page("forgotten/", passwords.Forgotten, "forgotten"),
        page("return/", returning.Return, "return"),
        page("delete/", erasing.DeleteForGood, "delete"),
        page("take-along/", taking_along.TakeAlong, "take-along"),
    ]
