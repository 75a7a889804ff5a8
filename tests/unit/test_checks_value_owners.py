"""Checks of owners by value: what cannot be compared, or is no one person's, is said, and the hints write what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.core.checks import run_checks
from django.db import connection
from django.db.models import F, Index, Q, UniqueConstraint
from django.db.models.functions import Lower, Upper

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders, value_owners
from edna.auditing import treatment
from edna.errors import SpecError
from edna.spec import model_field
from tests.installed import forget_relations, registered, registering
from tests.integration.counter.models import Board, Customer, Entry, EntryNote, Remark, Ticket, Visit
from tests.integration.counter.specs import BY_EMAIL

pytestmark = pytest.mark.long

COUNTER = "tests.integration.counter"
BY_NAME = edna.by_value("nickname", "nickname", principal=Customer)
FOLDED = edna.by_value("submitter_email", "email", principal=Customer, ignore_case=True)
LEAVING_REMARKS = [Remove(Remark, owner=edna.about(Customer, by=name)) for name in ("subject", "context")]


@pytest.fixture(autouse=True)
def counter(settings: Any) -> Iterator[None]:
    """Models without tables: a query would fail the test."""
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, COUNTER]
    settings.EDNA = {**settings.EDNA, "PRINCIPAL_MODELS": ["auth.user", "counter.customer"]}
    forget_relations()
    yield
    forget_relations()


def disguise(*steps: Any) -> type[Disguise]:
    return type(
        "Sample", (Disguise,), {"__module__": __name__, "name": "counter.sample", "transformations": list(steps)}
    )


def found(*steps: Any) -> dict[str, str]:
    """The hints of what checks say of these steps, by their ids."""
    with registering(disguise(*steps)):
        said = [each for each in run_checks(tags=["edna"]) if "Sample" in str(each.obj)]
    hints: dict[str, str] = {}
    for each in said:
        hints[str(each.id)] = hints.get(str(each.id), "") + str(each.hint)
    return hints


@pytest.mark.parametrize(
    ("wrong", "steps", "right"),
    [
        ("E106", [Remove(Visit, owner=edna.by_value("number", "pk", principal=Customer))], None),
        ("E106", [Remove(Visit, owner=edna.by_value("customer_number", "number", principal=Customer))], None),
        ("E106", [Remove(Visit, owner=edna.about(Customer))], [Remove(Entry, owner=edna.about(Customer))]),
        (
            "E106",
            [Remove(Remark, owner=edna.about(Customer))],
            [Remove(Remark, owner=edna.about(Customer, by="subject"))],
        ),
        ("E107", [Remove(Entry, owner=edna.about(Ticket))], None),
        ("E110", [Decorrelate(Ticket, owner=BY_EMAIL)], None),
        ("E130", [Remove(Visit, owner=edna.by_value("customer_number", "email", principal=Customer))], None),
        (
            "W106",
            [Modify(Ticket, owner=BY_NAME, set={"text": ""})],
            [Modify(Ticket, owner=BY_NAME, set={"text": ""}, one_owner=True)],
        ),
        ("W131", [Modify(Ticket, owner=BY_NAME, set={"text": ""})], [Modify(Ticket, owner=FOLDED, set={"text": ""})]),
        (
            "W131",
            [Modify(Ticket, owner=BY_NAME, set={"text": ""})],
            [Modify(Ticket, owner=BY_NAME, set={"text": ""}, reads_whole_table=True)],
        ),
        (
            "W132",
            [Remove(Ticket, owner=[BY_EMAIL, "assigned_to"])],
            [
                Remove(Ticket, owner=[BY_EMAIL, "assigned_to"]),
                Modify(Ticket, owner=BY_EMAIL, set={"submitter_email": ""}),
            ],
        ),
        ("W205", [Remove(Customer)], [Remove(Customer), *LEAVING_REMARKS]),
    ],
)
def test_checks_say_what_is_wrong(wrong: str, steps: list[Any], right: list[Any] | None) -> None:
    """And are silent for what their hints say, where there is something to write."""
    assert f"edna.{wrong}" in found(*steps)
    if right is not None:
        assert f"edna.{wrong}" not in found(*right)


def test_an_index_may_begin_with_what_the_condition_fixes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ticket._meta, "indexes", [Index(fields=["text", "assigned_to", "-nickname"], name="i")])

    def said(where: Q) -> bool:
        return "edna.W131" in found(Modify(Ticket, owner=BY_NAME, where=where, set={"text": ""}))

    assert not said(Q(text="user", assigned_to_id=edna.Param("whose")))
    assert not said(Q(text__exact="user") & Q(Q(assigned_to=None), pk__gt=3))
    for where in (Q(text="user"), Q(text="user") | Q(assigned_to=3), ~Q(text="user", assigned_to=3)):
        assert said(where), where
    assert said(Q(text__gt="user", assigned_to=3))
    assert said(Q(text=F("nickname"), assigned_to=3))
    monkeypatch.setattr(Ticket._meta, "indexes", [Index(F("text"), Lower("submitter_email").asc(), name="i")])
    assert "edna.W131" not in found(Modify(Ticket, owner=FOLDED, where=Q(text="user"), set={"nickname": ""}))
    assert "edna.W131" in found(Modify(Ticket, owner=FOLDED, set={"nickname": ""}))


@pytest.mark.every_database
def test_what_is_in_upper_case_is_of_no_use_to_a_statement_that_compares_lower_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MariaDB and MySQL compare without regard to case by themselves, along any index."""
    folds = connection.vendor == "mysql"

    def said() -> dict[str, str]:
        with registering(disguise(Modify(Ticket, owner=FOLDED, set={"text": ""}))):
            return {
                str(each.id): f"{each.msg} {each.hint}"
                for each in run_checks(tags=["edna"])
                if "Sample" in str(each.obj)
            }

    assert ("edna.W106" in said()) is not folds
    monkeypatch.setattr(Ticket._meta, "indexes", [Index(Upper("submitter_email"), name="i")])
    monkeypatch.setattr(Customer._meta, "constraints", [UniqueConstraint(Upper("email"), name="u")])
    if folds:
        assert said() == {}
        return
    told = said()
    assert "unique in upper case, and compared in lower case here" in told["edna.W106"]
    assert "the one over Upper(...) is of no use" in told["edna.W131"]
    monkeypatch.setattr(Ticket._meta, "indexes", [])
    monkeypatch.setattr(Customer._meta, "constraints", [])
    told = said()
    assert "is unique, but for upper and lower case" in told["edna.W106"]
    assert "the one of submitter_email itself is of no use" in told["edna.W131"]
    monkeypatch.setattr(Ticket._meta, "indexes", [Index(Lower("submitter_email"), name="i")])
    monkeypatch.setattr(Customer._meta, "constraints", [UniqueConstraint(Lower("email"), name="u")])
    assert said() == {}


