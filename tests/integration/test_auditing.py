"""`edna_audit`: values of one person are found wherever they stand, the report tells none of them, and says what becomes of each column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.backends.db import SessionStore
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models import Q

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Keep, Modify, Param, Remove, placeholders
from edna.auditing import report, treatment, values
from edna.auditing.remaining_columns import Standing, remaining
from edna.auditing.search import Findings, search
from edna.auditing.treatment import Becomes
from edna.models import Bag
from edna.testing import DisguiseAssertions, application_dump, assert_nothing_left_of, assert_report_is_current
from tests.installed import registering
from tests.integration.shell import refused
from tests.support import ANONYMISE_ALL, DELETE, PASSWORD, Student, edna_dump, enrol_in_course, flipped

EMAIL, TEXT = "bea@example.org", "Because of the sea."

pytestmark = [pytest.mark.django_db, pytest.mark.long]


@pytest.fixture
def bea() -> Student:
    """Her answers say what nobody else says."""
    bea = enrol_in_course(EMAIL, "carl@example.org", password=PASSWORD)
    Answer.objects.filter(author=bea.user).update(text=TEXT)
    return bea


@pytest.fixture
def notes(transactional_db: None) -> Iterator[str]:
    """A table that no model stands for, with a key of two columns."""
    yield from _notes()


def _notes() -> Iterator[str]:
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TABLE loose_note (place integer, number integer, {quote('note')} varchar(200), PRIMARY KEY (place, number))"
        )
    yield "loose_note"
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE loose_note")


def places(findings: Findings) -> dict[str, list[str]]:
    return {place.name: place.keys for place in findings.certain}


def planned(student: Student, name: str = DELETE, **params: Any) -> values.Values:
    return values.of_plan(edna.plan(name, student.user, params=params), student.user)


def sealed(student: Student) -> values.Values:
    with student.unlock() as unlocked:
        return values.of_sealed(unlocked)


# The search


@pytest.mark.usefixtures("notes")
def test_what_is_left_of_somebody_who_is_disguised_is_found_in_every_table(bea: Student) -> None:
    """Before, as the plan says it will be; after, by what the key opens; and by values that are given. On each database."""
    lecture = Lecture.objects.create(label="Held by BEA@example.org")
    Question.objects.create(lecture=lecture, number=1, text=f"Discuss: {TEXT}")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO loose_note VALUES (3, 4, 'call bea@example.org')")
    session = SessionStore()
    session["seen"] = ["a page of bea@example.org"]
    session.save()
    expected = {
        "websubmit_lecture.label": [str(lecture.pk)],
        "websubmit_question.text": [str(lecture.questions.get().pk)],
        "loose_note.note": ["3/4"],
        "django_session.session_data": ["…"],  # the key opens the session
    }
    before = application_dump() | edna_dump()
    assert places(search(planned(bea))) == expected
    assert application_dump() | edna_dump() == before

    bea.disguise()
    found = search(sealed(bea))
    assert places(found) == expected
    assert found.certain[0].holds == {"websubmit.User.email": 1}
    assert places(search(values.given(["", EMAIL, TEXT]))) == expected
    assert places(search(sealed(bea), ignore=["loose_note", "websubmit_lecture.label"])).keys() == {
        "websubmit_question.text",
        "django_session.session_data",
    }


@pytest.mark.once
def test_nothing_is_found_of_who_is_disguised_well(bea: Student) -> None:
    assert search(planned(bea)).places == []
    bea.disguise()
    found = search(sealed(bea))
    assert found.places == []
    assert found.values > 2
    assert found.rows > 8


@pytest.mark.once
def test_before_the_disguise_the_own_rows_are_found_by_their_values(bea: Student) -> None:
    assert places(search(values.given([EMAIL]))).keys() == {"websubmit_user.email"}


@pytest.mark.once
def test_what_somebody_else_has_in_the_same_column_is_told_apart(bea: Student) -> None:
    Answer.objects.filter(author__email="carl@example.org").update(text=TEXT)
    found = search(planned(bea))
    assert found.certain == []
    assert [place.name for place in found.shared] == ["websubmit_answer.text"]


@pytest.mark.once
def test_a_word_of_the_code_is_told_apart(bea: Student) -> None:
    """Somebody may be called Max, and a migration 0008_alter_user_username_max_length; and so a table, which SQLite counts by name."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    found = search(values.given(["content type"]))
    assert found.certain == []
    assert "auth_permission.name" in {place.name for place in found.shared}


