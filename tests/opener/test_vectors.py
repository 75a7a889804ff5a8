"""The JavaScript opener reads tests/vectors as the library does: written from docs/format.md, it is the third that must agree."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable

import pytest

from edna.custody.password import normalised_identifier
from tests.opener.conftest import Case
from tests.unit.test_vectors import CASES

pytestmark = pytest.mark.browser


def expected(case: Case) -> Case:
    return {"error": case["error"]} if "error" in case else {"result": case["expect"]}


def test_the_opener_reads_every_vector_in_node(
    in_node: Callable[..., list[Case]], record_property: Callable[..., None]
) -> None:
    """What is valid gives each value with its type and all its bits; each defect is refused with the error that it names."""
    outcomes = dict(zip(CASES, in_node(CASES.values()), strict=True))

    assert outcomes == {name: expected(case) for name, case in CASES.items()}
    record_property("vectors agreed in Node", len(CASES))


def test_identifiers_are_folded_as_the_library_folds_them(in_node: Callable[..., list[Case]]) -> None:
    """A password slot made on the server is found from the browser, whatever the letters of the address."""
    # Two versions of Unicode differ in the newest letters; those below are older than both.
    letters = [chr(code) for code in range(sys.maxunicode) if _is_old_letter(code)]

    (outcome,) = in_node([{"operation": "normalised_identifier", "input": letters}])

    assert len(letters) > 10_000
    found = zip(letters, outcome["result"], map(normalised_identifier, letters), strict=True)
    assert [(ascii(letter), js, python) for letter, js, python in found if js != python] == []


def _is_old_letter(code: int) -> bool:
    category = unicodedata.ucd_3_2_0.category(chr(code))
    return category[0] in "LMZP" or code in range(0x13A0, 0x13FE) or code in range(0xAB70, 0xABC0) or code == 0x1E9E
