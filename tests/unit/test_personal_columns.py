"""What looks personal: by type, by name, and by whether the table leads to a person."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.db import models
from django.db.models import Model

from apps.lobsters_sim.models import InvitationRequest
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import personal_columns
from edna.personal_columns import Looks

pytestmark = pytest.mark.once


def looks(model: type[Model], name: str, field: Any, **kwargs: Any) -> Looks | None:
    field.set_attributes_from_name(name)
    field.model = model
    return personal_columns.looks(field, **kwargs)


def text(**kwargs: Any) -> Any:
    return models.CharField(max_length=50, **kwargs)


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("reply_to", models.EmailField(), Looks.EMAIL),
        ("backup_email", text(), Looks.EMAIL),
        ("email_verified", models.BooleanField(), None),
        ("mail_domain", text(), None),
        ("email_box_imap_folder", text(), None),
        ("email_box_pass", text(), None),
        ("email_box_user", text(), Looks.EMAIL),
        ("email_template", models.TextField(), None),
        ("domain_email", text(), Looks.EMAIL),
        ("seen_from", models.GenericIPAddressField(), Looks.IP),
        ("clientIp", text(), Looks.IP),
        ("zip", text(), Looks.ADDRESS),
        ("tip", text(), None),
        ("billing_street", text(), Looks.ADDRESS),
        ("mobile_phone", text(), Looks.PHONE),
        ("last_name", text(), Looks.NAME),
        ("customer_name", text(), Looks.NAME),
        ("name", text(), None),
        ("mode", text(choices=[("email", "by e-mail")]), None),
        ("date_of_birth", models.DateField(), Looks.BIRTH),
        ("birthday", models.IntegerField(), Looks.BIRTH),
        ("opened_on", models.DateField(), None),
        ("user_agent", models.TextField(), Looks.DEVICE),
        ("body", models.TextField(), None),
        ("extra", models.JSONField(), None),
    ],
)
def test_what_says_who_somebody_is_looks_so_in_every_table(name: str, field: Any, expected: Looks | None) -> None:
    """Also where nothing leads to a person: a list of subscribers, a log."""
    assert looks(Group, name, field) is expected


def test_a_column_may_be_about_another_than_the_reference_beside_it() -> None:
    """Only where the name of the reference says that its person serves others."""
    assert personal_columns.is_of_another("submitter_email", beside="assigned_to")
    assert personal_columns.is_of_another("customerName", beside="handled_by")
    assert not personal_columns.is_of_another("submitter_email", beside="submitter")
    assert not personal_columns.is_of_another("email", beside="assigned_to")
    assert not personal_columns.is_of_another("customer_email", beside="user")
    assert not personal_columns.is_of_another("agent_name", beside="agent")


@pytest.mark.parametrize(
    ("model", "name", "field", "expected"),
    [
        (Answer, "body", models.TextField(), Looks.TEXT),
        (Answer, "subject", text(), Looks.TEXT),
        (Answer, "colour", text(), None),
        (User, "apikey", text(), Looks.CREDENTIAL),
        (Answer, "extra", models.JSONField(), Looks.DATA),
        (Answer, "scan", models.FileField(), Looks.FILE),
        (Answer, "latitude", models.FloatField(), Looks.PLACE),
        (Answer, "score", models.IntegerField(), None),
        (Answer, "link", models.URLField(), Looks.WEB),
        (Lecture, "subject", text(), None),
        (User, "name", text(), Looks.NAME),
        (Answer, "name", text(), None),
        (Answer, "reviewer", text(), Looks.NAME),
        (InvitationRequest, "name", text(), Looks.NAME),
        (InvitationRequest, "memo", models.TextField(), Looks.TEXT),
    ],
)
def test_what_tells_about_somebody_does_so_where_the_table_leads_to_a_person(
    model: type[Model], name: str, field: Any, expected: Looks | None
) -> None:
    assert looks(model, name, field) is expected


def test_a_table_in_between_leads_to_people_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a talk of several speakers says may be about them."""
    monkeypatch.setattr(
        Lecture._meta, "local_many_to_many", [models.ManyToManyField(User), models.ManyToManyField(Group)]
    )
    assert looks(Lecture, "notes", models.TextField()) is Looks.TEXT
    assert looks(Lecture, "name", text()) is None
    assert len(personal_columns.relations_to_people(Lecture)) == 1


def test_a_column_that_is_named_after_the_reference_beside_it_is_about_the_same_person() -> None:
    assert looks(Group, "granted_by_name", text(), link="granted_by") is Looks.NAME


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("author_name", "author"),
        ("author_email", "author"),
        ("author_apikey", None),
        ("author_ip", "author"),
        ("author_agent", None),
        ("authors_name", None),
        ("question_name", None),
    ],
)
def test_whose_a_copy_is_follows_from_the_key_that_it_is_named_after(name: str, whose: str | None) -> None:
    """Not from any other key of the row. What stands behind the name has to look like somebody's."""
    field = text()
    looks(Answer, name, field)
    copy = personal_columns.key_of_copy(field)
    assert (copy and copy[0].name) == whose
    assert personal_columns.says_who(field, link="author") or whose is None
    assert not (whose and personal_columns.says_who(field, link="editor"))


def test_references_to_people_are_told_from_others() -> None:
    assert personal_columns.looks(Answer._meta.get_field("author")) is Looks.PERSON
    assert personal_columns.looks(Answer._meta.get_field("question")) is None


@pytest.mark.parametrize(
    ("model", "way"), [(User, ""), (Answer, "author"), (Question, None), (Group, None), (Session, None)]
)
def test_the_way_to_a_person_is_a_path_of_foreign_keys(model: type[Model], way: str | None) -> None:
    assert personal_columns.way_to_a_person(model) == way


def test_tables_are_the_sites_own() -> None:
    labels = {model._meta.app_label for model in personal_columns.tables()}
    assert {"websubmit", "admin"} <= labels
    assert not {"edna", "edna_operations"} & labels
