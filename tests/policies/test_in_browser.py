"""A person whose key stays in the browser: the list that it opens says what only another process opens, and who else can read the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import edna
from apps.websubmit.disguises import AnonymizeLecture
from apps.websubmit.models import Answer, User
from apps.websubmit.tests.conftest import PASSWORD
from apps.websubmit.tests.test_in_browser import Student
from tests.audiences.test_holds import Chairs
from tests.policies.parties import EU_RESTORER
from tests.policies.test_bags import US_RESTORER, become, party
from tests.policies.test_process import Served
from tests.support import make_course

pytestmark = [pytest.mark.browser, pytest.mark.once]

__all__ = ["become", "party"]


@pytest.fixture
def declared(transactional_db: None, party: Served, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    monkeypatch.setattr(AnonymizeLecture, "policy", "restore")
    monkeypatch.setattr(AnonymizeLecture, "audience", "chairs")
    Chairs("ada", "bob")


def test_the_list_that_a_browser_opens_says_what_is_barred_and_who_else_can_read_it(
    page: Any, live_server: Any, declared: None, become: Callable[[Mapping[str, str]], None]
) -> None:
    lecture = make_course()[0]
    student = Student(page, live_server.url)
    student.go("register")
    student.fill(email="bea@example.org", new_password=PASSWORD, again=PASSWORD)
    student.press("Create my account")
    student.keeps(student.makes_a_key())
    bea = User.objects.get(email="bea@example.org")
    for question in lecture.questions.all():
        Answer.objects.create(author=bea, question=question, text="An address is not a place.")
    edna.disguise_all("websubmit.anonymize-lecture", params={"lecture": lecture.pk})
    become(US_RESTORER)
    student.privacy("hidden")
    student.opens("Show it")
    student.sees("only another part of this site can open, and it is left out of this list. Nothing is lost")
    for wrong in ("Nothing of yours is hidden", "does not pass its check"):
        assert page.get_by_text(wrong).filter(visible=True).count() == 0
    become(EU_RESTORER)
    student.privacy("hidden")
    student.opens("Show it")
    student.sees("2 of the people in “chairs” can read together what this hides")
    assert page.get_by_text("only another part of this site").filter(visible=True).count() == 0
    assert student.errors == []