@pytest.mark.once
def test_what_stands_in_a_document_of_somebody_else_in_the_same_column_is_told_apart(bea: Student) -> None:
    """Documents have many words in common: `{"method": "GET"}`."""
    hers = {"method": "Through the harbour", "to": "https://bea.example/hook"}
    for email, document in ((EMAIL, hers), ("carl@example.org", {**hers, "to": "https://carl.example/"})):
        Answer.objects.filter(author__email=email).update(text=json.dumps(document))
    found = search(planned(bea))
    assert found.certain == []
    assert [place.name for place in found.shared] == ["websubmit_answer.text"]
    Answer.objects.filter(author__email="carl@example.org").update(text=json.dumps({"quoted": hers["to"]}))
    assert [place.name for place in search(planned(bea)).shared] == ["websubmit_answer.text"]
    Answer.objects.filter(author__email="carl@example.org").update(text=json.dumps({"quoted": f"See {hers['to']}."}))
    assert [place.name for place in search(planned(bea)).certain] == ["websubmit_answer.text"]


@pytest.mark.once
def test_an_address_is_nobody_else_s_wherever_it_stands(bea: Student) -> None:
    """A guest's row says of nobody whose it is, and has it in the same column."""
    Answer.objects.filter(author__email__in=[EMAIL, "carl@example.org"]).update(text="bea@work.example")
    found = search(planned(bea))
    assert [place.name for place in found.certain] == ["websubmit_answer.text"]
    assert found.shared == []


@pytest.mark.once
def test_what_somebody_else_is_known_by_is_theirs_also_where_a_row_of_the_person_held_it(
    bea: Student, typed: Any
) -> None:
    """An invitation, a line of a log: what goes with the person names others, who are named everywhere."""
    carl, text = "carl@example.org", "I invited Dora, dora@example.org"
    first, second = Answer.objects.filter(author=bea.user).order_by("pk")[:2]
    Answer.objects.filter(pk=first.pk).update(text=carl)
    Answer.objects.filter(pk=second.pk).update(text=text)
    lecture = Lecture.objects.create(label=f"Held by {carl}")
    other = Lecture.objects.create(label=text)
    # Her own address is hers, wherever it stands, also where the account stays.
    hers = Lecture.objects.create(label=EMAIL)
    found = search(planned(bea))
    assert sorted(places(found)["websubmit_lecture.label"]) == sorted([str(other.pk), str(hers.pk)])
    shared = {place.name: place.keys for place in found.shared}
    assert shared["websubmit_lecture.label"] == [str(lecture.pk)]
    assert "websubmit_user.email" in shared
    ran = typed("edna_audit", "--principal", EMAIL, "--disguise", DELETE)
    assert "it may be somebody else’s, who has the same or is known by it" in ran.out
    assert_nothing_left_of(bea.user, DELETE, ignore=["websubmit_lecture"])
    assert places(search(values.given([carl]))).keys() == {
        "websubmit_user.email",
        "websubmit_answer.text",
        "websubmit_lecture.label",
    }
    bea.disguise()
    assert {"websubmit_lecture.label", "websubmit_user.email"} <= {place.name for place in search(sealed(bea)).shared}


@pytest.mark.once
def test_of_whose_account_stays_their_own_row_names_nobody_else(bea: Student) -> None:
    """What a key opens says where it was taken from; that the account has it, too, makes it no other's."""
    answer = Answer.objects.filter(author=bea.user).order_by("pk")[0]
    Answer.objects.filter(pk=answer.pk).update(text=EMAIL)
    Lecture.objects.create(label=f"Held by {EMAIL}")
    steps = [Modify(Answer, owner="author", set={"text": "[gone]"})]
    with registering(type("Hush", (Disguise,), {"name": "audit.hush", "transformations": steps})):
        bea.disguise("audit.hush")
        assert "websubmit_lecture.label" in places(search(sealed(bea)))


