"""Placeholders: they fit the column, differ per row where they should, and show of the original only what was asked for."""

from __future__ import annotations

import datetime
import re

import pytest
from django.contrib.auth.hashers import is_password_usable
from django.core.validators import validate_email
from django.db import models

from apps.websubmit.models import User
from edna import placeholders
from edna.placeholders import as_placeholder

DRAWS = 300


def drawn(placeholder: placeholders.Placeholder, field: models.Field, original: object = None) -> list[object]:
    return [placeholder.make(field, original) for _ in range(DRAWS)]


@pytest.mark.parametrize("length", [1, 5, 26, 32, 100])
@pytest.mark.parametrize("limit", [3, 30, 255, None])
def test_random_text_respects_the_column(length: int, limit: int | None) -> None:
    field = models.CharField(max_length=limit) if limit else models.TextField()
    values = drawn(placeholders.random_string(length=length), field)
    assert {len(str(value)) for value in values} == {min(length, limit or length)}
    assert all(str(value).isalnum() and str(value) == str(value).lower() for value in values)


def test_random_text_is_unique_and_says_so() -> None:
    """Per row (promise 25): 26 characters of 32 are 130 bits."""
    assert len(set(drawn(placeholders.random_string(), models.CharField(max_length=64)))) == DRAWS
    assert placeholders.random_string().unique
    assert placeholders.random_string(length=26).unique
    assert not placeholders.random_string(length=25).unique


@pytest.mark.parametrize("limit", [3, 8, 20, 255, None])
def test_a_prefix_stands_before_random_text(limit: int | None) -> None:
    field = models.CharField(max_length=limit) if limit else models.TextField()
    for value in map(str, drawn(placeholders.random_string(prefix="member-", length=26), field)):
        assert value.startswith("member-"[:limit])
        assert len(value) == min(limit or 33, 33)


def test_names_to_be_read_differ_and_fit() -> None:
    whole = {str(value) for value in drawn(placeholders.random_name(), models.CharField(max_length=150))}
    assert len(whole) == DRAWS
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-[a-z2-7]{12}", name) for name in whole)
    short = {str(value) for value in drawn(placeholders.random_name(), models.CharField(max_length=16))}
    assert len(short) == DRAWS
    assert {len(name) for name in short} == {16}
    listed = placeholders.random_name(words=["Member", "Guest"], prefix="former ", letters=0)
    assert set(drawn(listed, models.TextField())) == {"former Member", "former Guest"}
    assert placeholders.random_name().unique
    assert not placeholders.random_name(letters=11).unique


def test_every_letter_is_drawn_about_as_often() -> None:
    text = "".join(map(str, drawn(placeholders.random_string(length=32), models.TextField())))
    counts = [text.count(letter) for letter in set(text)]
    assert len(counts) == 32
    assert max(counts) < 2 * min(counts)


def test_what_is_the_same_in_every_row_says_so_and_nothing_else_does() -> None:
    """Such a value is made once for all rows."""
    for placeholder in (placeholders.constant(7), placeholders.null(), placeholders.blank(), as_placeholder("x")):
        assert placeholder.fixed
    for placeholder in (
        placeholders.random_string(),
        placeholders.random_email(),
        placeholders.random_number(minimum=1, maximum=9),
        placeholders.random_choice(),
        placeholders.truncated_date(to="year"),
        placeholders.now(),
        placeholders.unusable_password(),
        placeholders.call(lambda: 7),
    ):
        assert not placeholder.fixed


@pytest.mark.parametrize("limit", [40, 50, 254])
def test_random_addresses_are_addresses_that_nobody_has(limit: int) -> None:
    values = drawn(placeholders.random_email(), models.EmailField(max_length=limit))
    assert len(set(values)) == DRAWS
    for value in values:
        validate_email(value)
        assert len(str(value)) <= limit
        assert str(value).endswith("@anonymous.invalid")
    assert placeholders.random_email().unique
    assert str(placeholders.random_email(domain="x.invalid").make(User._meta.get_field("email"), None)).endswith(
        "@x.invalid"
    )


def test_random_numbers_stay_in_their_bounds() -> None:
    values = set(drawn(placeholders.random_number(minimum=-2, maximum=2), models.IntegerField()))
    assert values == {-2, -1, 0, 1, 2}


def test_random_choices_are_choices() -> None:
    """Those in groups too."""
    field = models.CharField(max_length=1, choices=[("a", "A"), ("group", [("b", "B"), ("c", "C")])])
    assert set(drawn(placeholders.random_choice(), field)) == {"a", "b", "c"}


@pytest.mark.parametrize(("to", "expected"), [("year", (1, 1)), ("month", (2, 1)), ("day", (2, 29))])
def test_dates_are_cut_down(to: str, expected: tuple[int, int]) -> None:
    """29 February included; times lose their time of day and keep their zone; NULL stays NULL."""
    placeholder = placeholders.truncated_date(to=to)
    moment = datetime.datetime(2024, 2, 29, 13, 14, 15, 16, tzinfo=datetime.UTC)
    assert placeholder.make(models.DateField(), moment.date()) == datetime.date(2024, *expected)
    cut = placeholder.make(models.DateTimeField(), moment)
    assert cut == datetime.datetime(2024, *expected, tzinfo=datetime.UTC)
    assert placeholder.make(models.DateField(), None) is None
    assert placeholder.reads_original


def test_dates_are_not_cut_down_to_anything() -> None:
    with pytest.raises(ValueError, match="year"):
        placeholders.truncated_date(to="hour")


def test_the_original_is_read_by_nothing_else() -> None:
    made = [
        placeholders.constant(1),
        placeholders.null(),
        placeholders.blank(),
        placeholders.random_string(),
        placeholders.random_email(),
        placeholders.random_number(minimum=0, maximum=1),
        placeholders.random_choice(),
        placeholders.now(),
        placeholders.unusable_password(),
        placeholders.call(lambda: 1),
    ]
    assert not any(placeholder.reads_original for placeholder in made)
    assert {placeholder.name for placeholder in made if placeholder.unique} == {"random_string", "random_email"}


def test_constants() -> None:
    field = models.TextField(null=True)
    assert placeholders.constant("x").make(field, "y") == "x"
    assert placeholders.null().make(field, "y") is None
    assert placeholders.blank().make(field, "y") == ""
    assert as_placeholder("x").make(field, "y") == "x"
    given = placeholders.blank()
    assert as_placeholder(given) is given


def test_now_is_now() -> None:
    before = datetime.datetime.now(datetime.UTC)
    made = placeholders.now().make(models.DateTimeField(), None)
    assert before <= made <= datetime.datetime.now(datetime.UTC)


def test_nobody_logs_in_with_an_unusable_password() -> None:
    values = drawn(placeholders.unusable_password(), User._meta.get_field("password"))
    assert not any(is_password_usable(str(value)) for value in values)
    assert len(set(values)) == DRAWS


def test_calls_are_made_once_per_row() -> None:
    numbers = iter(range(DRAWS))
    placeholder = placeholders.call(lambda: next(numbers), unique=True)
    assert drawn(placeholder, models.IntegerField()) == list(range(DRAWS))
    assert placeholder.unique


def test_a_placeholder_shows_its_name_and_no_value() -> None:
    assert repr(placeholders.constant("secret")) == "placeholders.constant()"
