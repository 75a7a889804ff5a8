"""Catalogue, preview and application: what an operator sees of a disguise, and that it becomes one job for whom they chose."""

from __future__ import annotations

import html as escaping
import re
from functools import partial
from itertools import product
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import edna
from apps.websubmit.models import Answer, Lecture, User
from edna import Disguise, Keep, Remove
from edna.operations import audit, jobs
from edna.operations.admin.forms import MOST_CHOSEN, MOST_LISTED
from edna.operations.jobs import preview
from edna.testing.search import finds
from tests.installed import registering
from tests.operator.conftest import FOR_GOOD, Operator, address, chosen, without_tokens
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    enrol,
    enrol_in_course,
    enrol_many,
    loot,
    make_course,
    nothing_changes,
    secrets_of,
    statements,
)
from tests.waiting import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def bea(db: None) -> Student:
    make_course()
    # A key that nothing else looks like, on a page or in tables.
    student = enrol("bea@example.org", pk=7_654_310_928_377)
    answer_everything(student, enrol("carl@example.org"))
    return student


def text_of(answer: Any) -> str:
    """What a reader sees: without markup, spaces as one."""
    assert answer.status_code == 200, answer.status_code
    body = answer.content.decode().partition('id="edna"')[2]
    return " ".join(escaping.unescape(re.sub(r"<[^>]*>", " ", body)).split())


class OnlyReceipts(Disguise):
    """Leave without a trace."""

    name = "test.only-receipts"
    transformations = [Remove(Answer, owner="author")]
    locators = "client"


class Broken(Disguise):
    """Removes accounts, and forgets what refers to them."""

    name = "test.broken"
    transformations = [Remove(User)]


class Kept(Disguise):
    name = "test.kept"
    transformations = [Remove(Answer, owner="author"), Remove(User), Keep(LogEntry, "user")]


# Catalogue


def test_the_catalogue_describes_each_disguise(operator: Operator) -> None:
    text = text_of(operator.get("disguisecatalogue_changelist"))
    for name, words in (
        (DELETE, "Your account and all your answers leave this site"),
        (ANONYMISE_LECTURE, "Takes lecture"),
    ):
        assert name in text
        assert words in text
    assert "Applied by users themselves, and by operators" in text


def test_a_disguise_says_what_it_does_to_each_table(operator: Operator) -> None:
    text = text_of(operator.get("disguisecatalogue_disguise", ANONYMISE_LECTURE))
    assert "its author becomes a placeholder user, one for each question › lecture of a person" in text.replace(
        "Its", "its"
    )
    assert "Only where question › lecture is the parameter lecture" in text
    with registering(Kept):
        text = text_of(operator.get("disguisecatalogue_disguise", Kept.name))
        assert "user goes on pointing at what is removed, on purpose" in text


def test_a_disguise_shows_what_the_checks_say_and_is_not_applied_with_errors(operator: Operator, bea: Student) -> None:
    with registering(Broken):
        text = text_of(operator.get("disguisecatalogue_disguise", Broken.name))
        assert "edna.E201" in text
        assert "It cannot be applied" in text
        assert "error" in text_of(operator.get("disguisecatalogue_changelist"))
        with nothing_changes():
            text = text_of(operator.preview(Broken.name, bea))
        assert "What it would do" not in text


def test_an_unknown_disguise_is_not_found(operator: Operator) -> None:
    assert operator.get("disguisecatalogue_disguise", "no.such").status_code == 404
    assert operator.preview("no.such").status_code == 404


# Preview


def test_a_preview_of_one_person_shows_tables_rows_placeholders_size_and_time(operator: Operator, bea: Student) -> None:
    for typed in (bea.email, str(bea.user.pk), f"pk:{bea.user.pk}"):
        with nothing_changes():
            text = text_of(operator.preview(ANONYMISE_ALL, person=typed))
        assert "4 rows" in text
        assert "2 new placeholder users" in text
        assert "websubmit.answer Given to placeholder users 4" in text
        assert re.search(r"[\d.]+ (bytes|kB) to be sealed", text)
        assert "less than a second of work, estimated" in text


def test_a_preview_of_everybody_and_of_some_writes_nothing(operator: Operator, bea: Student) -> None:
    with nothing_changes():
        text = text_of(operator.preview(DELETE))
        assert "2 accounts 10 rows" in text  # without the operator's
        assert "1 account 5 rows" in text_of(operator.preview(DELETE, bea))