@pytest.mark.once
def test_while_the_account_stays_its_name_is_looked_for_only_in_what_was_taken_from_it(bea: Student) -> None:
    first = Answer.objects.filter(author=bea.user).order_by("pk")[0]
    Answer.objects.filter(pk=first.pk).update(text="Signed, bea@example.org")
    Lecture.objects.create(label="Ask bea@example.org")
    expected = {"websubmit_answer.text": [str(first.pk)]}
    assert places(search(planned(bea, ANONYMISE_ALL))) == expected


@pytest.mark.once
def test_the_row_of_an_account_that_stays_has_what_is_taken_from_elsewhere(bea: Student) -> None:
    """A signature that is the e-mail address of the account; but not what is taken from the account itself."""
    answer = Answer.objects.filter(author=bea.user).order_by("pk")[0]
    Answer.objects.filter(pk=answer.pk).update(text=EMAIL)
    hush = Modify(Answer, owner="author", set={"text": "[gone]"})
    rename = Modify(User, set={"email": placeholders.random_email()})
    User.objects.filter(pk=bea.user.pk).update(password=f"of {EMAIL}")
    for steps, found in (([hush], set()), ([hush, rename], {"websubmit_user.password"})):
        with registering(type("Hush", (Disguise,), {"name": "audit.hush", "transformations": steps})):
            assert set(places(search(planned(bea, "audit.hush")))) == found
            receipt = bea.disguise("audit.hush")
            assert set(places(search(sealed(bea)))) == found
            bea.reveal(receipt)


@pytest.mark.once
def test_the_names_of_files_are_searched(world: Any, tmp_path: Path, settings: Any) -> None:
    """But for those of the rows that go."""
    settings.MEDIA_ROOT = tmp_path
    ada = world.Person.objects.create(handle="ada lovelace")
    edna.register_principal(ada)
    document = world.Document.objects.create(owner=ada, scan=ContentFile(b"", "ada_lovelace.pdf"))
    default_storage.save("thumbnails/ada-lovelace.png", ContentFile(b""))
    wanted = values.of_plan(edna.plan("world.leave", ada), ada)
    assert document.scan.name in wanted.files
    found = search(wanted)
    assert {place.name: place.rows for place in found.certain} == {"files of world.Document.scan": 1}
    assert found.files == 2
    settings.MEDIA_ROOT = tmp_path / "made with the first file"
    absent = search(wanted)
    assert (absent.files, absent.notes) == (0, found.notes)
    settings.MEDIA_ROOT = ""
    assert any("MEDIA_ROOT" in note for note in search(wanted).notes)


@pytest.mark.once
def test_it_says_of_what_it_cannot_know_the_values(bea: Student) -> None:
    """Rows that were given away before, while the person's key is not there."""

    def notes(wanted: values.Values) -> list[str]:
        return [note for note in search(wanted).notes if "gave away" in note]

    assert notes(planned(bea)) == []
    bea.disguise(ANONYMISE_ALL)
    (note,) = notes(planned(bea))
    assert "websubmit.answer" in note
    assert notes(sealed(bea)) == []


@pytest.mark.once
def test_bags_that_do_not_open_are_counted(bea: Student) -> None:
    """What is in them was not looked for."""
    bea.disguise()
    bag = Bag.objects.get()
    Bag.objects.filter(pk=bag.pk).update(sealed=flipped(bytes(bag.sealed)))
    wanted = sealed(bea)
    assert (wanted.unopened, wanted.by_needle) == (1, {})


# The report


class Cut(Disguise):
    """Some of everything."""

    name = "audit.cut"
    params = {"lecture": int}
    transformations = [
        Modify(Answer, owner="author", set={"text": "[gone]"}, where=Q(question__lecture=Param("lecture"))),
        Modify(
            User, set={"email": placeholders.random_email(), "apikey": placeholders.derived(str.upper, unique=True)}
        ),
        Keep(User, "password", why="they go on logging in"),
    ]


def columns(disguise: type[Disguise], model: Any) -> dict[str, tuple[Becomes, bool, str]]:
    table = treatment.of(disguise).tables[model]
    return {column.name: (column.becomes, column.partly, column.how or column.why) for column in table.columns.values()}


