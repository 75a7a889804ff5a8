"""Short forms of references, labels and numbers: nothing is lost, and no two references are one."""

from __future__ import annotations

import itertools
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edna.db.short_values import MOST_BYTES, label_number, label_of, number_of, short_reference, whole_reference

pytestmark = pytest.mark.once

UUID = "0d4f6a0e-1c54-4a3c-9a3e-2f4f0b9f8f00"
REFERENCES = [
    *(
        "",
        "0",
        "7",
        "-7",
        "-0",
        "+7",
        "007",
        " 7",
        "7 ",
        "٣",
        "Meg",
        "meg",
        "e\u0301",
        "\u00e9",
        "x" * 255,
        "\U0001f600" * 255,
    ),
    *(str(2**63 - 1), str(-(2**63)), str(2**63), str(-(2**63) - 1), "9" * 19, "1" * 300),
    *(UUID, UUID.upper(), UUID.replace("-", ""), "{" + UUID + "}"),
    *("eight888", "nine99999", "x" * 16, "x" * 17, "\ud800", "\ud800" * 3, "ab\ud800cde"),
]


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_comes_back(reference: str) -> None:
    short = short_reference(reference)
    assert whole_reference(short) == whole_reference(memoryview(short)) == reference
    assert len(reference) > 255 or len(short) <= MOST_BYTES


def test_no_two_references_are_one() -> None:
    texts = set(REFERENCES) | {short_reference(each).decode("latin-1") for each in REFERENCES}
    for one, other in itertools.combinations(sorted(texts), 2):
        assert short_reference(one) != short_reference(other)


@given(st.text() | st.integers().map(str) | st.uuids().map(str))
def test_every_reference_comes_back(reference: str) -> None:
    assert whole_reference(short_reference(reference)) == reference


def test_usual_keys_are_short() -> None:
    assert len(short_reference("7")) == len(short_reference("-9223372036854775808")) == 8
    assert len(short_reference(str(uuid.UUID(int=1)))) == 17


@given(st.binary())
def test_whatever_stands_there_is_some_text(anything: bytes) -> None:
    assert isinstance(whole_reference(anything), str)


@pytest.mark.parametrize("anything", [7, "7", None])
def test_so_is_what_only_sqlite_would_hold_there(anything: object) -> None:
    assert whole_reference(anything) == str(anything)


def test_labels_have_numbers_of_their_own() -> None:
    """Written down: a database has them."""
    assert (label_number(""), label_number("auth.user"), label_number("websubmit.user")) == (0, -131335467, -704434877)


def test_a_label_comes_back() -> None:
    assert label_of(label_number("auth.user")) == "auth.user"
    assert (label_of(0), label_number("")) == ("", 0)


def test_of_a_model_that_is_not_there_the_number_stays() -> None:
    assert label_of(-12345) == "#-12345"
    assert label_number("#-12345") == -12345
    assert label_of("#nonsense") == "##nonsense"
    assert isinstance(label_number("##nonsense"), int)


def test_numbers_are_positive_and_grow_with_what_they_are_of() -> None:
    assert (number_of(bytes(32)), number_of(b"\xff" * 32)) == (1, 2**63 - 1)
    assert number_of(b"short") == number_of(b"short" + bytes(27))
    keys = sorted(
        bytes([first]) * 7 + bytes([last]) + bytes(24) for first in range(0, 256, 5) for last in range(0, 256, 5)
    )
    assert [number_of(key) for key in keys] == sorted(number_of(key) for key in keys)
