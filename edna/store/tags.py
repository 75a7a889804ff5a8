"""What a row says of itself: that this site wrote it, under a key that is not in the database (`EDNA["MAC_KEYS"]`: the first that the
database knows tags, all verify).

Invariant (nothing forged): whoever writes to the database and has no key of the server makes no row that counts. A tag is over the row's
own key and over all that a vandal would profit from, so that it says nothing of another row; docs/format.md has the bytes. Of several
databases it names the one in which the row is, where the row is about somebody: primary keys are given anew in each. What it
cannot tell is whether an older row of the same key was put back as it was. Knows no table, and decides nothing: who
reads a row says what becomes of one whose tag is wrong.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Callable
from typing import Any, Final

from edna import conf
from edna.crypto.keys import deriving, fingerprint
from edna.store import serverkeys

TAG_BYTES: Final = 16
_KEY: Final = b"edna.tags.key.1"
_HYBRID: Final = 2
_OF_SEVERAL: Final = 4
#: Number, public key and kind of an entry.
_WHOSE: Final = struct.Struct(">q32sB")


class Tags:
    """Makes and checks tags of one kind, for all rows of a statement: the server's keys are read once."""

    def __init__(self, purpose: bytes) -> None:
        self._purpose = purpose
        self._makers = [self._maker(key) for key in conf.mac_keys()]

    def _maker(self, key: bytes) -> Callable[[bytes], bytes]:
        return deriving(fingerprint(key, purpose=_KEY), purpose=self._purpose, size=TAG_BYTES)

    def maker(self, *, using: str) -> Callable[[bytes], bytes]:
        """What makes tags, under the first key that the database knows; if there is nothing to tag, it is not asked.

        What it returns raises:
            ServerKeyUnknown: the database knows no key that is configured.
        """
        makers: list[Callable[[bytes], bytes]] = []

        def made(data: bytes) -> bytes:
            if not makers:
                makers.append(self._maker(serverkeys.first_known(using=using)))
            return makers[0](data)

        return made

    def is_newest(self, tag: Any, data: bytes | None) -> bool:
        """Whether it is right, and was made under the first of the server's keys."""
        return self._verifies(tag, data, self._makers[:1])

    def is_right(self, tag: Any, data: bytes | None) -> bool:
        """Not of a row that has none, nor of one that is not in the shape of such a row: ``data`` is None."""
        return self._verifies(tag, data, self._makers)

    def _verifies(self, tag: Any, data: bytes | None, makers: list[Callable[[bytes], bytes]]) -> bool:
        if tag is None or data is None:
            return False
        given = bytes(tag)
        right = [hmac.compare_digest(given, made(data)) for made in makers]
        return any(right)


def entry_tags() -> Tags:
    return Tags(b"edna.entry.tag.1")


def entry_data(
    pk: int,
    public_key: bytes,
    model: Any,
    reference: Any,
    natural: Any,
    encapsulation_key: bytes | None,
    *,
    database: str | None,
) -> bytes | None:
    """Of an entry of somebody who is there: whose key it is. None of one that names nobody: nothing is sealed to it by others.

    ``database`` is the alias of the one, of several, in which it is: copied to another one, it would say the key of somebody else.
    """
    if len(public_key) != 32 or not isinstance(model, str) or not isinstance(reference, str):
        return None
    names = f"{model}\0{reference}".encode("utf-8", "surrogatepass")
    kind = 1 if natural else 0
    half = b""
    if encapsulation_key is not None:
        # A byte of its own, so that no entry of X25519 has the data of one of the hybrid kind.
        kind += _HYBRID
        half = fingerprint(bytes(encapsulation_key), purpose=b"edna.entry.half1")
    if database is not None:
        # Likewise, so that none of a site with one database counts in one of several, whatever is in its reference.
        kind += _OF_SEVERAL
        names = database.encode("utf-8", "surrogatepass") + b"\0" + names
    return _WHOSE.pack(pk, public_key, kind) + half + names