@pytest.mark.once
def test_it_says_what_becomes_of_each_column() -> None:
    assert columns(Cut, Answer)["text"] == (Becomes.CHANGED, True, "to '[gone]'")
    assert columns(Cut, Answer)["author"] == (Becomes.KEPT, False, "the row stays; other columns of it are changed")
    user = columns(Cut, User)
    assert user["email"] == (Becomes.CHANGED, False, "by random_email")
    assert user["apikey"] == (Becomes.CHANGED, False, "by derived, which may leave a part of what was there")
    assert user["password"] == (Becomes.KEPT, False, "they go on logging in")
    by_name = edna.registry.get
    assert {becomes for becomes, _, _ in columns(by_name(DELETE), Answer).values()} == {Becomes.REMOVED}
    assert columns(by_name(ANONYMISE_ALL), Answer)["author"] == (
        Becomes.DECORRELATED,
        False,
        "to a pseudoprincipal for each question.lecture",
    )


@pytest.mark.once
def test_it_tells_what_nothing_covers_from_what_may_stay() -> None:
    """Over all disguises together, with the reason."""

    def standing(*disguises: type[Disguise]) -> dict[str, tuple[Standing, str]]:
        found = remaining([treatment.of(disguise) for disguise in disguises])
        mine = [each for each in found if each.model in (User, Answer)]
        return {each.label: (each.standing, each.why) for each in mine}

    said = standing(Cut)
    assert said["websubmit.User.password"] == (Standing.ON_PURPOSE, "they go on logging in")
    assert said["websubmit.Answer.text"] == (Standing.IN_PART, "only in rows that a condition means, by audit.cut")
    assert said["websubmit.Answer.author"][0] is Standing.UNCOVERED
    assert "websubmit.User.email" not in said
    assert standing(Cut, edna.registry.get(DELETE)) == {}
    assert standing()["websubmit.Answer.text"] == (
        Standing.UNCOVERED,
        "no disguise says anything of this table; its person is author",
    )


@pytest.mark.once
def test_the_record_of_processing_is_filled_from_settings_and_by_people(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 730}
    record = {field.title: field for field in report.made(facts={"third_countries": "none"}).record}
    assert record["Until when: sealed copies"].text.startswith("730 days")
    assert record["Third countries"].text == "none"
    assert [title for title, field in record.items() if field.open] == [
        "Who answers for it",
        "Legal basis",
        "Who receives other data",
        "Until when: backups",
        "Who operates it",
        "Last drill",
    ]
    assert "e-mail address: " in record["Kinds of data"].text


# The command


@pytest.mark.once
def test_the_command_finds_and_tells_no_value(bea: Student, typed: Any) -> None:
    Lecture.objects.create(label=f"Held by {EMAIL}")
    for argv in (["--principal", EMAIL, "--disguise", DELETE], ["--principal", bea.user.pk]):
        ran = typed("edna_audit", *argv)
        assert ran.code == 3
        assert "websubmit_lecture.label: 1 row" in ran.out
    receipt = bea.disguise()
    ran = typed("edna_audit", "--recovery-code-stdin", stdin=bea.recovery_code)
    assert "websubmit_lecture.label: 1 row" in ran.out
    assert "values of the person in 1 place" in ran.err
    as_json = typed("edna_audit", "--values", "-", "--json", stdin=f"{EMAIL}\n{TEXT}\n").json
    (found,) = as_json["searches"]
    assert [place["place"] for place in found["found"]] == ["websubmit_lecture.label"]
    page = typed("edna_audit", "--identifier", EMAIL, "--password-stdin", "--html", stdin=PASSWORD).out
    for said in (ran.out, ran.err, json.dumps(as_json), page):
        assert EMAIL not in said
        assert TEXT not in said
        assert str(receipt) not in said
    shown = typed("edna_audit", "--recovery-code-stdin", "--show", stdin=bea.recovery_code)
    assert repr(EMAIL) in shown.out


