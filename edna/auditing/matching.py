"""Finds many texts at once in a text: whole words, whatever their case, written as people and programs write them.

A value begins and ends where a word does: a name is not found in the middle of another word. Whatever stands between words is the
same: a title is found in an address of a page that is made of it. Percent signs, HTML and backslashes that hide letters are looked
behind; of a page, what it says is looked for, and not how it is marked up. Not looked behind: base64, hexadecimal and the like, which
`edna.testing.assert_nothing_left` knows.
Its work grows with the text that is searched, and not with the number of values. Knows no tables.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

#: Scripts without spaces between words: each letter counts as one.
_CJK: Final = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD: Final = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
_IDEOGRAPH: Final = re.compile(f"[{_CJK}]")
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.S)
#: What a program puts into a document for a point in time, for yes and no, and for nothing: nobody's name, as in columns of their own.
_NO_TEXT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d(:?\d\d)?))?|None|True|False"
)
#: Shorter ones stand in every table by chance: letters, or digits alone.
_FEWEST_LETTERS: Final = 3
_FEWEST_DIGITS: Final = 5
_FEWEST_IDEOGRAPHS: Final = 2
#: Of a longer text, its beginning is looked for, which finds excerpts, too. Not of what has no spaces: keys and hashes begin alike.
_LONGEST: Final = 60


def folded(text: str) -> str:
    """As it is compared: without case, in one spelling of each letter, words and nothing else, with one space between them."""
    return _BETWEEN_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def needle(text: str) -> str | None:
    """What is looked for to find ``text``; None if that is too short to say anything."""
    said = _TAG.sub(" ", text)
    words = folded(said) or folded(text)
    if len(words) > _LONGEST and (_IDEOGRAPH.search(words) or len(said.split()) > 1):
        # To the end of a word, so that an excerpt which goes on is found.
        words = words[:_LONGEST].rpartition(" ")[0] or words[:_LONGEST]
    letters = words.replace(" ", "")
    if letters.isdigit():
        return words if len(letters) >= _FEWEST_DIGITS else None
    fewest = _FEWEST_IDEOGRAPHS if _IDEOGRAPH.search(words) else _FEWEST_LETTERS
    return words if len(letters) >= fewest else None


@dataclass(frozen=True)
class Index:
    """Needles by their first word, each with what it stands for."""

    by_word: Mapping[str, list[tuple[str, int]]]

    @classmethod
    def of(cls, needles: Iterable[str]) -> Index:
        """Each is known by its place among them."""
        by_word: dict[str, list[tuple[str, int]]] = {}
        for number, each in enumerate(needles):
            word = _WORD.match(each)
            assert word is not None
            by_word.setdefault(word.group(), []).append((each, number))
        return cls(by_word)

    def found_in(self, value: Any) -> set[int]:
        """Which of them stand in a value of a column."""
        return {number for text in texts_of(value) for number in self._found(folded(text))}

    def _found(self, text: str) -> Iterator[int]:
        for word in _WORD.finditer(text):
            for each, number in self.by_word.get(word.group(), ()):
                if text.startswith(each, word.start()) and _ends(text, word.start() + len(each)):
                    yield number


def _ends(text: str, position: int) -> bool:
    """Whether a word ends there."""
    if position >= len(text) or not text[position].isalnum():
        return True
    return bool(_IDEOGRAPH.match(text[position - 1]) or _IDEOGRAPH.match(text[position]))


def texts_of(value: Any) -> Iterator[str]:
    """All that can be read in a value as a driver gives it, and what is behind signs that hide letters."""
    if isinstance(value, str):
        for text in _behind_signs(value):
            yield text
            if _TAG.search(text):
                yield _TAG.sub(" ", text)
    elif isinstance(value, bytes | bytearray | memoryview):
        yield from texts_of(bytes(value).decode("utf-8", "replace"))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (*texts_of(key), *texts_of(inner))
    elif isinstance(value, list | tuple | set):
        for inner in value:
            yield from texts_of(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _behind_signs(text: str) -> Iterator[str]:
    yield text
    if "%" in text:
        yield unquote(text)
    if "&" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield _ESCAPE.sub(_unescaped, text)


def _unescaped(escape: re.Match[str]) -> str:
    four, two, letter = escape.groups()
    if four or two:
        return chr(int(four or two, 16))
    return " " if letter in "nrtbfv0" else str(letter)


def leaves(value: Any) -> Iterator[str]:
    """The texts that a value is made of, JSON opened: what is worth looking for."""
    if isinstance(value, str):
        if value[:1] in ("{", "[", '"'):
            try:
                value = json.loads(value)
            except ValueError:
                pass
        if isinstance(value, str):
            yield value
            return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            if not (isinstance(inner, str) and _NO_TEXT.fullmatch(inner)):
                yield from leaves(inner)
