"""What the pages say in German and French: no message is missing, fuzzy or broken, and what is compiled is what is written.

After a change, in ``edna/``, with GNU gettext installed (then translate what is empty or fuzzy):

    django-admin makemessages -l de -l fr --no-location --no-wrap -i operations -e html,py,txt
    django-admin compilemessages
"""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils.translation.template import templatize

EDNA = Path(__file__).resolve().parents[2] / "edna"
LANGUAGES = ("de", "fr")
#: Words of the glossary that are none of a visitor's, as pages of these languages would have them.
OURS = r"disguis|pseudoprincipal|principal\b|\bbag\b|locator|slot|edna\b(?!1:)"
_CALLS = {"gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
_PLACES = re.compile(r"%\((\w+)\)s")


def messages() -> Iterator[str]:
    """The first argument of every call; of a message with a plural, both forms."""
    for path in [
        file for room in ("pages", "templatetags", "devices", "guardians") for file in (EDNA / room).rglob("*.py")
    ]:
        yield from _in_code(path.read_text())
    rooms = (EDNA, EDNA / "devices", EDNA / "guardians")
    for path in [file for room in rooms for file in (room / "templates" / "edna").iterdir()]:
        for call in re.findall(r"(?:_|n?gettext)\(.*?\)(?= |$)", templatize(path.read_text()), re.MULTILINE):
            yield from _in_code(re.sub(r"^(_|gettext)\(", "gettext(", call))


def _in_code(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text.strip())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            forms = node.args[: 2 if node.func.id.startswith("n") else 1]
            yield from (str(form.value) for form in forms if isinstance(form, ast.Constant))


def written(language: str) -> dict[Any, str]:
    """The .po file as `gettext` has one that is compiled: (message, number of the form) where there are several."""
    found: dict[Any, str] = {}
    for entry in re.split(r"\n\n", (EDNA / f"locale/{language}/LC_MESSAGES/django.po").read_text()):
        assert "fuzzy" not in entry
        lines = [line for line in entry.splitlines() if not line.startswith("#")]
        parts: dict[str, str] = {}
        for line in lines:
            keyword, quote, rest = line.partition('"')
            name = keyword.strip() or name  # noqa: F821 - of the line before
            parts[name] = parts.get(name, "") + ast.literal_eval(quote + rest)
        forms = {name: text for name, text in parts.items() if name.startswith("msgstr")}
        for name, text in forms.items():
            found[(parts["msgid"], int(name[7])) if "[" in name else parts["msgid"]] = text
    return found


@pytest.fixture(params=LANGUAGES)
def language(request: Any) -> str:
    return str(request.param)


def test_every_message_is_translated(language: str) -> None:
    there = written(language)
    known = {key[0] if isinstance(key, tuple) else key for key, text in there.items() if text}
    plurals = set(re.findall(r'^msgid_plural "(.*)"$', _po(language), re.MULTILINE))
    assert sorted(set(messages()) - known - plurals) == []
    assert len(known) > 150


def test_what_is_compiled_is_what_is_written(language: str) -> None:
    with (EDNA / f"locale/{language}/LC_MESSAGES/django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    there = written(language)
    assert {key: text for key, text in compiled.items() if key} == {key: text for key, text in there.items() if key}


def test_translations_name_what_the_message_names(language: str) -> None:
    """A place that is missing or misspelt would be an error, or a hole, on the page."""
    for key, text in written(language).items():
        message = key[0] if isinstance(key, tuple) else key
        if message:
            assert set(_PLACES.findall(text)) - set(_PLACES.findall(message)) <= {"seconds", "number"}, message
            if not isinstance(key, tuple):
                assert set(_PLACES.findall(text)) == set(_PLACES.findall(message)), message
            assert re.findall(r"</?\w+", text) == re.findall(r"</?\w+", message), message


def test_no_line_ends_before_a_mark_that_french_sets_apart() -> None:
    for text in written("fr").values():
        assert re.findall(r" [:;?!»]|« ", text) == [], text


def test_no_page_says_a_word_of_the_glossary(language: str) -> None:
    said = [*messages(), *written(language).values()]
    assert [text for text in said if re.search(OURS, text, re.IGNORECASE) and "Project-Id" not in text] == []


def _po(language: str) -> str:
    return (EDNA / f"locale/{language}/LC_MESSAGES/django.po").read_text()
