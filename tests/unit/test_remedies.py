"""What a disguise still needs is found at once, and is enough."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.checks import run_checks

import edna
from edna import Decorrelate, Disguise, Keep, Modify, Remove, coverage, registry, remedies, schedules
from edna.naming import written_model, written_step
from tests.unit.draft_app import models as library


@pytest.fixture
def installed(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An application is installed, and its principals with it: ``installed(package, "Person", ...)``."""
    for name in ("_disguises", "_pseudoprincipals", "_by_hand"):
        monkeypatch.setattr(registry, name, {})
    monkeypatch.setattr(schedules, "_schedules", {})

    def install(package: str, *principals: str) -> list[Any]:
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, package]
        label = importlib.import_module(f"{package}.models").MODELS[0]._meta.app_label if "unit" not in package else ""
        labels = [f"{label or package.rpartition('.')[2]}.{name}" for name in principals]
        settings.EDNA = {**settings.EDNA, "PRINCIPAL_MODELS": labels}
        return [apps.get_model(label) for label in labels]

    return install


def removing(model: Any, *steps: Any) -> type[Disguise]:
    attributes = {"name": "remedies.sample", "transformations": [*steps, Remove(model)]}
    return type("Sample", (Disguise,), attributes)


@pytest.mark.parametrize(
    ("package", "principals"),
    [
        ("tests.unit.checks_app", ["Person", "Officer", "UnsignedPerson"]),
        ("tests.unit.draft_app", ["Patron"]),
        ("tests.integration.schemas", ["Keeper", "Citizen", "Player", "Actor", "Painter"]),
        ("tests.zoo", ["Citizen", "Party", "Reader", "Artist", "Customer"]),
        ("tests.lobsters", ["User"]),
    ],
)
def test_the_steps_of_all_hints_together_leave_nothing_uncovered(
    installed: Any, package: str, principals: list[str]
) -> None:
    """But for what no step can reach, which has none."""
    everybody = installed(package, *principals)
    for principal in everybody:
        sample = removing(principal)
        gaps = remedies.gaps(sample, principals=everybody)
        mended = remedies.with_steps(sample, [step for gap in gaps for step in gap.steps])
        hopeless = {gap.relation.label for gap in gaps if not gap.steps}
        assert {relation.label for relation in coverage.uncovered_relations(mended)} == hopeless
        assert coverage.kept_but_constrained(mended) == []
        assert hopeless <= {"draft_app.Chain.previous"}


def test_a_tree_ends(installed: Any) -> None:
    """No owner path goes down for ever: what is below is emptied, or nothing is said and the row has to stay."""
    (patron,) = installed("tests.unit.draft_app", "Patron")
    gaps = {gap.relation.label: gap for gap in remedies.gaps(removing(patron), principals=[patron])}
    assert list(map(written_step, gaps["draft_app.Branch.parent"].steps)) == [
        'Modify(Branch, owner="parent__patron", set={"parent": None})'
    ]
    assert list(map(written_step, gaps["draft_app.Entry.parent"].steps)) == [
        'Modify(Entry, owner="parent__folder__patron", set={"parent": None})'
    ]
    assert gaps["draft_app.Chain.previous"].steps == []


def test_what_is_emptied_for_more_owners_is_covered(installed: Any) -> None:
    """Rows that would point at nothing are emptied in any case; of rows that are removed, more would go than has to."""
    (patron,) = installed("tests.unit.draft_app", "Patron")
    rows = [Remove(library.Answer, "patron"), Remove(library.AnswerLine, "answer__patron")]
    branches = [Remove(library.Branch, "patron"), Remove(library.Branch, "parent__patron")]
    empty = Modify(library.Branch, ["parent__patron", "parent__parent__patron"], set={"parent": None})
    labels = {relation.label for relation in coverage.uncovered_relations(removing(patron, *rows, *branches, empty))}
    assert "draft_app.Branch.parent" not in labels
    lines = [Remove(library.LineMark, ["line__answer__patron", "line__answer__patron"])]
    assert "draft_app.LineMark.line" not in {
        relation.label for relation in coverage.uncovered_relations(removing(patron, *rows, *lines))
    }


