"""Policies as people write them."""

from __future__ import annotations

import pytest

from edna.custody.policies.language import MOST_CLAUSES, Clause, Policy
from edna.errors import PolicyMalformed


def test_a_policy_becomes_its_clauses() -> None:
    read = Policy.parse("region = eu and role = restorer and build in (1.2, 1.3)")
    assert str(read) == "build=1.2&region=eu&role=restorer|build=1.3&region=eu&role=restorer"
    assert Policy.of_spelling(str(read)) == read
    assert read.is_satisfied({("region", "eu"), ("role", "restorer"), ("build", "1.3"), ("host", "a")})
    assert not read.is_satisfied({("region", "eu"), ("role", "restorer"), ("build", "1.4")})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1 or a = 2", "a in (2, 1)"),
        ("a=1 and (b=1 or c=1)", "(a = 1 and c = 1) or (b = 1 and a = 1)"),
        ("a = 1 or a = 1 and b = 2", "a = 1"),
        ("a = 1 or (b = 1 and (c = 1 or d = 1))", "a = 1 or b = 1 and c = 1 or b = 1 and d = 1"),
        ("a in (1) and a in (1)", "a = 1"),
    ],
)
def test_what_means_the_same_is_spelled_the_same(one: str, other: str) -> None:
    assert str(Policy.parse(one)) == str(Policy.parse(other))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ends where the name"),
        ("region = eu and", "ends where the name"),
        ("region eu", "'eu' at letter 8"),
        ("region = eu )", "')' at letter 13"),
        ("(region = eu", "ends where )"),
        ("region in ()", "')' at letter 12"),
        ("not region = eu", "cannot say not"),
        ("region != eu", "'!'"),
        ("region = e\u00fc", "'\u00fc', which is its letter 11"),
        ("Region = eu", "no name of an attribute"),
        ("region = " + "e" * 65, "no value"),
        ("(" * 40 + "a = 1" + ")" * 40, "brackets"),
        ("a = 1 or " * 600 + "a = 1", "letters"),
    ],
)
def test_what_is_no_policy_is_told_where(text: str, said: str) -> None:
    with pytest.raises(PolicyMalformed, match=said.replace("(", r"\(").replace(")", r"\)")):
        Policy.parse(text)


def test_no_more_clauses_than_the_cap_also_on_the_way() -> None:
    eight = "({})".format(" or ".join(f"%s{number} = 1" for number in range(8)))
    one, other = eight.replace("%s", "a"), eight.replace("%s", "b")
    assert len(Policy.parse(f"{one} and {other}").clauses) == MOST_CLAUSES
    with pytest.raises(PolicyMalformed, match="more than 64 clauses"):
        Policy.parse(f"{one} and {other} or c = 1")
    with pytest.raises(PolicyMalformed, match="more than 64 clauses"):
        Policy.parse(" and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(60)))


@pytest.mark.parametrize("text", ["", "b=1&a=1", "a=1&a=1", "a", "a=1&", "a==1", "A=1"])
def test_a_clause_has_one_spelling(text: str) -> None:
    with pytest.raises(PolicyMalformed):
        Clause.parse(text)
    with pytest.raises(PolicyMalformed):
        Policy.of_spelling(text)


def test_a_policy_has_one_spelling() -> None:
    for text in ("b=1|a=1", "a=1|a=1"):
        with pytest.raises(PolicyMalformed):
            Policy.of_spelling(text)
