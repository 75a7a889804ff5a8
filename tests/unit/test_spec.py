"""What the developer writes: names, parameters, transformations."""

from __future__ import annotations

import datetime
import decimal
import os
import re
import subprocess
import sys
import uuid
from typing import Any

import pytest
from django.db.models import Exists, OuterRef, Q

from apps.websubmit.models import Answer, Question, User
from edna import ALL, Decorrelate, Disguise, Keep, Modify, Param, Remove, placeholders
from edna.engine.planning.selection import Selection
from edna.errors import InvalidParameters, SpecError
from edna.spec import model_field, parsed_params, validated_name, validated_params


class Sample(Disguise):
    """Does   this
    and that."""

    name = "test.sample"
    params = {
        "count": int,
        "word": str,
        "sure": bool,
        "ratio": float,
        "price": decimal.Decimal,
        "day": datetime.date,
        "at": datetime.datetime,
        "key": uuid.UUID,
    }
    transformations = [Remove(Answer, owner="author"), Keep(Answer, "author"), Remove(User)]


GIVEN: dict[str, Any] = {
    "count": -3,
    "word": "x",
    "sure": False,
    "ratio": 0.5,
    "price": decimal.Decimal("1.20"),
    "day": datetime.date(2024, 2, 29),
    "at": datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC),
    "key": uuid.UUID(int=7),
}


@pytest.mark.parametrize("name", ["a", "shop.delete-account", "a1.b_2-c", "x" * 100])
def test_names_that_can_stand_in_a_receipt(name: str) -> None:
    assert validated_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "A", "a b", "a:b", "a\n", "-a", "a-", "a..b", "a._b", "é", "\u0663", "x" * 101, None, 7]
)
def test_names_that_cannot(name: Any) -> None:
    with pytest.raises(SpecError, match="no disguise name"):
        validated_name(name)


def test_all_parameters_of_their_types_are_taken() -> None:
    assert validated_params(Sample, GIVEN) == GIVEN


@pytest.mark.parametrize("name", Sample.params)
def test_each_parameter_is_needed(name: str) -> None:
    with pytest.raises(InvalidParameters, match=f"needs the parameter '{name}'"):
        validated_params(Sample, {key: value for key, value in GIVEN.items() if key != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", True),
        ("count", "3"),
        ("count", 3.0),
        ("count", None),
        ("count", 2**63),
        ("count", -(2**63) - 1),
        ("word", b"x"),
        ("word", "a\0b"),
        ("sure", 1),
        ("ratio", 1),
        ("price", 1.5),
        ("day", GIVEN["at"]),
        ("at", GIVEN["day"]),
        ("key", str(GIVEN["key"])),
    ],
)
def test_a_parameter_of_another_type_is_refused(name: str, value: Any) -> None:
    """bool is no int and a datetime no date here: to a database they are not."""
    with pytest.raises(InvalidParameters, match=repr(name)):
        validated_params(Sample, GIVEN | {name: value})


def test_a_surplus_parameter_is_refused() -> None:
    with pytest.raises(InvalidParameters, match="no parameter 'more'"):
        validated_params(Sample, GIVEN | {"more": 1})


def test_the_value_of_a_refused_parameter_is_not_in_the_message() -> None:
    with pytest.raises(InvalidParameters) as caught:
        validated_params(Sample, GIVEN | {"count": "bea@example.org"})
    assert "bea@" not in str(caught.value)


def test_texts_become_parameters() -> None:
    """As a command line or a form hands them over."""
    texts = {
        "count": "-3",
        "word": "x",
        "sure": "No",
        "ratio": "0.5",
        "price": "1.20",
        "day": "2024-02-29",
        "at": "2024-02-29T12:00:00Z",
        "key": "00000000-0000-0000-0000-000000000007",
    }
    assert parsed_params(Sample, texts) == GIVEN


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("count", "three"),
        ("count", ""),
        ("sure", "perhaps"),
        ("ratio", "half"),
        ("price", "free"),
        ("day", "2023-02-29"),
        ("day", "today"),
        ("at", "noon"),
        ("key", "7"),
    ],
)
def test_a_text_that_does_not_read_is_refused(name: str, text: str) -> None:
    good = {key: str(value) for key, value in GIVEN.items()} | {"at": "2024-02-29T12:00:00Z"}
    with pytest.raises(InvalidParameters, match=f"'{name}' does not read"):
        parsed_params(Sample, good | {name: text})


def test_a_disguise_says_what_it_does() -> None:
    assert Sample.described() == "Does this and that."
    assert [type(step) for step in Sample.steps()] == [Remove, Remove]
    assert [type(step) for step in Sample.kept()] == [Keep]