def test_the_numbers_of_a_preview_are_those_of_the_plan(operator: Operator, bea: Student) -> None:
    plan = edna.plan_all(DELETE, staff=False)
    text = text_of(operator.preview(DELETE))
    for line in plan.tables:
        terms = f"Comes back: {line.returning} " if line.returning else ""
        assert f"{line.model} Sealed and deleted {terms}{line.rows}" in text


@pytest.mark.once
def test_a_preview_says_what_only_the_persons_key_finds(operator: Operator, bea: Student) -> None:
    words = f"only each person's own key finds them: websubmit.answer ({ANONYMISE_ALL}, {ANONYMISE_LECTURE})"
    assert words not in text_of(operator.preview(DELETE, bea))
    bea.disguise(ANONYMISE_ALL)
    assert words in text_of(operator.preview(DELETE, bea))
    assert words not in text_of(operator.preview(DELETE))


def test_a_preview_takes_parameters(operator: Operator, bea: Student) -> None:
    lecture = Lecture.objects.order_by("pk")[0]
    assert "2 rows" in text_of(operator.preview(ANONYMISE_LECTURE, bea, lecture=lecture.pk))
    assert "Select a valid choice" in text_of(operator.preview(ANONYMISE_LECTURE, bea, lecture="first"))
    assert "This field is required" in text_of(operator.preview(ANONYMISE_LECTURE, bea))


def test_a_parameter_that_is_a_row_of_another_table_is_chosen_by_its_name(operator: Operator, bea: Student) -> None:
    lecture = Lecture.objects.order_by("pk")[0]
    page = operator.html("disguisecatalogue_disguise", ANONYMISE_LECTURE)
    assert f'<option value="{lecture.pk}">{lecture}</option>' in page
    assert (
        f"lecture: <strong>{lecture}</strong>"
        in operator.preview(ANONYMISE_LECTURE, bea, lecture=lecture.pk).content.decode()
    )


def test_of_very_many_rows_none_is_listed(operator: Operator, bea: Student) -> None:
    Lecture.objects.bulk_create(Lecture(label=f"Lecture {number}") for number in range(MOST_LISTED))
    page = text_of(operator.get("disguisecatalogue_disguise", ANONYMISE_LECTURE))
    assert "The id of one of the lectures: there are too many to list." in page
    text = text_of(operator.preview(ANONYMISE_LECTURE, bea, lecture="first"))
    assert "the parameter 'lecture' does not read as int" in text


def test_who_has_no_key_is_said_to_have_none(operator: Operator) -> None:
    make_course()
    guest = User.objects.create_user("guest@example.org")
    text = text_of(operator.preview(DELETE, person=guest.email))
    assert "This person has no key yet" in text
    assert "What it would do" not in text
    text = text_of(operator.preview(DELETE, guest, enrol("bea@example.org")))
    assert "1 of them has no key yet, and will be left out." in text


def test_placeholders_are_left_out_of_a_selection(operator: Operator, bea: Student) -> None:
    bea.disguise(ANONYMISE_ALL)
    placeholder = User.objects.filter(is_anon=True)[0]
    text = text_of(operator.preview(DELETE, bea, placeholder))
    assert "1 of them is a placeholder user, and will be left out" in text
    assert "For 1 person you have chosen" in text


def test_more_rows_than_a_page_can_wait_for_are_not_planned(
    operator: Operator, bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "MOST_ROWS", 7)
    for people in ((), (bea, *Student_list())):
        text = text_of(operator.preview(ANONYMISE_ALL, *people))
        assert "more than 7 rows: too many to count while you wait" in text
        assert "Apply it" in text
    monkeypatch.setattr(preview, "MOST_ROWS", 8)
    assert "8 rows" in text_of(operator.preview(ANONYMISE_ALL))


def Student_list() -> list[User]:
    return list(User.objects.filter(is_admin=False))


def test_the_time_goes_by_earlier_jobs(operator: Operator, bea: Student) -> None:
    text = text_of(operator.preview(ANONYMISE_ALL, bea))
    assert "no job with this disguise has run yet for enough people" in text
    # One person's job is all beginning and end: a hundred times slower for each than what it is to say something about.
    operator.run(operator.apply(ANONYMISE_ALL, bea))
    text = text_of(operator.preview(ANONYMISE_ALL))
    assert "no job with this disguise has run yet for enough people" in text
    answer_everything(*enrol_many(10))
    operator.run(operator.apply(ANONYMISE_ALL))
    text = text_of(operator.preview(ANONYMISE_ALL))
    assert "The time goes by what earlier jobs with this disguise took" in text