@pytest.mark.once
def test_the_command_is_content_where_nothing_is_found(bea: Student, typed: Any) -> None:
    everything = [
        Keep(each.model, each.column, why="It is a test.")
        for each in remaining(treatment.treatments())
        if each.standing is Standing.UNCOVERED
    ]
    keeping = type(
        "Keeping",
        (Disguise,),
        {
            "name": "audit.keeping",
            "transformations": [Remove(Answer, owner="author"), *everything],
            "asks_for_key": False,
        },
    )
    with registering(keeping):
        ran = typed("edna_audit", "--principal", EMAIL, "--disguise", DELETE)
    assert (ran.code, ran.err) == (0, "")
    assert "Found nowhere." in ran.out


@pytest.mark.once
def test_the_page_is_whole_and_loads_nothing(typed: Any, tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text('{"controller": "<b>Ann & Co</b>"}')
    page = typed("edna_audit", "--html", "--facts", facts).out

    class Reader(HTMLParser):
        open: list[str] = []
        void = {"meta", "br", "link", "img"}

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            assert not {"src", "href"} & {name for name, value in attrs if not value.startswith("#")}
            if tag not in self.void:
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert "&lt;b&gt;Ann &amp; Co&lt;/b&gt;" in page
    for name in edna.registry.disguises():
        assert f'id="{name}"' in page


@pytest.mark.once
def test_the_command_refuses_what_it_cannot_do(bea: Student, typed: Any, tmp_path: Path) -> None:
    refused(
        typed("edna_audit", "--principal", "nobody@example.org"), "No websubmit.User", "--recovery-code", "--values"
    )
    refused(typed("edna_audit", "--values", tmp_path / "none"), "cannot be read")
    refused(typed("edna_audit", "--values", "-", stdin="a\n"), "nothing to look for")
    refused(typed("edna_audit", "--recovery-code-stdin", stdin=bea.recovery_code), "nothing is disguised")
    refused(typed("edna_audit", "--html", "--json"), code=2)
    refused(typed("edna_audit", "--show", "--json"), code=2)
    refused(typed("edna_audit", "--values", "-", "--recovery-code-stdin"), "Standard input", code=2)
    refused(typed("edna_audit", "--database", "elsewhere"), "elsewhere", code=2)
    refused(typed("edna_audit", "--principal", EMAIL, "--param", "lecture=1"), "--disguise", code=2)
    (tmp_path / "facts.json").write_text('{"colour": "blue"}')
    refused(typed("edna_audit", "--facts", tmp_path / "facts.json"), "controller", code=2)


# In tests of an application


class LeavesTheText(Disguise):
    """Takes the account, and gives the answers away as they are."""

    name = "audit.leaves-the-text"
    transformations = [Decorrelate(Answer, owner="author"), Remove(LogEntry, owner="user"), Remove(User)]


@pytest.mark.once
def test_a_rehearsal_sees_what_a_disguise_leaves(bea: Student) -> None:
    """And leaves nothing behind itself, whether the person has a key or not."""
    Answer.objects.filter(author=bea.user).update(text=f"{TEXT} {EMAIL}")
    before = application_dump() | edna_dump()
    assert_nothing_left_of(bea.user, DELETE)
    with registering(LeavesTheText), pytest.raises(AssertionError) as failed:
        DisguiseAssertions().assertNothingLeftOf(bea.user, "audit.leaves-the-text")
    assert "websubmit_answer.text holds websubmit.User.email, 4 rows" in str(failed.value)
    assert EMAIL not in str(failed.value)
    stranger = User.objects.create_user("dora@example.org")
    assert_nothing_left_of(stranger, DELETE)
    stranger.delete()
    assert application_dump() | edna_dump() == before


@pytest.mark.once
@pytest.mark.parametrize(
    ("ending", "option"),
    [
        ("json", "--json"),
        pytest.param("html", "--html", marks=pytest.mark.slow),
        pytest.param("txt", "", marks=pytest.mark.slow),
    ],
)
def test_the_report_in_the_repository_has_to_be_todays(ending: str, option: str, typed: Any, tmp_path: Path) -> None:
    path = tmp_path / f"report.{ending}"
    with pytest.raises(AssertionError, match=re.escape(f"manage.py edna_audit{option and ' ' + option} > {path}")):
        assert_report_is_current(path)
    path.write_text(typed("edna_audit", *filter(None, [option])).out)
    assert_report_is_current(path)
    with registering(Cut), pytest.raises(AssertionError):
        DisguiseAssertions().assertReportIsCurrent(path)