def test_the_admins_history_of_people_is_covered_by_what_its_hint_says() -> None:
    site = admin.AdminSite("counter")
    site.register(Customer)
    try:
        assert "Add Remove(LogEntry, owner=edna.about(Customer))" in found(Remove(Customer))["edna.W206"]
        assert "edna.W206" not in found(Remove(Customer), Remove(LogEntry, owner=edna.about(Customer)))
        # Beside a step for other owners, it says what W126 would ask.
        other = Remove(LogEntry, owner=edna.by_value("object_repr", "email", principal=Customer))
        about = "Remove(LogEntry, owner=edna.about(Customer), when=edna.ANY_LEFT)"
        assert about in found(Remove(Customer), other)["edna.W206"]
    finally:
        site.unregister(Customer)


def test_a_value_is_given_to_no_pseudoprincipal() -> None:
    """Where the check was silenced, too."""
    with pytest.raises(SpecError, match="Replace the value with Modify"):
        model_field(Ticket, BY_EMAIL)


def test_checks_have_nothing_to_say_of_what_the_counter_does() -> None:
    with registered(COUNTER):
        said = [each for each in run_checks(tags=["edna"]) if "counter" in str(each.obj)]
    # Each of two steps on remarks takes them with whom it names: that is told, and meant.
    assert [each for each in said if each.id != "edna.W126"] == []