def test_what_cannot_be_read_is_said_and_not_guessed(operator: Operator, bea: Student) -> None:
    unreadable: tuple[dict[str, str], ...] = (
        {},
        {"whom": "one"},
        {"whom": "chosen"},
        {"whom": "chosen", "chosen": "x"},
        {"whom": "chosen", "chosen": "{}"},
        {"whom": "chosen", "chosen": "[1]"},
        {"whom": "chosen", "chosen": "[]"},
        {"whom": "chosen", "chosen": '["x"]'},
        {"whom": "chosen", "chosen": f'["{"9" * 30}"]'},
        {"whom": "chosen", "chosen": '["\\u0000"]'},
        {"whom": "chosen", "chosen": "[" * 5_000},
        {"whom": "chosen", "chosen": f'["{"9" * 300}"]'},
        {"whom": "chosen", "chosen": chosen([str(number) for number in range(MOST_CHOSEN + 1)])},
        {"whom": "nobody"},
        {"whom": "one", "person": "\0"},
        {"whom": "one", "person": "9" * 40},
        {"whom": "one", "person": "x" * 5_000},
    )
    with nothing_changes():
        for data, page in product(unreadable, ("preview", "apply")):
            answer = operator.post(f"disguisecatalogue_{page}", DELETE, **data)
            assert "What it would do" not in text_of(answer), data


def test_what_is_typed_is_shown_as_text(operator: Operator, bea: Student) -> None:
    typed = "<script>alert(1)</script>"
    for answer in (
        operator.preview(DELETE, person=typed),
        operator.preview(ANONYMISE_LECTURE, bea, lecture=typed),
        operator.post("disguisecatalogue_apply", DELETE, whom="chosen", chosen=chosen([bea]), person=typed),
    ):
        assert typed not in answer.content.decode()
        assert escaping.escape(typed) in answer.content.decode() or "What it would do" in answer.content.decode()


# Application


def test_an_application_becomes_one_job_for_whom_was_chosen(operator: Operator, bea: Student) -> None:
    before = bea.texts()
    people = User.objects.count()
    answer = operator.apply(DELETE, bea)
    assert User.objects.count() == people
    report = operator.run(answer)
    assert (report.disguise, report.operator, report.everybody) == (DELETE, "olga@example.org", False)
    assert (report.total, report.done, report.state) == (1, 1, jobs.JobState.FINISHED)
    assert not User.objects.filter(pk=bea.user.pk).exists()
    assert User.objects.filter(email="carl@example.org").exists()
    bea.reveal_everything()
    assert bea.texts() == before


def test_for_good_is_said_typed_and_said_again_by_the_job(operator: Operator, bea: Student, granted: set[str]) -> None:
    """The name alone does not do. Without the permission for it, the page has no such choice, and whoever asks for it gets nothing."""
    assert "For good, without a way back" in operator.html("disguisecatalogue_disguise", ANONYMISE_ALL)
    asked = {"whom": "chosen", "chosen": chosen([bea]), "for_good": "on"}
    shown = text_of(operator.post("disguisecatalogue_preview", ANONYMISE_ALL, **asked))
    assert "for good: nobody can bring it back" in shown
    assert f"type {ANONYMISE_ALL} for good" in shown
    form = operator.form(ANONYMISE_ALL, bea) | {"for_good": "on"}
    apply = partial(operator.post, "disguisecatalogue_apply", ANONYMISE_ALL)
    granted.discard(FOR_GOOD)
    assert "For good" not in operator.html("disguisecatalogue_disguise", ANONYMISE_ALL)
    with nothing_changes():
        assert apply(**form, confirmation=f"{ANONYMISE_ALL} for good").status_code == 200
    granted.add(FOR_GOOD)
    with nothing_changes():
        assert "To confirm, type" in text_of(apply(**form, confirmation=ANONYMISE_ALL))
    report = operator.run(apply(**form, confirmation=f"{ANONYMISE_ALL} for good"))
    assert (report.done, report.keep_no_way_back) == (1, True)
    assert bea.history() == []
    assert "For good: what this job does, nobody can bring back" in operator.html("job_job", report.id)
    assert "for good" in operator.html("job_changelist")


