"""People with a key in the hands of a test, and keys that cost nothing.

A password's key slot is slow by purpose (Argon2id); tests need no such protection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from django.conf import settings
from django.test.utils import override_settings

import edna
from edna import conf

if TYPE_CHECKING:
    from edna.api import HistoryEntry, Outcome, Receipt, SecretKey, Unlocked

#: Argon2id's opslimit and memlimit in bytes: the least that it takes.
_CHEAPEST: Final = (1, 8192)


@contextmanager
def cheap_keys() -> Iterator[None]:
    """In this block a password's key slot is made and opened in no time. Slots made before still open, at their own cost."""
    opslimit, memlimit_bytes = _CHEAPEST
    cheap = {"ARGON2_OPSLIMIT": opslimit, "ARGON2_MEMLIMIT_BYTES": memlimit_bytes, "ARGON2_FORMER": conf.argon2_costs()}
    with override_settings(EDNA={**getattr(settings, "EDNA", {}), **cheap}):
        yield


@dataclass
class Person:
    """Somebody with an account and a key: what they would do on the site's pages, in one line each."""

    user: Any
    secret_key: SecretKey
    recovery_code: str = field(default="", repr=False)

    @classmethod
    def registered(cls, user: Any, *, password: str | None = None) -> Self:
        """A principal for the user. With ``password``, it opens the key too."""
        made = edna.register_principal(user, password=password)
        assert made.secret_key is not None
        return cls(user, made.secret_key, str(made.recovery_code))

    def unlock(self, **kwargs: Any) -> Unlocked:
        return edna.unlock(secret_key=self.secret_key, **kwargs)

    def disguise(self, name: str, *, with_key: bool = False, **params: Any) -> Receipt:
        if not with_key:
            return edna.disguise(name, self.user, params=params)
        with self.unlock() as unlocked:
            return edna.disguise(name, self.user, params=params, unlocked=unlocked)

    def reveal(self, receipt: Receipt | str, **kwargs: Any) -> Outcome:
        with self.unlock() as unlocked:
            return edna.reveal(receipt, unlocked, **kwargs)

    def history(self) -> list[HistoryEntry]:
        with self.unlock() as unlocked:
            return edna.history(unlocked)

    def reveal_latest(self) -> Outcome:
        return self.reveal(self.history()[0].receipt)

    def reveal_everything(self) -> None:
        """Newest first, each of them completely."""
        while entries := self.history():
            outcome = self.reveal(entries[0].receipt)
            assert outcome.complete, outcome