def test_hints_name_the_columns_of_what_rows_are_about() -> None:
    """Of another table: the one that has no such columns of its own."""
    hints = found(Remove(Entry, owner=edna.about(Customer)))["edna.E201"]
    assert 'Remove(EntryNote, owner=edna.about(Customer, by=("entry__content_type", "entry__object_id")))' in hints
    step = Remove(EntryNote, owner=edna.about(Customer, by=("entry__content_type", "entry__object_id")))
    assert "edna.E201" not in found(Remove(Entry, owner=edna.about(Customer)), step)
    with pytest.raises(SpecError, match="neither"):
        edna.about(Customer, by="entry__")


def test_the_audit_says_that_an_element_is_in_a_row() -> None:
    of = treatment.of(disguise(Modify(Board, owner=WATCHER, set={"watchers__*": None})))
    (act,) = of.tables[Board].acts
    assert act.whose.startswith("rows in which an element of watchers (by ")


def test_an_owner_that_is_none_is_told_once() -> None:
    """No hint repeats it one table further."""
    assert "edna.E201" not in found(Remove(Ticket, owner=edna.about(Customer)))
    with registering(disguise(Remove(Ticket, owner=edna.about(Customer)))):
        (said,) = [
            each.msg for each in run_checks(tags=["edna"]) if each.id == "edna.E106" and "Sample" in str(each.obj)
        ]
    assert "counter.Ticket has no generic key, and no columns content_type and object_id" in said


def test_a_key_that_the_account_has_is_a_column_of_its_own() -> None:
    """Notes about the settings to which an account refers are found by that key, and not along it."""
    from tests.unit.draft_app.models import Patron

    with pytest.raises(SpecError, match="stands in the account itself: write 'preferences'"):
        value_owners.their_column(Patron, "preferences__pk")
    with pytest.raises(SpecError, match=r"cannot be found by it\.$"):
        value_owners.their_column(Patron, "preferences__second_email")
    assert value_owners.their_column(Patron, "preferences").column.name == "preferences"


@pytest.mark.parametrize(("column", "check_id"), [("slots__name", "edna.E106"), ("slots", "edna.E130")])
def test_what_stands_in_a_document_is_not_compared(column: str, check_id: str) -> None:
    owner = edna.by_value(column, "nickname", principal=Customer)
    with registering(disguise(Modify(EntryNote, owner=owner, set={"text": ""}))):
        (said,) = [each.msg for each in run_checks(tags=["edna"]) if each.id == check_id and "Sample" in str(each.obj)]
    assert "is a JSON document" in said


def test_hints_write_owners_as_code() -> None:
    """What refers to rows that go by value is told as a step that can be copied."""
    hints = " ".join(found(Remove(Ticket, owner=BY_EMAIL), Remove(Customer)).values())
    assert 'Remove(CounterAnswer, owner=edna.by_value("ticket__submitter_email", "email", principal=Customer))' in hints
    assert 'Remove(Remark, edna.about(Customer, by="subject"))' in hints.replace("owner=", "")


def test_placeholder_people_with_one_address_would_own_what_has_it() -> None:
    with registering(
        type("Shared", (edna.Pseudoprincipal,), {"model": Customer, "values": {"email": "nobody@example.org"}})
    ):
        given = disguise(Decorrelate(Ticket, owner="assigned_to"), Modify(Ticket, owner=BY_EMAIL, set={"text": ""}))
        with registering(given):
            assert "edna.E324" in {each.id for each in run_checks(tags=["edna"])}


