"""A first draft of a disguise: a module that runs, and after which the checks say nothing but what a person has to decide."""

from __future__ import annotations

import ast
import importlib.util
import io
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from edna import registry, schedules
from edna.auditing.remaining_columns import remaining

pytestmark = pytest.mark.long

Write = Callable[..., str]


@pytest.fixture
def write(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """The module that the command writes for an application and its principals: ``write(package, "Person", ...)``."""
    for name in ("_disguises", "_pseudoprincipals", "_by_hand"):
        monkeypatch.setattr(registry, name, {})
    monkeypatch.setattr(schedules, "_schedules", {})

    def write(package: str | None, *principals: str, **options: Any) -> str:
        if package is not None:
            settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, package]
            label = next(config.label for config in apps.get_app_configs() if config.name == package)
            principals = tuple(f"{label}.{name}" for name in principals)
        settings.EDNA = {**settings.EDNA, "PRINCIPAL_MODELS": [*principals]}
        out = io.StringIO()
        call_command("edna_scaffold", stdout=out, stderr=io.StringIO(), **options)
        return out.getvalue()

    return write


def run_module(text: str) -> list[str]:
    """What the checks say of the module's classes once it is imported: the ids."""
    exec(compile(text, "disguises.py", "exec"), {"__name__": "draft.disguises"})
    return [str(message.id) for message in run_checks(tags=["edna"]) if str(message.obj).startswith("draft.")]


def steps_of(text: str) -> dict[str, str]:
    """The steps of a module on one line each, with the comments above them."""
    lines, found = text.splitlines(), {}
    lists = [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
    ]
    for step in [step for each in lists for step in each.elts]:
        above = itertools.takewhile(lambda line: line.strip().startswith("#"), reversed(lines[: step.lineno - 1]))
        found[ast.unparse(step).replace("'", '"')] = " ".join(line.strip(" #") for line in reversed([*above]))
    return found


LIBRARY = ("tests.unit.draft_app", "Patron")


