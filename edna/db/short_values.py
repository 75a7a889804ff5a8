"""Short forms of what edna's tables hold in every row: a primary key in text form, the label of a model, and the number of a row that is
known by random bytes.

Each is a function of the value alone, so that nothing has to be asked or kept for it. References and labels come back from their
short forms; two references never have the same one. Knows no table.
"""

from __future__ import annotations

import functools
import hashlib
import re
import struct
import uuid
from typing import Any, Final

from django.apps import apps

#: So many bytes: an integer. Text of that length gets a byte more, which ends no text in UTF-8; UUIDs end in another such.
_INTEGER_BYTES: Final = 8
_AFTER_TEXT: Final = b"\xff"
_AFTER_UUID: Final = b"\xfe"
_UUID_BYTES: Final = 17
#: What texts of so many characters come to.
MOST_BYTES: Final = 255 * 4 + 1

_SIGNED, _UNSIGNED = struct.Struct(">q"), struct.Struct(">Q")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_NUMBER: Final = re.compile(r"#-?[0-9]{1,10}", re.ASCII)

#: By their numbers, as far as this process has met them.
_labels: dict[int, str] = {0: ""}


def number_of(random: bytes) -> int:
    """A positive 63-bit number of bytes that were drawn by lot: of the first eight. It grows with them."""
    first: int = _UNSIGNED.unpack_from(
        random if len(random) >= _INTEGER_BYTES else random.ljust(_INTEGER_BYTES, b"\0")
    )[0]
    return first >> 1 or 1


def short_reference(reference: str) -> bytes:
    """Eight bytes of an integer, 17 of a UUID, and of other text a byte more at most than in UTF-8."""
    # For each of many: nearly all are integers.
    try:
        number = int(reference)
        if str(number) == reference:
            return _SIGNED.pack(number)
    except (ValueError, struct.error):
        pass  # a word, or beyond 64 bits
    if _UUID.fullmatch(reference):
        return uuid.UUID(reference).bytes + _AFTER_UUID
    text = reference.encode("utf-8", "surrogatepass")
    return text + _AFTER_TEXT if len(text) == _INTEGER_BYTES else text


def whole_reference(short: object) -> str:
    """Of what `short_reference` makes, as a driver hands it over. Of anything else, which somebody has put there, some text."""
    if type(short) is not bytes:
        if not isinstance(short, memoryview):
            return str(short)
        short = bytes(short)
    if len(short) == _INTEGER_BYTES:
        return str(_SIGNED.unpack(short)[0])
    if len(short) == _UUID_BYTES and short.endswith(_AFTER_UUID):
        return str(uuid.UUID(bytes=short[:-1]))
    text = short.removesuffix(_AFTER_TEXT)
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return text.decode("utf-8", "backslashreplace")


@functools.lru_cache(maxsize=1024)
def label_number(label: str) -> int:
    """Of the label of a model, a 32-bit number; 0 of none."""
    if not label:
        return 0
    if _NUMBER.fullmatch(label):
        return int(label[1:])
    digest = hashlib.blake2b(label.encode(), digest_size=4, person=b"edna.model.label").digest()
    number = int.from_bytes(digest, "big", signed=True) or 1
    _labels[number] = label
    return number


def label_of(number: Any) -> str:
    """The label of this number; of a model that the project does not have, "#" and the number, which `label_number` takes, too."""
    found = _labels.get(number)
    if found is None:
        for model in apps.get_models():
            label_number(model._meta.label_lower)
        found = _labels.get(number, f"#{number}")
    return found