@pytest.mark.parametrize(
    "owner",
    [
        edna.by_value("ticket__submitter_email", "email", ignore_case=True, principal=Customer),
        edna.by_value({"submitter_email": "email", "nickname": "address__email"}),
        edna.about(Customer),
        edna.about(Customer, by="remark__subject"),
        edna.about(Customer, by=("entry__content_type", "entry__object_id")),
    ],
)
def test_what_is_written_is_read_as_the_same(owner: str) -> None:
    """As code, and as the text that records keep."""
    path, match = value_owners.parsed(owner)
    assert owner == (f"{path}__{match}" if path else str(match))
    assert eval(value_owners.written(owner), {"edna": edna, "Customer": Customer}) == owner


def test_columns_of_no_row_are_refused_when_they_are_written() -> None:
    for wrong in (
        lambda: edna.by_value("email"),
        lambda: edna.by_value({"a__b": "email", "b": "pk"}),
        lambda: edna.by_value({}),
    ):
        with pytest.raises(SpecError):
            wrong()


def test_rows_that_name_a_row_of_the_persons_may_have_its_primary_key() -> None:
    """By whichever name; the person's own is called so, too."""
    for name in ("address__pk", "address__id"):
        owner = edna.by_value("customer_number", name, principal=Customer)
        assert "edna.E106" not in found(Remove(Visit, owner=owner))


WATCHER = edna.by_element("watchers__*", "email", principal=Customer)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([Remove(Board, owner=WATCHER)], "E130"),
        ([Modify(Board, owner=[WATCHER, "owner"], set={"watchers__*": None})], "E130"),
        ([Modify(Board, owner=WATCHER, set={"watchers__*": None, "cc": ""})], "E130"),
        ([Modify(Board, owner=edna.by_element("owner__*", "email", principal=Customer), set={"owner__*": ""})], "E130"),
        ([Modify(Board, owner=edna.by_element("cc__mail", "email", principal=Customer), set={"cc__mail": ""})], "E130"),
        (
            [
                Modify(Board, owner=WATCHER, set={"watchers__*": None}),
                Modify(Board, owner="owner", set={"watchers": placeholders.constant([])}),
            ],
            "E130",
        ),
        ([Modify(Board, owner=edna.by_element("cc__*", "email", principal=Customer), set={"cc__*": "a, b"})], "E302"),
        ([Modify(Board, owner="owner", set={"cc__*": ""})], "E112"),
        ([Modify(Board, owner=edna.by_element("cc__*", "nickname", principal=Customer), set={"cc__*": ""})], "W106"),
    ],
)
def test_what_is_named_in_a_list_is_one_persons_element(steps: list[Any], said: str) -> None:
    """Beside what is said of the table: that no index finds elements."""
    assert f"edna.{said}" in found(*steps)
    assert found(Modify(Board, owner=WATCHER, set={"watchers__*": None})).keys() == {"edna.W131"}


def test_an_index_is_proposed_where_one_finds_elements() -> None:
    """Of a text, none does."""
    of_json = found(Modify(Board, owner=WATCHER, set={"watchers__*": None}))
    of_text = found(Modify(Board, owner=edna.by_element("cc__*", "email", principal=Customer), set={"cc__*": ""}))
    assert ["GinIndex" in told["edna.W131"] for told in (of_json, of_text)] == [True, False]
    assert all("reads_whole_table=True" in told["edna.W131"] for told in (of_json, of_text))


def test_an_owner_in_a_list_is_written_as_it_was_said() -> None:
    for place in ("watchers__*", "people__readers__*__mail", "meta__mail"):
        owner = edna.by_element(place, "address__email", ignore_case=True, principal=Customer)
        assert value_owners.written(owner) == (
            f'edna.by_element("{place}", "address__email", ignore_case=True, principal=Customer)'
        )
    for place in ("watchers", "watchers__0", "watchers__*__", "*__mail"):
        with pytest.raises(SpecError):
            edna.by_element(place, "email")
