"""The tables against what is known of HotCRP's own: columns, types, NULLs, keys."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.hotcrp_sim import models as m
from apps.hotcrp_sim.accounts import open_account
from apps.hotcrp_sim.auth import HotcrpBackend

pytestmark = pytest.mark.django_db

#: How wide a number is shown: says nothing about the column.
WIDTH = r"(?<=int)\(\d+\)"
#: As HotCRP has them: column, type, and "null" where it may be NULL.
COLUMNS = {
    "ActionLog": """
        logId int, contactId int, destContactId int null, trueContactId int null, paperId int null, timestamp
        bigint, ipaddr varbinary(39) null, action varbinary(4096), data varbinary(8192) null
    """,
    "Capability": """
        capabilityType int, contactId int, paperId int, timeExpires bigint, salt varbinary(255), data
        varbinary(4096) null
    """,
    "ContactInfo": """
        contactId int, firstName varbinary(120), lastName varbinary(120), unaccentedName varbinary(240), email
        varchar(120), preferredEmail varchar(120) null, affiliation varbinary(2048), phone varbinary(64) null,
        country varbinary(256) null, password varbinary(2048), passwordTime bigint, passwordUseTime bigint,
        collaborators varbinary(8192) null, creationTime bigint, updateTime bigint, lastLogin bigint, defaultWatch
        int, roles tinyint, disabled tinyint, contactTags varbinary(4096) null, birthday int null, gender
        varbinary(24) null, data varbinary(32767) null, isGuise tinyint
    """,
    "Paper": """
        paperId int, title varbinary(512) null, authorInformation varbinary(8192) null, abstract varbinary(16384)
        null, collaborators varbinary(8192) null, timeSubmitted bigint, timeWithdrawn bigint, timeFinalSubmitted
        bigint, timeModified bigint, paperStorageId int, sha1 varbinary(64), finalPaperStorageId int, blind tinyint,
        outcome tinyint, leadContactId int, shepherdContactId int, managerContactId int, capVersion int, size int,
        mimetype varbinary(80), timestamp bigint, pdfFormatStatus bigint, withdrawReason varbinary(1024) null,
        paperFormat tinyint null, dataOverflow varbinary(4096) null
    """,
    "PaperComment": """
        paperId int, commentId int, contactId int, timeModified bigint, timeNotified bigint, timeDisplayed bigint,
        comment varbinary(32767) null, commentType int, replyTo int, ordinal int, authorOrdinal int, commentTags
        varbinary(1024) null, commentRound int, commentFormat tinyint null, commentOverflow varbinary(4096) null
    """,
    "PaperConflict": """
        paperConflictId int, paperId int, contactId int, conflictType tinyint
    """,
    "PaperReview": """
        paperId int, reviewId int, contactId int, reviewToken int, reviewType tinyint, reviewRound int, requestedBy
        int, timeRequested bigint, timeRequestNotified bigint, reviewBlind tinyint, reviewModified bigint,
        reviewAuthorModified bigint null, reviewSubmitted bigint null, reviewNotified bigint null,
        reviewAuthorNotified bigint, reviewAuthorSeen bigint null, reviewOrdinal int, reviewViewScore tinyint,
        timeDisplayed bigint, timeApprovalRequested bigint, reviewEditVersion int, reviewNeedsSubmit tinyint,
        reviewWordCount int null, reviewFormat tinyint null, overAllMerit tinyint, reviewerQualification tinyint,
        novelty tinyint, technicalMerit tinyint, interestToCommunity tinyint, longevity tinyint, grammar tinyint,
        likelyPresentation tinyint, suitableForShort tinyint, potential tinyint, fixability tinyint, tfields
        varbinary(4096) null, sfields varbinary(2048) null, data varbinary(8192) null
    """,
    "PaperReviewPreference": """
        paperRevPrefId int, paperId int, contactId int, preference int, expertise int null
    """,
    "PaperReviewRefused": """
        paperId int, email varchar(120), firstName varbinary(120) null, lastName varbinary(120) null, affiliation
        varbinary(2048) null, contactId int, requestedBy int, timeRequested bigint null, refusedBy int null,
        timeRefused bigint null, reviewType tinyint, reviewRound int null, data varbinary(8192) null, reason
        varbinary(32767) null
    """,
    "PaperTag": """
        paperId int, tag varchar(80), tagIndex float
    """,
    "PaperTopic": """
        paperId int, topicId int
    """,
    "PaperWatch": """
        paperWatchId int, paperId int, contactId int, watch int
    """,
    "ReviewRating": """
        ratingId int, paperId int, reviewId int, contactId int, rating tinyint
    """,
    "Settings": """
        name varbinary(256), value bigint, data varbinary(32767) null
    """,
    "TopicArea": """
        topicId int, topicName varbinary(1024) null
    """,
    "TopicInterest": """
        topicInterestId int, contactId int, topicId int, interest int
    """,
}
KEYS = {
    "ActionLog": ["logId"],
    "Capability": ["salt"],
    "ContactInfo": ["contactId"],
    "Paper": ["paperId"],
    "PaperComment": ["commentId"],
    "PaperConflict": ["paperConflictId"],
    "PaperReview": ["paperId", "reviewId"],
    "PaperReviewPreference": ["paperRevPrefId"],
    "PaperReviewRefused": ["paperId", "email"],
    "PaperTag": ["paperId", "tag"],
    "PaperTopic": ["paperId", "topicId"],
    "PaperWatch": ["paperWatchId"],
    "ReviewRating": ["paperId", "reviewId", "contactId"],
    "Settings": ["name"],
    "TopicArea": ["topicId"],
    "TopicInterest": ["topicInterestId"],
}
UNIQUE = {"ContactInfo": {"email"}, "PaperReview": {"reviewId"}, "ReviewRating": {"ratingId"}}
#: Columns that may hold a 0, which no row has: the database cannot watch them.
MAY_BE_NOBODY = {
    "ActionLog": {"contactId"},
    "Capability": {"contactId", "paperId"},
    "Paper": {"leadContactId", "shepherdContactId", "managerContactId"},
    "PaperComment": {"replyTo"},
    "PaperReview": {"requestedBy"},
    "PaperReviewRefused": {"contactId", "requestedBy"},
}
OURS = "PaperAuthor"


def model_of(table: str) -> Any:
    return next(model for model in apps.get_app_config("hotcrp_sim").get_models() if model._meta.db_table == table)


def test_there_is_no_table_but_these() -> None:
    tables = {model._meta.db_table for model in apps.get_app_config("hotcrp_sim").get_models()}
    assert tables == {*COLUMNS, OURS}


@pytest.mark.parametrize("table", COLUMNS)
def test_columns_and_nulls(table: str) -> None:
    wanted = [column.split() for column in " ".join(COLUMNS[table].split()).split(", ")]
    found = [(field.column, field.null) for field in model_of(table)._meta.local_concrete_fields]
    assert sorted(found) == sorted((name, bool(null)) for name, _, *null in wanted)


@pytest.mark.only_on("mysql")
@pytest.mark.parametrize("table", COLUMNS)
def test_types_are_those_of_the_original_on_mariadb(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, column_type, is_nullable FROM information_schema.columns "
            "WHERE table_schema = DATABASE() AND table_name = %s",
            [table],
        )
        rows = cursor.fetchall()
    found = {name: f"{re.sub(WIDTH, '', kind)}{' null' * (nullable == 'YES')}" for name, kind, nullable in rows}
    wanted = dict(column.split(" ", 1) for column in " ".join(COLUMNS[table].split()).split(", "))
    assert found == wanted


@pytest.mark.parametrize("table", COLUMNS)
def test_keys(table: str) -> None:
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, table).values()
    [key] = [each["columns"] for each in constraints if each["primary_key"]]
    assert sorted(key) == sorted(KEYS[table])  # SQLite does not tell in which order
    unique = {each["columns"][0] for each in constraints if each["unique"] and len(each["columns"]) == 1}
    assert unique - set(key[:1] * (len(key) == 1)) == UNIQUE.get(table, set())


@pytest.mark.parametrize("table", COLUMNS)
def test_the_database_watches_every_reference_that_cannot_be_nobody(table: str) -> None:
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, table).values()
    watched = {each["columns"][0] for each in constraints if each["foreign_key"]}
    references = {field.column for field in model_of(table)._meta.local_fields if field.related_model}
    assert watched == references - MAY_BE_NOBODY.get(table, set())


# Fields


def test_nobody_is_none_in_python_and_0_in_the_table() -> None:
    contact = m.ContactInfo.objects.create_user("ada@example.org")
    paper = m.Paper.objects.create(title="Logs", lead_contact=contact, shepherd_contact=None)
    assert (paper.shepherd_contact, paper.manager_contact, paper.lead_contact) == (None, None, contact)
    assert list(m.Paper.objects.filter(shepherd_contact=0, manager_contact_id=0)) == [paper]
    [paper] = m.Paper.objects.prefetch_related("lead_contact", "shepherd_contact")
    paper.lead_contact = None
    others = {field.name for field in m.Paper._meta.fields} - {"lead_contact", "shepherd_contact"}
    paper.clean_fields(exclude=others)
    paper.save()
    assert m.Paper.objects.values_list("lead_contact_id", "shepherd_contact_id").get() == (0, 0)
    paper.lead_contact_id = 4711
    with pytest.raises(ValidationError):
        paper.clean_fields(exclude=others)


def test_moments_are_seconds_and_never_is_0() -> None:
    now = timezone.now().replace(microsecond=0)
    paper = m.Paper.objects.create(title="Logs", time_submitted=now)
    review = m.PaperReview.objects.create(
        paper=paper, contact=m.ContactInfo.objects.create_user("ada@example.org"), review_modified=now
    )
    paper.refresh_from_db()
    review.refresh_from_db()
    assert (paper.time_submitted, paper.time_withdrawn) == (now, None)
    assert (review.review_modified, review.review_submitted, review.time_displayed) == (now, None, None)
    paper.save()
    review.save()
    with connection.cursor() as cursor:
        quote = connection.ops.quote_name
        for table, columns, row in (
            ("Paper", ("timeSubmitted", "timeWithdrawn"), (int(now.timestamp()), 0)),
            ("PaperReview", ("reviewModified", "reviewSubmitted", "timeDisplayed"), (int(now.timestamp()), None, 0)),
        ):
            cursor.execute(f"SELECT {', '.join(map(quote, columns))} FROM {quote(table)}")
            assert cursor.fetchall() in ([row], (row,))
    assert m.Paper.objects.filter(time_submitted__gte=now, time_withdrawn=0).exists()


def test_text_in_columns_of_bytes_is_text() -> None:
    title = "Zürich’s 😀 “logs”"
    m.Paper.objects.create(title=title, sha1=bytes(range(64)))
    paper = m.Paper.objects.get(title=title)
    assert (paper.title, bytes(paper.sha1)) == (title, bytes(range(64)))
    assert m.Paper.objects.filter(title__contains="ürich").exists()
    assert m.Paper.objects.filter(title__icontains="LOGS").exists()
    assert not m.Paper.objects.filter(title__icontains="locks").exists()


@pytest.mark.only_on("mysql")
def test_what_is_no_utf_8_is_shown_with_a_mark() -> None:
    m.Paper.objects.create(title="x")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE Paper SET title = %s", [b"Z\xfcrich"])
    assert m.Paper.objects.get().title == "Z\N{REPLACEMENT CHARACTER}rich"


@pytest.mark.once
def test_reviews_are_counted_and_ratings_are_not() -> None:
    ada = m.ContactInfo.objects.create_user("ada@example.org")
    papers = [m.Paper.objects.create(title=title) for title in "ab"]
    reviews = [m.PaperReview.objects.create(paper=paper, contact=ada) for paper in papers]
    assert [review.review_id for review in reviews] == [1, 2]
    assert reviews[1].pk == (papers[1].pk, 2)
    ratings = [m.ReviewRating.objects.create(paper=each.paper, review=each, contact=ada) for each in reviews]
    assert ratings[0].rating_id != ratings[1].rating_id
    with pytest.raises(IntegrityError), transaction.atomic():
        m.ReviewRating.objects.create(paper=papers[0], review=reviews[0], contact=ada)


@pytest.mark.once
def test_texts_of_a_review() -> None:
    review = m.PaperReview(tfields=None)
    assert review.texts == dict.fromkeys(m.REVIEW_TEXTS, "")
    review.texts = {"t01": "Göod"}
    assert review.tfields == '{"t01":"Göod"}'
    assert review.texts == {"t01": "Göod", "t02": "", "t03": ""}


# Accounts


@pytest.mark.once
def test_an_account_says_nothing_of_its_owner_in_logs() -> None:
    contact = m.ContactInfo.objects.create_user("Ada@Example.org ", "x", first_name="Ædä", last_name="Łovelace")
    assert (contact.email, contact.unaccented_name) == ("ada@example.org", "da ovelace")
    assert "ada" not in f"{contact} {contact!r}".lower()


@pytest.mark.once
def test_logging_in_is_for_people_and_is_noted(client: Any) -> None:
    ada = m.ContactInfo.objects.create_user("ada@example.org", "x")
    assert ada.last_login is None or not ada.last_login
    started = timezone.now().replace(microsecond=0)
    assert not client.login(hotcrp_email="ada@example.org", password="y")
    assert client.login(hotcrp_email="Ada@example.org", password="x")
    ada.refresh_from_db()
    assert ada.last_login >= started
    backend = HotcrpBackend()
    assert backend.get_user(ada.pk) == ada
    for flag in ("disabled", "is_guise"):
        m.ContactInfo.objects.update(disabled=flag == "disabled", is_guise=flag == "is_guise")
        assert backend.get_user(ada.pk) is None
        assert authenticate(None, hotcrp_email="ada@example.org", password="x") is None


@pytest.mark.once
def test_logins_of_other_applications_are_not_asked_about() -> None:
    m.ContactInfo.objects.create_user("ada@example.org", "x")
    assert authenticate(None, username="ada@example.org", password="x") is None
    assert authenticate(None, hotcrp_email="ada@example.org", password="x", more="x") is None


def test_a_new_account_claims_what_names_its_address() -> None:
    """Lines of authors and refused reviews: from then on, a disguise covers them."""
    other = "Eve\tOther\teve@example.net\tElsewhere"
    paper = m.Paper.objects.create(title="Logs", author_information=f"{other}\nAda\tL\tADA@example.org\tHere")
    m.PaperReviewRefused.objects.create(paper=paper, email="ada@example.org", first_name="Ada", reason="Busy.")
    before = paper.author_list()
    ada = open_account("Ada@example.org", "x", first_name="Ada")
    paper.refresh_from_db()
    assert paper.author_information == f"{other}\n"
    assert paper.author_list()[0] == before[0]
    assert paper.author_list()[1].name == "Ada L"
    assert ada.authorships.get().position == 2
    assert ada.conflicts.get().conflict_type == m.AUTHOR
    refusal = m.PaperReviewRefused.objects.get()
    assert (refusal.contact, refusal.reason, refusal.first_name) == (ada, "Busy.", None)
    assert not refusal.email.startswith("ada@")
    assert refusal.who == "Ada"


def test_an_address_inside_another_is_not_claimed() -> None:
    line = "Bea\tx\tnada@example.org\t"
    paper = m.Paper.objects.create(title="Logs", author_information=line)
    open_account("ada@example.org", "x")
    paper.refresh_from_db()
    assert paper.author_information == line
