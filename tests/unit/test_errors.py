"""The error tree: one root, every class tells cause and remedy, every class can be raised with a sentence."""

from __future__ import annotations

import ast
import inspect

import pytest

from edna import errors

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_says_cause_and_remedy(error: type[Exception]) -> None:
    """The docstring is the manual's entry."""
    assert issubclass(error, errors.EdnaError)
    assert error.__doc__ is not None
    assert "Cause: " in error.__doc__ or error is errors.EdnaError
    assert "Remedy: " in error.__doc__


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_can_be_raised_with_a_sentence(error: type[Exception]) -> None:
    """And shows it."""
    assert str(error("what happened and what to do")) == "what happened and what to do"


def test_an_error_carries_what_a_caller_needs() -> None:
    """Where a value could not be encoded; what was held back."""
    value_error = errors.ValueNotEncodable("x", model="a.b", field="c", value_type="set")
    refused = errors.RevealRefused("x", outcome=[1])

    assert (value_error.model, value_error.field, value_error.value_type) == ("a.b", "c", "set")
    assert refused.outcome == [1]


def test_the_errors_know_nobody() -> None:
    """Any layer may raise them."""
    tree = ast.parse(inspect.getsource(errors))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert imported <= {"__future__"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