def test_two_operators_want_the_same_person_gone_for_good(operator: Operator, bea: Student, granted: set[str]) -> None:
    """Each has looked at the preview and confirms it. One job does it, the other one passes over who is gone; nothing that is typed
    wrongly counts as either."""
    otto = Operator(User.objects.create_user("otto@example.org", is_admin=True), granted)
    apply, phrase = ("disguisecatalogue_apply", DELETE), f"{DELETE} for good"
    form = operator.form(DELETE, bea)
    with nothing_changes():
        for rubbish in (
            {"for_good": "", "confirmation": phrase},
            {"for_good": "false", "confirmation": phrase},
            {"for_good": "off", "confirmation": DELETE},
            {"for_good": "\0", "confirmation": f"{phrase}\0"},
            {"for_good": "on", "confirmation": phrase.upper()},
            {"for_good": "on", "confirmation": f"{DELETE}  for good"},
            {"for_good": "on", "confirmation": phrase * 99},
            {"for_good": "on", "confirmation": phrase, "chosen": "[]"},
            {"for_good": "on", "confirmation": phrase, "submission": otto.form(DELETE, bea)["submission"]},
        ):
            assert operator.post(*apply, **form | rubbish).status_code == 200
    sent = [
        each.post(*apply, **each.form(DELETE, bea) | {"for_good": "on", "confirmation": phrase})
        for each in (operator, otto)
    ]
    first, second = (operator.run(answer) for answer in sent)
    assert [(each.done, each.skipped, each.failures) for each in (first, second)] == [(1, 0, {}), (0, 1, {})]
    assert finds(loot(), {"email": bea.email, "key": bea.user.pk, "secret key": bea.secret_key.expose()}) == []
    assert not User.objects.filter(pk=bea.user.pk).exists()


def test_an_application_to_everybody(operator: Operator, bea: Student) -> None:
    report = operator.run(operator.apply(ANONYMISE_ALL))
    assert (report.everybody, report.total, report.done) == (True, 2, 2)
    assert set(Answer.objects.values_list("author__is_anon", flat=True)) == {True}


def test_an_application_takes_the_parameters_of_the_preview(operator: Operator, bea: Student) -> None:
    lecture = Lecture.objects.order_by("pk")[0]
    operator.run(operator.apply(ANONYMISE_LECTURE, lecture=lecture.pk))
    anonymous = Answer.objects.filter(author__is_anon=True)
    assert {answer.question.lecture_id for answer in anonymous} == {lecture.pk}


def test_who_has_no_key_is_left_out(operator: Operator, bea: Student) -> None:
    guest = User.objects.create_user("guest@example.org")
    report = operator.run(operator.apply(DELETE, bea, guest))
    assert (report.total, report.skipped) == (1, 0)
    assert User.objects.filter(pk=guest.pk).exists()


@pytest.mark.parametrize("typed", ["", "yes", DELETE.upper(), f"{DELETE} x", ANONYMISE_ALL])
def test_without_the_name_typed_nothing_happens(operator: Operator, bea: Student, typed: str) -> None:
    with nothing_changes():
        text = text_of(operator.apply(DELETE, bea, confirmation=typed))
    assert f"To confirm, type the name of the disguise: {DELETE}" in text
    assert "What it would do" in text


def test_a_form_that_is_sent_twice_starts_one_job(operator: Operator, bea: Student) -> None:
    form = {**operator.form(DELETE, bea), "confirmation": DELETE}
    first = operator.client.post(address("disguisecatalogue_apply", DELETE), form)
    second = operator.client.post(address("disguisecatalogue_apply", DELETE), form)
    assert first.url == second.url
    assert operator.run(first).done == 1
    # Once more when they are gone: it leads to the same job, not to an error.
    assert operator.client.post(address("disguisecatalogue_apply", DELETE), form).url == first.url
    assert (len(jobs.reports()), [entry.action for entry in audit.entries()]) == (1, ["start"])


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_twice_at_once_starts_one_job(operator: Operator) -> None:
    bea = enrol_in_course("bea@example.org")
    form = {**operator.form(DELETE, bea), "confirmation": DELETE}

    def send() -> Any:
        client = Client()
        client.cookies = operator.client.cookies
        return client.post(address("disguisecatalogue_apply", DELETE), form)

    answers = at_once(*[send] * 4)
    assert {(answer.status_code, answer.get("Location")) for answer in answers} == {(302, answers[0].url)}
    assert (len(answers), len(jobs.reports()), len(audit.entries())) == (4, 1, 1)


