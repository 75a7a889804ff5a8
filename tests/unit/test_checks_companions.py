"""Checks of companions: each fires on what it is about, and stays silent on the same thing done right."""

from __future__ import annotations

from typing import Any

import pytest

from edna import ALL, Decorrelate, Remove, placeholders
from tests.unit.checks_app.models import Bench, Card, Comment, Letter, Post, Purse, Shop, Stranger, Wallet
from tests.unit.test_checks import Nobody, Run, ids, message, run, spec  # noqa: F401 - `run` is a fixture

COMMENTS = Decorrelate(Comment, "author")


def generator(companions: Any) -> type[Nobody]:
    return type("Somebody", (Nobody,), {"companions": companions})


def test_a_row_beside_each_user_of_which_nothing_is_said(run: Run) -> None:  # noqa: F811
    found = message(run(generator({Wallet: {}}), spec(COMMENTS)), "W319")
    assert "checks_app.Card.person" in found.msg
    assert "Card: None" in str(found.hint)
    assert "W319" not in ids(run(generator({Wallet: {}, Card: None}), spec(COMMENTS)))


def test_a_proxy_is_another_name_for_the_same_rows(run: Run) -> None:  # noqa: F811
    assert ids(run(generator({Purse: {}, Card: None}), spec(COMMENTS))).count("E318") == 0
    assert "W319" not in ids(run())


@pytest.mark.parametrize(
    "model",
    [
        "checks_app.Wallet",  # no model
        Stranger,  # refers to nobody
        Bench,  # not to a person
        Shop,  # in two tables
    ],
)
def test_what_cannot_be_a_companion(model: Any, run: Run) -> None:  # noqa: F811
    assert "E318" in ids(run(generator({model: {}}), spec(COMMENTS)))
    assert "E318" not in ids(run(generator({Letter: {}}), spec(COMMENTS)))


@pytest.mark.parametrize(
    ("check_id", "values"),
    [("E317", {"person": 7}), ("E317", {"nonsense": 7}), ("E302", {"note": "too long for it"}), ("E312", None)],
)
def test_what_does_not_fill_a_companion(check_id: str, values: Any, run: Run) -> None:  # noqa: F811
    wrong = {Card: {}} if values is None else {Wallet: values}  # nobody says who holds the card
    assert check_id in ids(run(generator(wrong), spec(COMMENTS)))
    assert check_id not in ids(run(generator({Wallet: {"note": placeholders.blank()}}), spec(COMMENTS)))


@pytest.mark.parametrize(
    "steps",
    [
        [Decorrelate(Comment, "author", together="thread")],
        [Decorrelate(Comment, "author", together="thread"), Decorrelate(Letter, "author", together="thread")],
        [
            Decorrelate(Comment, "author", group_by=["post"], together="thread"),
            Decorrelate(Post, "author", group_by=ALL, together="thread"),
        ],
    ],
)
def test_steps_that_can_share_no_pseudoprincipal(steps: Any, run: Run) -> None:  # noqa: F811
    assert "W323" in ids(run(Nobody, spec(*steps)))
    shared = [
        Decorrelate(Comment, "author", group_by=["post"], together="thread"),
        Decorrelate(Post, "author", group_by=["pk"], together="thread"),
        Decorrelate(Wallet, ["person", "banker"], together="wallet"),
    ]
    assert "W323" not in ids(run(spec(*shared)))


def test_a_policy_that_gives_somebody_a_second_one(run: Run) -> None:  # noqa: F811
    def found(**references: str) -> set[str]:
        named = {f"checks_app.{name.replace('__', '.')}": policy for name, policy in references.items()}
        return set(ids(run(Nobody, spec(COMMENTS, references=named))))

    assert "W322" in found(Wallet__person="restore")
    # What refers to such a row follows, by a policy of its own.
    assert found(Wallet__person="delete", Coin__wallet="restore", Wallet__banker="restore").isdisjoint({"W322", "E116"})
    assert "E116" in found(Pin__comment="restore")


def test_a_disguise_that_gives_away_what_a_pseudoprincipal_is_made_with(run: Run) -> None:  # noqa: F811
    step = Remove(Wallet, owner=["person", "banker"])
    assert "E320" in ids(run(generator({Wallet: {}, Card: None}), spec(step)))
    assert "E320" not in ids(run(Nobody, spec(step)))
    assert "E320" not in ids(run(generator({Wallet: {}, Card: None}), spec(COMMENTS, Remove(Wallet, owner="person"))))