def test_the_steps_of_several_owners_are_made_once() -> None:
    class Authors(Disguise):
        name = "sample.authors"
        transformations = (Decorrelate(Answer, owner=["author", "question__lecture"]), Remove(User))

    assert [step.owners for step in Authors.steps()] == [("author",), ("question__lecture",), ()]
    assert [*map(id, Authors.steps())] == [*map(id, Authors.steps())]


def test_defaults_of_a_disguise() -> None:
    assert (Disguise.applies_to, Disguise.locators, Disguise.pseudoprincipal) == ("self", None, None)
    assert (Disguise.params, Disguise.references, Disguise.transformations) == ({}, {}, ())


def test_group_by_all_or_paths() -> None:
    assert Decorrelate(Answer, "author").group_paths == ()
    assert Decorrelate(Answer, "author", group_by=ALL).group_paths == ()
    assert Decorrelate(Answer, "author", group_by=["question__lecture"]).group_paths == ("question__lecture",)
    assert repr(ALL) == "edna.ALL"


def test_modify_takes_values_and_placeholders() -> None:
    step = Modify(Answer, "author", set={"text": "[gone]", "submitted_at": placeholders.now()})
    made = step.placeholders
    field = model_field(Answer, "text")
    assert made["text"].make(field, "original") == "[gone]"
    assert made["submitted_at"].name == "now"


def test_a_parameter_in_a_condition_is_bound_not_spliced() -> None:
    """The text of the statement does not depend on the value."""
    compiled = Selection.compile(
        Answer,
        ["id"],
        owners=["author"],
        where=Q(question__lecture=Param("lecture")) & ~Q(text=Param("text")),
        using="default",
    )
    assert compiled is not None
    assert [param.name for param in compiled.params if isinstance(param, Param)] == ["lecture", "text"]
    assert repr(Param("lecture")) == "Param('lecture')"


@pytest.mark.parametrize(
    ("where", "read"),
    [
        (None, ["websubmit_answer"]),
        (Q(text="x"), ["websubmit_answer"]),
        (Q(question__lecture=1), ["websubmit_answer", "websubmit_question"]),
        (~Q(author__answers__text="x"), ["websubmit_answer", "websubmit_answer"]),
        (Q(question__in=Question.objects.filter(lecture__label="x")), [
            "websubmit_answer", "websubmit_lecture", "websubmit_question",
        ]),
        (Q(Exists(Answer.objects.filter(author=OuterRef("author"), text="x"))), ["websubmit_answer", "websubmit_answer"]),
        (Q(question__in=Question.objects.filter(pk=1).order_by().union(Question.objects.order_by())), [
            "websubmit_answer", "websubmit_question", "websubmit_question",
        ]),
    ],
)  # fmt: skip
def test_a_selection_knows_the_tables_that_it_reads(where: Q | None, read: list[str]) -> None:
    compiled = Selection.compile(Answer, ["id"], owners=["author"], where=where, using="default")
    assert compiled is not None
    assert sorted(compiled.tables) == read
    assert compiled.joins == (len(read) > 1)
    named = re.findall(r'(?:FROM|JOIN) ["`]([^"`]+)["`]', compiled.sql)
    assert sorted(named) == read


def test_one_statement_asks_of_each_selection_whether_it_finds_a_row() -> None:
    found = [
        Selection.compile(model, ["id"], owners=[owner], where=None, using="default")
        for model, owner in ((Answer, "author"), (Question, "lecture"))
    ]
    selections = [each for each in found if each is not None]
    asking = Selection.any_of_each(selections, waiting=[False, False], using="default")
    assert asking.sql.count("EXISTS (SELECT ") == 2
    assert "ORDER BY" not in asking.sql
    owners = [param for param in asking.params if param in selections[0].params]
    assert len(owners) == 2


def test_only_columns_of_the_table_can_be_named() -> None:
    assert model_field(Answer, "text").name == "text"
    with pytest.raises(SpecError, match="not a column"):
        model_field(Question, "answers")


def test_the_words_of_a_specification_need_no_settings_and_no_models() -> None:
    """`apps.py` and `models.py` may import them: they are read before there are any models."""
    code = "import edna; edna.Disguise, edna.ALL_LEFT, edna.by_value, edna.about, edna.placeholders"
    without = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    assert subprocess.run([sys.executable, "-c", code], env=without, check=False).returncode == 0


@pytest.mark.parametrize("names", [(), ("author", "text")])
def test_keep_is_about_one_field(names: tuple[str, ...]) -> None:
    """And says so: a second name would be taken for the reason."""
    with pytest.raises(SpecError, match="about one field"):
        Keep(Answer, *names, why="It stays.")