def test_the_number_of_a_job_is_nobodys_to_choose(operator: Operator, bea: Student, granted: set[str]) -> None:
    form = {**operator.form(DELETE, bea), "confirmation": DELETE}
    otto = Operator(User.objects.create_user("otto@example.org", is_admin=True), granted)
    others = {**form, "confirmation": ANONYMISE_ALL}
    with nothing_changes():
        for client, disguise, data in (
            (otto.client, DELETE, form),
            (operator.client, ANONYMISE_ALL, others),
            (operator.client, DELETE, {**form, "submission": "1"}),
            (operator.client, DELETE, {**form, "submission": form["submission"].replace(":", "1:", 1)}),
            (operator.client, DELETE, {**form, "submission": ""}),
        ):
            answer = client.post(address("disguisecatalogue_apply", disguise), data)
            assert answer.status_code == 200


def test_an_application_is_not_forged(operator: Operator, bea: Student) -> None:
    form = {**operator.form(DELETE, bea), "confirmation": DELETE}
    job = jobs.start(ANONYMISE_ALL, principals=[bea.user]).id
    client = Client(enforce_csrf_checks=True)
    client.cookies = operator.client.cookies
    with nothing_changes():
        for where in (
            address("disguisecatalogue_preview", DELETE),
            address("disguisecatalogue_apply", DELETE),
            *(address("job_action", job, action) for action in ("pause", "resume", "cancel", "retry")),
        ):
            assert client.post(where, form).status_code == 403
            assert client.get(where, form).status_code == 405


def test_a_disguise_whose_receipts_are_the_only_way_back_is_not_applied_by_a_job(
    operator: Operator, bea: Student
) -> None:
    with registering(OnlyReceipts):
        text = text_of(operator.preview(OnlyReceipts.name, bea))
        assert "4 rows" in text
        assert "its receipts are the only way back" in text
        assert "To confirm, type" not in text
        form = {**operator.form(DELETE, bea), "confirmation": OnlyReceipts.name}
        with nothing_changes():
            assert operator.client.post(address("disguisecatalogue_apply", OnlyReceipts.name), form).status_code == 200


def test_what_the_job_refuses_is_said(operator: Operator, bea: Student) -> None:
    guest = User.objects.create_user("guest@example.org")
    answer_everything(Student(guest, bea.secret_key))
    with nothing_changes():
        text = text_of(operator.preview(DELETE))
        # No button that would only be refused.
        assert "1 of these accounts has no key yet. So it cannot be applied to everybody yet" in text
        assert "edna_register --all" in text
        assert "Apply to everybody" not in text
        form = {**operator.form(DELETE, bea), "whom": "everybody", "confirmation": DELETE}
        text = text_of(operator.client.post(address("disguisecatalogue_apply", DELETE), form))
        assert "1 owner(s) of the rows that it means have no key" in text


# Who runs the site


@pytest.fixture
def staff(operator: Operator, bea: Student) -> list[Student]:
    """The operator and two colleagues, who handed in answers as everybody did."""
    registered = edna.register_principals([operator.user])
    own = Student(operator.user, registered[0].secret_key)
    colleagues = [enrol(f"staff-{number}@example.org", is_admin=True) for number in range(2)]
    answer_everything(own, *colleagues)
    return [own, *colleagues]


def texts_of(people: list[Student]) -> set[str]:
    return set(Answer.objects.filter(author__in=[person.user for person in people]).values_list("text", flat=True))


