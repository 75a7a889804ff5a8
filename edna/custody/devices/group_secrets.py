"""The secret of a group: what bags seal to, and what a member hands to another.

Keeps: a secret and its key pair are one (docs/format.md, "Groups of devices"): whoever is handed a secret can compare it with the public
key in the log. Does not know: who has it.
"""

from __future__ import annotations

from typing import Self

import nacl.utils

from edna.crypto.keys import Secret, SecretKey, derive


class GroupSecret(Secret):
    """32 random bytes that the members have in common from one operation to the next. See `Secret` for what it refuses to do."""

    __slots__ = ()

    @classmethod
    def new(cls) -> Self:
        """Return a fresh random secret."""
        return cls(nacl.utils.random(cls.SIZE))

    def secret_key(self) -> SecretKey:
        """The key pair that follows from it: bags are sealed to the public half."""
        return SecretKey(derive(self.expose(), purpose=b"edna.group.key.1", data=b""))