def test_checks_list_all_levels_and_say_what_works(installed: Any, settings: Any) -> None:
    (patron,) = installed("tests.unit.draft_app", "Patron")
    edna.register(removing(patron))
    found = {
        message.msg.split("says nothing about ")[1].split(",")[0]: message
        for message in run_checks(tags=["edna"])
        if message.id == "edna.E201"
    }
    # Two tables away from what the disguise removes, by the step that is missing itself.
    line = found["draft_app.LineMark.line"]
    assert "Removes draft_app.AnswerLine by the step of another hint" in line.msg
    assert 'Remove(LineMark, owner="line__answer__patron")' in str(line.hint)
    # Rows of two people, and what hangs on them.
    assert 'Remove(SwapNote, owner=["swap__giver", "swap__taker"])' in str(found["draft_app.SwapNote.swap"].hint)
    # Of a tree, what to write instead.
    tree = str(found["draft_app.Branch.parent"].hint)
    assert 'Modify(Branch, owner="parent__patron", set={"parent": None})' in tree
    assert "Decorrelate Branch instead of removing it" in tree
    assert "Decorrelate Chain instead of removing it" in str(found["draft_app.Chain.previous"].hint)
    # Two models have this name.
    answer = str(found["draft_app.Answer.patron"].hint)
    assert 'Remove(DraftAppAnswer, owner="patron")' in answer
    assert "from tests.unit.draft_app.models import Answer as DraftAppAnswer" in answer
    assert "on_delete=SET_NULL" in answer
    assert 'Keep(ActivityLog, "patron")' in str(found["draft_app.ActivityLog.patron"].hint)


def test_rows_that_can_do_without_what_is_removed_may_stay(installed: Any) -> None:
    """They may be other people's: where their model protects what they refer to, emptying comes first."""
    (patron,) = installed("tests.unit.draft_app", "Patron")
    edna.register(removing(patron, Remove(library.Shelf, "patron")))
    hints = [str(each.hint) for each in run_checks(tags=["edna"]) if "draft_app.Novel.shelf" in each.msg]
    assert hints[0].startswith(
        'Add Modify(Novel, owner="shelf__patron", set={"shelf": None}), or, if the rows are to go, Remove(Novel, owner="shelf__patron")'
    )
    emptied = Modify(library.Novel, "shelf__patron", set={"shelf": None})
    mended = removing(patron, Remove(library.Shelf, "patron"), emptied)
    assert "draft_app.Novel.shelf" not in {relation.label for relation in coverage.uncovered_relations(mended)}


def test_rows_that_go_along_by_their_model_can_be_emptied_instead(installed: Any) -> None:
    (patron,) = installed("tests.unit.draft_app", "Patron")
    edna.register(removing(patron, Remove(library.Novel, "shelf__patron"), Remove(library.Shelf, "patron")))
    hints = [str(each.hint) for each in run_checks(tags=["edna"]) if "draft_app.Blurb.novel" in each.msg]
    assert hints[0].startswith(
        'Add Remove(Blurb, owner="novel__shelf__patron"), or, if the rows are to stay, '
        'Modify(Blurb, owner="novel__shelf__patron", set={"novel": None})'
    )


def test_models_of_others_cannot_be_changed(installed: Any) -> None:
    """Whoever has not written a model cannot give its field another `on_delete`."""
    user = get_user_model()
    installed("tests.unit.draft_app", "Patron")
    sample = removing(user)
    edna.register(sample)
    hints = [str(message.hint) for message in run_checks(tags=["edna"]) if "admin.LogEntry.user" in message.msg]
    assert hints
    assert not any("on_delete" in hint for hint in hints)
    assert all('Remove(LogEntry, owner="user") or Decorrelate(LogEntry, owner="user")' in hint for hint in hints)


def test_steps_are_written_as_code() -> None:
    step = Modify(library.Branch, "patron", set={"text": 'a "word"', "parent": None})
    assert written_step(step) == 'Modify(Branch, owner="patron", set={"text": "a \\"word\\"", "parent": None})'
    assert written_step(Decorrelate(library.Branch, "patron", group_by=["parent"])) == (
        'Decorrelate(Branch, owner="patron", group_by=["parent"])'
    )
    assert written_step(Remove(library.Address, "loan__patron", one_owner=True)) == (
        'Remove(Address, owner="loan__patron", one_owner=True)'
    )
    assert written_step(Keep(library.Branch, "parent")) == 'Keep(Branch, "parent")'
    assert written_model(library.Team.members.through) == "Team.members.through"