@pytest.mark.parametrize("disguise", [ANONYMISE_ALL, DELETE])
def test_everybody_is_everybody_but_the_operator_and_their_colleagues(
    operator: Operator, bea: Student, staff: list[Student], disguise: str
) -> None:
    text = text_of(operator.preview(disguise))
    assert "You and 2 other staff accounts are among them, and will be left out." in text
    assert "2 accounts" in text
    assert "Apply to everybody but staff" in text
    report = operator.run(operator.apply(disguise))
    assert (report.total, report.done, report.left_out) == (2, 2, 3)
    begun = operator.html("job_job", report.id)
    page = text_of(operator.get("job_job", report.id))
    assert f"The job has begun: {disguise}. 3 staff accounts were left out." in begun
    assert "Left out 3 staff accounts, who run the site" in page
    assert all(User.objects.filter(pk=person.user.pk).exists() for person in staff)
    assert Answer.objects.filter(author__in=[person.user for person in staff]).count() == 3 * 4
    assert not Answer.objects.filter(author=bea.user).exists()
    # Still logged in.
    assert operator.get("job_job", report.id).status_code == 200


def test_the_numbers_without_staff_are_those_of_what_is_done(
    operator: Operator, bea: Student, staff: list[Student]
) -> None:
    made = preview.preview(ANONYMISE_ALL, but=[operator.user])
    assert made.plan is not None
    assert (made.people, made.plan.rows, made.staff, made.you) == (2, 8, 2, True)
    everybody = preview.preview(ANONYMISE_ALL, staff=True, but=[operator.user])
    assert everybody.plan is not None
    assert (everybody.people, everybody.plan.rows, everybody.staff, everybody.you) == (5, 20, 2, True)


def test_staff_are_taken_along_if_the_operator_ticks_them(
    operator: Operator, bea: Student, staff: list[Student]
) -> None:
    data = {"whom": "everybody", "staff": "on"}
    text = text_of(operator.post("disguisecatalogue_preview", ANONYMISE_ALL, **data))
    assert "You and 2 other staff accounts are among them, and will be disguised, too." in text
    assert "Preview without staff" in text
    form = {**operator.form(ANONYMISE_ALL), **data, "confirmation": ANONYMISE_ALL}
    report = operator.run(operator.client.post(address("disguisecatalogue_apply", ANONYMISE_ALL), form))
    assert (report.done, report.left_out) == (5, 0)
    assert "eft out" not in text_of(operator.get("job_job", report.id))


def test_of_a_selection_staff_are_left_out_and_who_is_named_alone_is_meant(
    operator: Operator, bea: Student, staff: list[Student]
) -> None:
    text = text_of(operator.preview(ANONYMISE_ALL, bea, *staff))
    assert "For 1 person you have chosen." in text
    assert "You and 2 other staff accounts are among them, and will be left out." in text
    report = operator.run(operator.apply(ANONYMISE_ALL, bea, staff[1]))
    assert (report.total, report.done, report.left_out) == (1, 1, 1)
    assert "Left out 1 staff account, who runs the site" in text_of(operator.get("job_job", report.id))
    text = text_of(operator.preview(ANONYMISE_ALL, staff[1]))
    assert "1 staff account is among them, and will be left out." in text
    assert "Preview with staff" in text
    text = text_of(operator.preview(ANONYMISE_ALL, person=staff[1].email))
    assert "This is a staff account." in text
    assert "4 rows" in text
    text = text_of(operator.preview(ANONYMISE_ALL, person=operator.user.email))
    assert "This is your own account. Whoever's account is disguised is logged out" in text


def test_where_nothing_says_who_is_of_the_staff_nothing_is_said(
    operator: Operator, bea: Student, staff: list[Student]
) -> None:
    with override_settings(EDNA={**settings.EDNA, "STAFF": {}}):
        text = text_of(operator.preview(ANONYMISE_ALL))
        # The operator is one of them all the same.
        assert "You are among them, and will be left out." in text
        assert jobs.start(ANONYMISE_ALL).total == 5
    with override_settings(EDNA={**settings.EDNA, "STAFF": {"websubmit.User": {"rank__gt": 3}}}):
        assert 'EDNA["STAFF"] says who of websubmit.User' in text_of(operator.preview(ANONYMISE_ALL))


def test_jobs_and_commands_leave_staff_out_too(operator: Operator, bea: Student, staff: list[Student]) -> None:
    assert jobs.start(ANONYMISE_ALL).total == 2
    assert jobs.start(ANONYMISE_ALL, staff=True).total == 5
    assert jobs.start(ANONYMISE_ALL, staff=True, but=[operator.user]).total == 4
    assert jobs.start(ANONYMISE_ALL, principals=[person.user for person in staff]).total == 3
    assert edna.plan_all(ANONYMISE_ALL).rows == 20
    assert edna.plan_all(ANONYMISE_ALL, staff=False).rows == 8
    assert len(edna.disguise_all(ANONYMISE_ALL, staff=False)) == 2


