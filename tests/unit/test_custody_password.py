"""The password slot's derivation: forgiving about the identifier, exact about the password, silent about both."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from edna.custody import password
from edna.custody.base import SlotSecret
from edna.errors import ConfigurationError
from tests.unit.leaks import assert_error_leaks_nothing

PEPPER = b"a server key of some length"
CHEAP: dict[str, int] = {"opslimit": 1, "memlimit_bytes": 8 * 1024 * 1024}


def secret_of(text: str = "correct horse", identifier: str = "bea@example.org", **costs: Any) -> SlotSecret:
    return password.derive(text, identifier=identifier, **({"pepper": PEPPER} | CHEAP | costs))


@pytest.mark.parametrize(
    "identifier", ["bea@example.org", " Bea@Example.ORG\n", "\uff42ea@example.org", "\u00a0bea@example.org\u2003"]
)
def test_case_spaces_and_unicode_form_of_the_identifier_do_not_matter(identifier: str) -> None:
    """The slot must be found from what a person types years later."""
    assert secret_of(identifier=identifier) == secret_of()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("ΜΑΪΟΣ", "μαϊος"),
        ("e\u0301mile", "É" + "mile"),
        ("K", "\u212a"),
        ("\u00df\u0301", "s\u015b"),
    ],
)
def test_identifiers_that_read_the_same_are_one(one: str, other: str) -> None:
    """Beyond ASCII as well; normalising twice changes nothing."""
    assert password.normalised_identifier(one) == password.normalised_identifier(other)
    assert password.normalised_identifier(password.normalised_identifier(one)) == password.normalised_identifier(one)


def test_the_unicode_form_of_the_password_does_not_matter() -> None:
    """A telephone composes ä, another keyboard sends a and two dots."""
    assert secret_of("p\u00e4ss") == secret_of("pa\u0308ss")


@pytest.mark.parametrize(
    "text", ["Correct horse", " correct horse", "correct horse ", "correct", "", "correct horse\0"]
)
def test_any_other_password_gives_another_secret(text: str) -> None:
    """Neither stripped, nor folded, nor cut at a NUL."""
    assert secret_of(text) != secret_of()


@pytest.mark.parametrize(
    "changes",
    [
        {"identifier": "carl@example.org"},
        {"opslimit": 2},
        {"memlimit_bytes": 9 * 1024 * 1024},
        {"pepper": b"another key of the server"},
        {"pepper": None},
    ],
)
def test_another_identifier_cost_or_server_key_gives_another_secret(changes: dict[str, Any]) -> None:
    """Equal passwords of two people have nothing in common."""
    assert secret_of(**changes) != secret_of()


@pytest.mark.parametrize(
    "costs",
    [{"opslimit": 0}, {"memlimit_bytes": 1}, {"opslimit": 2**40}, {"memlimit_bytes": 2**70}],
)
def test_costs_that_argon2_does_not_take_are_a_configuration_error_that_shows_no_password(
    costs: dict[str, int],
) -> None:
    """The page of Django for a mistake in the settings does not print the password that was just typed."""
    with pytest.raises(ConfigurationError) as caught:
        secret_of("a secret password", **costs)

    assert_error_leaks_nothing(caught.value, b"a secret password", b"bea@example.org")


def test_without_the_server_key_the_slow_part_cannot_be_done_ahead_of_time(monkeypatch: Any) -> None:
    """The salt of Argon2id follows from the identifier and the server's key, not from the identifier alone."""
    salts = []

    def stretched(size: int, secret: bytes, salt: bytes, **costs: int) -> bytes:
        salts.append(salt)
        return bytes(size)

    monkeypatch.setattr(password, "stretch", stretched)
    for identifier, pepper in (("bea", PEPPER), ("bea", PEPPER * 2), ("carl", PEPPER), ("bea", None), ("bea", PEPPER)):
        secret_of(identifier=identifier, pepper=pepper)
    assert [len(salt) for salt in salts] == [16] * 5
    assert (len(set(salts)), salts[0]) == (4, salts[-1])


def test_text_that_is_not_valid_unicode_is_taken_and_not_shown() -> None:
    """A lone surrogate in a password must not end in an exception that carries the password."""
    assert secret_of("pass\ud800word") != secret_of("pass\ud801word")
    assert secret_of(identifier="\ud800") != secret_of()


def test_nothing_of_the_input_can_be_passed_by_position() -> None:
    """Identifier and password cannot be confused."""
    kinds = [parameter.kind for parameter in inspect.signature(password.derive).parameters.values()]

    assert kinds[1:] == [inspect.Parameter.KEYWORD_ONLY] * 4
