"""What a refusal over HTTP says of a site with several databases."""

from __future__ import annotations

import json

import pytest

import edna
from edna import conf
from edna.api_http.answers import refusal
from edna.errors import DatabaseNotChosen, EdnaError, InvalidParameters, PrincipalError


@pytest.fixture(autouse=True)
def of_several_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conf, "databases", lambda: ("people", "north"))


def said(error: EdnaError) -> str:
    message: str = json.loads(refusal(error).content)["error"]["message"]
    return message


def test_which_databases_there_are_is_not_told() -> None:
    """Neither the one that was meant, nor those that are known."""
    with pytest.raises(DatabaseNotChosen) as unknown, edna.on("nowhere"):
        pass
    assert said(unknown.value) == "DatabaseNotChosen: nothing was changed."
    assert "north" not in said(PrincipalError("This is in 'north', where nobody is."))


@pytest.mark.parametrize("sent", ["north", "nxrth"])
def test_what_was_sent_tells_nothing_of_databases(sent: str) -> None:
    """A refusal that repeats it is the same for a name that is a database's."""
    assert said(InvalidParameters(f"overrides: there is no column {sent!r}.")).startswith("overrides: there is no")


def test_an_alias_that_is_a_word_of_the_sentence_hides_nothing() -> None:
    """Who is refused reads why."""
    assert said(PrincipalError("Two people have this name.")) == "Two people have this name."