def test_staff_without_a_key_do_not_keep_everybody_else_waiting(operator: Operator, bea: Student) -> None:
    answer_everything(Student(operator.user, bea.secret_key))  # they have no key
    assert "Apply to everybody but staff" in text_of(operator.preview(DELETE))
    assert operator.run(operator.apply(DELETE)).done == 2


def test_statements_do_not_depend_on_how_many_are_of_the_staff(operator: Operator, bea: Student) -> None:
    answer_everything(enrol("staff@example.org", is_admin=True))
    operator.preview(ANONYMISE_ALL)
    few = len(statements(lambda: operator.preview(ANONYMISE_ALL)))
    answer_everything(*(enrol(f"staff-{number}@example.org", is_admin=True) for number in range(5)))
    assert len(statements(lambda: operator.preview(ANONYMISE_ALL))) == few


# Nobody finds out who was here


@pytest.mark.parametrize("disguise", [DELETE, ANONYMISE_ALL])
def test_who_was_removed_is_answered_for_like_who_never_was(operator: Operator, bea: Student, disguise: str) -> None:
    bea.disguise(DELETE)
    for removed, never in (
        (bea.email, "eve@example.org"),
        (str(bea.user.pk), "987654"),
        (f"pk:{bea.user.pk}", "pk:987654"),
    ):
        pages = []
        for typed in (removed, never):
            with CaptureQueriesContext(connection) as sent:
                pages.append(operator.preview(disguise, person=typed))
            pages[-1].statements = len(sent)
        shown = [
            without_tokens(page.content.decode()).replace(typed, "WHO")
            for page, typed in zip(pages, (removed, never), strict=True)
        ]
        assert shown[0] == shown[1]
        assert "No websubmit.User has the primary key, name or e-mail address" in text_of(pages[0])
        assert pages[0].statements == pages[1].statements
        assert pages[0].status_code == pages[1].status_code


def test_who_was_removed_cannot_be_chosen_by_their_old_key_either(operator: Operator, bea: Student) -> None:
    form = operator.form(DELETE, bea)
    bea.disguise(DELETE)
    pages = []
    for key in (str(bea.user.pk), "987654"):
        data = {**form, "chosen": chosen([key]), "confirmation": DELETE}
        for page in ("preview", "apply"):
            with nothing_changes():
                answer = operator.client.post(address(f"disguisecatalogue_{page}", DELETE), data)
            assert "1 of them is not here." in text_of(answer)
            pages.append(without_tokens(answer.content.decode()).replace(key, "KEY"))
    assert pages[:2] == pages[2:]


def test_nothing_of_a_removed_person_is_left_on_any_page_or_in_any_table(operator: Operator, bea: Student) -> None:
    carl = User.objects.get(email="carl@example.org")
    operator.preview(DELETE, person=bea.email)
    report = operator.run(operator.apply(DELETE, bea))
    receipt = bea.history()[0].receipt
    needles = {"email": bea.email, **secrets_of(bea, receipt)}
    pages = b"".join(
        operator.get(*where).content
        for where in (
            ("disguisecatalogue_changelist",),
            ("disguisecatalogue_disguise", DELETE),
            ("job_changelist",),
            ("job_job", report.id),
            ("job_progress", report.id),
            ("sitehealth_changelist",),
            ("auditentry_changelist",),
        )
    )
    assert finds(pages, needles) == []
    assert finds(loot(), needles) == []
    assert not LogEntry.objects.exists()
    # The search itself works: this one is still here.
    assert finds(loot(), {"email": carl.email}) == ["email"]


def test_no_page_leads_to_a_reveal(operator: Operator, bea: Student) -> None:
    from edna.operations import admin as pages

    operator.run(operator.apply(DELETE, bea))
    addresses = {str(pattern.pattern) for pattern in admin.site.get_urls()}
    assert not [where for where in addresses if "reveal" in where]
    assert not hasattr(pages, "reveal")


# The action in the lists of users


def choose(operator: Operator, model: str, *people: Any, **data: Any) -> Any:
    return operator.client.post(
        reverse(f"admin:{model}_changelist"),
        {"action": "apply_disguise", "_selected_action": [person.pk for person in people], **data},
    )