@pytest.mark.parametrize(
    ("package", "principals", "decide"),
    [
        ("tests.unit.draft_app", ["Patron"], []),
        ("tests.unit.checks_app", ["Person", "Officer", "Guest", "UnsignedPerson"], ["edna.W209", "edna.W123"]),
        ("tests.integration.schemas", ["Keeper", "Citizen", "Player", "Actor", "Painter"], []),
        ("tests.zoo", ["Citizen", "Party", "Reader", "Artist", "Customer"], []),
        ("tests.lobsters", ["User"], []),
        (None, ["websubmit.User", "lobsters_sim.User", "hotcrp_sim.ContactInfo"], []),
    ],
)
def test_the_checks_are_silent_but_for_what_a_person_decides(
    write: Write, tmp_path: Path, package: str | None, principals: list[str], decide: list[str]
) -> None:
    """The module runs, registers a disguise for each kind of principal, and is as formatters have it; the same again each time."""
    text = write(package, *principals)
    again = io.StringIO()
    call_command("edna_scaffold", stdout=again, stderr=io.StringIO())
    assert again.getvalue() == text
    assert run_module(text) == decide
    assert len(registry.disguises()) == len(principals)
    (tmp_path / "disguises.py").write_text(text)
    ruff = [sys.executable, "-m", "ruff"]
    for arguments in (["format", "--diff", "--line-length=88"], ["check", "--select=E,F", "--line-length=88"]):
        done = subprocess.run([*ruff, *arguments, "--isolated", tmp_path], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_each_kind_of_table_has_its_step_and_its_reason(write: Write) -> None:
    text = write(*LIBRARY)
    steps = steps_of(text)
    for step, reason in {
        'Remove(DraftAppAnswer, owner="patron")': "Cascade: it goes with the account.",
        'Remove(LineMark, owner="line__answer__patron")': "Cascade: it goes with its AnswerLine.",
        'Remove(Dossier, owner="patron")': "Profile: one to one",
        'Remove(ActivityLog, owner="patron")': "Log: what this person did.",
        'Remove(ReadingToken, owner="patron", returning=edna.NOTHING)': "Token: whoever has it can act as this person.",
        'Remove(AddressConfirmation, owner="patron", returning=edna.NOTHING)': "Token: ",
        'Remove(PatronActivation, owner="patron", returning=edna.NOTHING)': "Token: ",
        'Remove(PatronSession, owner="patron", returning=edna.NOTHING)': "Session: a new one begins",
        'Remove(ReadingSession, owner="patron")': "Cascade: it goes with the account.",
        'Remove(Preferences, owner="patron")': "Beside the account: draft_app.Patron.preferences refers to it, one to one.",
        'Remove(Preferences.followed.through, owner="preferences__patron")': "Through table: Preferences.followed.",
        'Remove(ChangeLog, owner=edna.about(Patron, by=("content_type", "object_pk")))': "Log: it is about the account",
        'Modify(Machine, owner="keeper", set={"warning_email": ""})': "These rows stay.",
        'Modify(Contact, owner="kept_by", set={"name": "", "work_email": ""})': "These rows stay.",
        'Remove(CodeToken, owner="device__patron")': "Second factor: it goes and comes back with its CodeDevice.",
        'Remove(ResearchGrant, owner="patron")': "Cascade: it goes with the account.",
        'Remove(Team.members.through, owner="patron", returning=edna.NOTHING)': "Through table: Team.members. It looks like rights.",
        'Remove(Press.superusers.through, owner="patron", returning=edna.NOTHING)': "Press.superusers. It looks like rights.",
        'Remove(Patron.wishes.through, owner="patron")': "Through table: Patron.wishes.",
        'Remove(Swap, owner=["giver", "taker"])': "Shared: it goes when the last of these people leaves",
        'Remove(SwapNote, owner=["swap__giver", "swap__taker"])': "Cascade: it goes with its Swap.",
        'Decorrelate(Branch, owner="patron")': "Tree: rows of others hang below (draft_app.Branch.parent)",
        'Decorrelate(Chain, owner="patron")': "Tree: ",
        'Decorrelate(Will, owner="patron", group_by=["pk"], together="will")': "Kept by the site (PROTECT)",
        'Decorrelate(HistoricalWill, owner="patron", group_by=["id"], together="will")': "History: copies of rows of Will",
        'Modify(HistoricalWill, owner="patron", set={"contact_email": ""})': "what would still say whose they were",
        'Decorrelate(Outline, owner="patron")': "Tree: rows of others may be below (path, depth, numchild)",
        'Modify(Entry, owner="parent__folder__patron", set={"parent": None})': "moves to the top",
        'Decorrelate(Loan, owner="patron")': "Kept by the site (PROTECT)",
        'Modify(Loan, owner="patron", set={"email": ""})': "what would still say whose they were",
        'Decorrelate(Shelf, owner="patron")': "draft_app.Copy.shelf (PROTECT) needs these rows",
        'Modify(Guestbook, owner="patron", set={"author_name": None, "author_email": "", "ip_address": "0.0.0.0"})': "These rows stay.",
        "Remove(LogEntry, owner=edna.about(Patron))": "Log: it is about the account",
        'Modify(Patron, owner="warden", set={"warden": None})': "Another person's account",
        'Remove(Sticker, owner="answer__patron")': "Cascade: ",
        "Remove(Sticker, owner=edna.about(Patron))": "Generic: it is about the account",
        'Keep(Pass, "to")': 'Of models of others: owner=edna.by_value("object_id", "post__pk")',
        'Keep(Sticker, "on")': "Decide: as above",
        'Remove(Seat, owner="patron")': "Cascade: ",
        'Keep(Counter, "folder")': "Decide: its model says that this may point at nothing",
        'Remove(Patron, returning={"is_staff": False, "is_accounting_officer": False, "is_lending_office": False})': "Rights do not",
    }.items():
        assert reason in steps.get(step, "missing"), step
    assert not any(
        "Locker" in step or "GoldenSticker" in step or "booked_by" in step or "named_by" in step for step in steps
    )
    assert "Decide: it keeps remarks." in steps['Decorrelate(Loan, owner="patron")']


def test_what_a_model_empties_is_listed(write: Write) -> None:
    assert "    #   draft_app.Guestbook.patron (SET_NULL)\n" in write(*LIBRARY)


def test_what_is_written_beside_a_key_is_of_whom_that_leads_to(write: Write) -> None:
    """A moderator who leaves takes the own name along and not the author's, and a copy of a handle is no less a name."""
    text = write(*LIBRARY)
    steps = steps_of(text)
    assert 'Modify(Review, owner="author", set={"author_name": "", "author_handle": ""})' in steps
    assert 'Modify(Review, owner="hidden_by", set={"hidden_by_name": None, "hidden_by_handle": None})' in steps
    assert sum("Modify(Review" in step for step in steps) == 2
    assert 'owner=edna.by_value("author_handle", "handle"),' in text
    assert "edna.W207" not in run_module(text)


def test_what_rows_of_a_person_refer_to_is_listed_with_what_it_says(write: Write) -> None:
    text = write(*LIBRARY)
    assert "    #   draft_app.Address (by draft_app.Loan.sent_to); keeps street\n" in text
    assert "    #   draft_app.Locker (by draft_app.Patron.locker); keeps label_email\n" in text


def test_the_report_says_which_key_of_the_account_refers_to_a_row(write: Write) -> None:
    """It said that no key leads to a person, and went on to a table that is one account's each."""
    write(*LIBRARY)
    whys = {each.label: each.why for each in remaining([])}
    assert whys["draft_app.Preferences.second_email"].endswith("draft_app.Patron.preferences refers to it, one to one")
    assert whys["draft_app.DoorAttempt.username"] == "no foreign key leads from this table to a person"


def test_what_a_table_in_between_ties_to_people_is_listed_with_what_it_keeps(write: Write) -> None:
    """Where something in it may name one of them, and only where the draft takes them out of it."""
    text = write(*LIBRARY)
    assert "    #   draft_app.MailSettings (by recipients); keeps cc_list, watchers\n" in text
    assert "draft_app.Team (by" not in text
    assert "draft_app.Book (by" not in text


def test_what_no_key_ties_to_a_person_is_listed_by_what_it_says(write: Write) -> None:
    """Of a whole account: a draft for one application says nothing of the others."""
    said = "    #   draft_app.DoorAttempt (username)\n"
    assert said in write(*LIBRARY)
    assert said not in write(None, "draft_app.Patron", applications=["draft_app"])


def test_lists_of_several_people_in_one_column_are_listed(write: Write) -> None:
    """Each has an element of them, in rows of everybody; no key says so."""
    text = write(*LIBRARY)
    assert "    #   draft_app.MailSettings (cc_list)\n" in text
    assert "    #   draft_app.MailSettings (watchers)\n" in text
    assert "    #   draft_app.SentMail (to)\n" in text
    assert "draft_app.OpeningHours (" not in text
    assert '    #           owner=edna.by_element("cc_list__*", "email"),\n' in text
    assert "    #   draft_app.Complaint (reply_to)\n" in text
    assert "    #   draft_app.Complaint (to)\n" in text
    # Nothing there says that it is about mails.
    assert "draft_app.Correspondent (to)" not in text
    assert "draft_app.MailSettings (" not in write(None, "draft_app.Patron", applications=["draft_app"])


def test_steps_in_comments_can_be_pasted(write: Write) -> None:
    """Rows of guests, who have no account, and tables that no key ties to one, by what the account has, too."""
    text = write(*LIBRARY)
    pasted = [line.removeprefix("    #       ") for line in text.splitlines() if line.startswith("    #       ")]
    imports = [line for line in pasted if line.startswith("from ")]
    steps = "\n".join(line for line in pasted if line not in imports)
    assert 'owner=edna.by_value("author_email", "email")' in steps
    assert "where=Q(patron=None)" in steps
    assert 'Remove(LetterDrawer, owner=edna.by_value("email", "email")),' in steps
    assert 'owner=edna.by_element("watchers__*", "email"), set={"watchers__*": None}' in " ".join(steps.split())
    assert 'owner=edna.by_element("cc__*", "email"), set={"cc__*": ""}' in " ".join(steps.split())
    assert 'set={"bcc__*": placeholders.random_email()}' in " ".join(steps.split())
    # Whoever deals with it is not whom it is of.
    assert "    #   draft_app.Complaint (submitter_email)\n" in text
    one_line = " ".join(steps.split())
    assert (
        'Modify( Complaint, owner=edna.by_value("submitter_email", "email"), set={"submitter_email": ""}, )' in one_line
    )
    assert not any("Modify(Complaint" in step for step in steps_of(text))
    # A key cannot be emptied: the row goes, and what refers to it.
    assert "    #   draft_app.Correspondent (address)\n" in text
    assert 'Remove(Correspondent, owner=edna.by_value("address", "email")),' in steps
    assert 'Remove(Letter, owner=edna.by_value("correspondent__address", "email")),' in steps
    assert 'owner=edna.by_value("letter__correspondent__address", "email")' in steps
    module = text.replace("transformations = [", f"transformations = [{steps}", 1)
    said = run_module("\n".join([*imports, module]))
    # Who may own an address, and an index: what the person who pastes them decides.
    assert {*said} <= {"edna.W106", "edna.W131"}


def test_rows_beside_placeholder_users_have_values_that_pages_know(write: Write) -> None:
    """Of a column with choices and a default that is computed: it was 0."""
    assert 'companions = {Dossier: {"rows_per_page": 10}}' in write(*LIBRARY)


def test_whom_a_row_names_is_told_by_what_one_person_alone_has(write: Write) -> None:
    """Two may have one name."""
    assert 'owner=edna.by_value("maker_label", "label"),' in write("tests.unit.draft_app", "Apprentice")


def test_a_row_that_placeholder_users_need_is_left_to_decide_and_nothing_else_is(write: Write) -> None:
    """All other columns are filled in, and nobody can log in as one."""
    text = write("tests.unit.draft_app", "Apprentice")
    assert '        "label": placeholders.random_string(),\n        "is_active": False,\n' in text
    assert "# Decide: guild needs a row of draft_app.Guild." in text
    assert 'Add "guild": placeholders.row(Guild, ...)' in " ".join(text.replace("#", "").split())
    assert run_module(text) == ["edna.E312"]


def test_what_a_site_may_delete_meanwhile_is_suggested(write: Write) -> None:
    """In a comment, which can be taken as it is: rows that stay, and what removed ones need, through tables among them."""
    text = write(*LIBRARY)
    begin = text.index("    # accepts = {")
    comment = text[begin : text.index("    # }", begin) + len("    # }")]
    assert '    #     "draft_app.Loan": ["row_missing"],' in comment
    assert '    #     "draft_app.Patron_wishes": ["reference_missing"],' in comment
    # What the parent of a multi-table child needs: all rows of the object wait for it.
    assert '    #     "draft_app.PatronNotice": ["reference_missing"],' in comment
    # The person's own rows go, and those of others stay, with an empty reference.
    assert '    #     "draft_app.Seat": ["row_missing"],' in comment
    # Of a row that went with the last of several owners, nobody gives up what the others hold as well.
    assert "is not given up for the others" in " ".join(line.strip(" #") for line in text[:begin].splitlines())
    # What does not come back, and what goes with the account alone, is never held for that.
    assert not any(name in comment for name in ("Team_members", "Dossier", 'draft_app.Patron"'))
    said = run_module(text.replace(comment, comment.replace("    # ", "    ")))
    assert said == []
    assert next(iter(registry.disguises().values())).accepts["draft_app.Loan"] == ["row_missing"]


def test_rights_of_others_come_back(write: Write) -> None:
    """What somebody may do with an account goes with it: they would lose that for good."""
    steps = steps_of(write(*LIBRARY))
    assert "Decide: those of others" in steps['Remove(Pass, owner="patron", returning=edna.AS_IT_WAS)']
    about = "Remove(Pass, owner=edna.about(Patron), when=edna.ANY_LEFT, returning=edna.AS_IT_WAS)"
    assert "rights of others" in steps[about]


def test_rows_of_two_principal_models_have_a_disguise_each(write: Write) -> None:
    text = write("tests.unit.checks_app", "Person", "Guest")
    assert "class DeleteAccountPerson(" in text
    assert 'name = "checks_app.delete-account-guest"' in text
    assert "class DeleteAccountGuest(" not in write(
        None, "checks_app.Person", "checks_app.Guest", model="checks_app.person"
    )


def test_one_application_alone_keeps_the_account(write: Write) -> None:
    """What leads to a person elsewhere stays, and so does who they are."""
    text = write(None, "lobsters_sim.User", "websubmit.User", applications=["websubmit"])
    assert 'name = "websubmit.leave"' in text
    assert list(steps_of(text)) == ['Remove(Answer, owner="author")']
    assert run_module(text) == []


def test_an_application_without_tables_of_people_is_refused(write: Write) -> None:
    with pytest.raises(CommandError, match="nothing to write"):
        write(None, "websubmit.User", applications=["sessions"])
    with pytest.raises(CommandError, match="No application is called 'shop'"):
        write(None, "websubmit.User", applications=["shop"])
    with pytest.raises(CommandError, match="no principal model"):
        write(None, "websubmit.User", model="websubmit.Answer")


def test_a_file_is_never_overwritten_unasked(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "privacy" / "disguises.py"
    assert write(*LIBRARY, output=str(path)) == ""
    text = path.read_text()
    path.write_text("mine")
    with pytest.raises(CommandError, match="--force"):
        write(None, "draft_app.Patron", output=str(path))
    assert path.read_text() == "mine"
    write(None, "draft_app.Patron", output=str(path), force=True)
    assert path.read_text() == text
    with pytest.raises(CommandError, match="goes with --output"):
        write(None, "draft_app.Patron", force=True)


def test_a_file_that_is_written_again_does_not_rely_on_itself(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has registered is as if it were not there: its placeholder users are written again, and its name is free."""
    path = tmp_path / "disguises.py"
    write(*LIBRARY, output=str(path))
    text = path.read_text()
    assert "class NobodyPatron(Pseudoprincipal):" in text
    found = importlib.util.spec_from_file_location("drafted_disguises", path)
    assert found is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "drafted_disguises", module)
    assert found.loader is not None
    found.loader.exec_module(module)
    write(None, "draft_app.Patron", output=str(path), force=True)
    assert path.read_text() == text


def test_a_name_that_is_taken_is_refused(write: Write, tmp_path: Path) -> None:
    run_module(write(*LIBRARY, name="library.leave"))
    with pytest.raises(CommandError, match="registered already"):
        write(None, "draft_app.Patron", name="library.leave", output=str(tmp_path / "disguises.py"))


def test_the_result_can_be_json(write: Write, tmp_path: Path) -> None:
    document = json.loads(write(*LIBRARY, json=True))
    assert [disguise["name"] for disguise in document["disguises"]] == ["draft_app.delete-account"]
    assert document["decisions"] == document["module"].count("Decide:") > 5