def test_every_list_of_principals_has_the_action_and_no_other_list(operator: Operator) -> None:
    enrol("bea@example.org")
    make_course()
    offered = {}
    for model in ("websubmit_user", "websubmit_lecture"):
        html = operator.client.get(reverse(f"admin:{model}_changelist")).content.decode()
        offered[model] = "Apply a disguise…" in html
    assert offered == {"websubmit_user": True, "websubmit_lecture": False}
    for label in ("lobsters_sim.User", "hotcrp_sim.ContactInfo"):
        from django.apps import apps

        page = admin.site.get_model_admin(apps.get_model(label))
        assert [action.__name__ for action in page.actions if callable(action)] == ["apply_disguise"]


def test_the_action_is_for_who_may_apply_something(operator: Operator) -> None:
    enrol("bea@example.org")
    operator.granted.clear()
    html = operator.client.get(reverse("admin:websubmit_user_changelist")).content.decode()
    assert "Apply a disguise…" not in html


def test_the_action_leads_to_the_previews_of_those_chosen(operator: Operator, bea: Student) -> None:
    with nothing_changes():
        answer = choose(operator, "websubmit_user", bea.user, operator.user)
    text = text_of(answer)
    assert "For 1 person you have chosen." in text
    assert "1 of them has no key yet" in text
    assert ANONYMISE_LECTURE in text
    assert "lobsters.delete-account" not in text
    html = answer.content.decode()
    assert f'action="{address("disguisecatalogue_preview", DELETE)}"' in html
    sent = escaping.unescape(re.search(r'name="chosen" value="([^"]*)"', html)[1])  # type: ignore[index]
    assert set(re.findall(r"\d+", sent)) == {str(bea.user.pk), str(operator.user.pk)}
    assert "1 account 5 rows" in text_of(
        operator.client.post(address("disguisecatalogue_preview", DELETE), {"whom": "chosen", "chosen": sent})
    )


def test_too_many_are_not_carried_about(operator: Operator, bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edna.operations.admin.selection.MOST_CHOSEN", 1)
    answer = choose(operator, "websubmit_user", bea.user, operator.user)
    assert answer.status_code == 302
    assert "at most 1 can be chosen at once" in operator.client.get(answer.url).content.decode()


def test_another_admin_site_can_have_the_pages(operator: Operator, bea: Student) -> None:
    with override_settings(ROOT_URLCONF="tests.operator.othersite"):
        html = operator.client.get("/desk/edna_operations/disguisecatalogue/").content.decode()
        assert f'href="/desk/edna_operations/disguisecatalogue/{DELETE}/"' in html
        assert 'href="/admin/' not in html
        answer = operator.client.post(
            "/desk/websubmit/user/", {"action": "apply_disguise", "_selected_action": [bea.user.pk]}
        )
        assert f'action="/desk/edna_operations/disguisecatalogue/{DELETE}/preview/"' in answer.content.decode()
        # Whoever wants no actions in a list has none.
        assert "Apply a disguise…" not in operator.client.get("/desk/lobsters_sim/user/").content.decode()


# What pages are made of


def test_pages_need_no_inline_script_or_style(operator: Operator, bea: Student) -> None:
    job = jobs.start(ANONYMISE_ALL, principals=[bea.user]).id
    for answer in (
        operator.get("disguisecatalogue_changelist"),
        operator.get("disguisecatalogue_disguise", DELETE),
        operator.preview(DELETE, bea),
        operator.get("job_changelist"),
        operator.get("job_job", job),
        operator.get("sitehealth_changelist"),
    ):
        body = answer.content.decode().partition('id="edna"')[2].partition("</main>")[0]
        assert body
        assert re.findall(r"<script|<style|\sstyle=|\son\w+=|javascript:", body) == []


def test_queries_do_not_depend_on_how_many_people_there_are(operator: Operator) -> None:
    make_course()
    few, many = enrol_many(2), enrol_many(40)
    answer_everything(*few, *many)
    operator.preview(ANONYMISE_ALL, *few)  # compiles the statements
    assert len(statements(lambda: operator.preview(ANONYMISE_ALL, *few))) == len(
        statements(lambda: operator.preview(ANONYMISE_ALL, *many))
    )
    assert len(statements(lambda: operator.get("disguisecatalogue_changelist"))) <= 4
