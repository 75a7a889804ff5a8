"""A page of the site's own on which somebody changes what they have disowned, with the key at hand for that one request."""

from __future__ import annotations

import json
import types
from typing import Any

import pytest
from django.db.models import QuerySet
from django.test import Client
from django.urls import include, path

from apps.websubmit.models import Answer, User
from apps.websubmit.privacy import Privacy
from edna.models import Bag
from edna.pages.editing import EditDisowned
from edna.pages.hidden_data import titles
from tests.custody.browser import Browser as Asking
from tests.handing import Browser, as_sent, without_keys
from tests.support import ANONYMISE_ALL, PASSWORD, Student, enrol, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.once]


class Edit(EditDisowned):
    fields = ("text",)
    title = "Change an answer"
    saved_by: list[Any] = []

    def get_queryset(self) -> QuerySet[Answer]:
        return Answer.objects.all()

    def get_success_url(self) -> str:
        return "/seen"

    def opened(self, form: Any, unlocked: Any) -> Any:
        save = form.save

        def saved() -> Any:
            self.saved_by.append(self.request.user)
            return save()

        form.save = saved
        return super().opened(form, unlocked)


site = types.ModuleType("site_of_answers")
site.urlpatterns = [  # type: ignore[attr-defined]
    path("answers/<int:pk>/edit", Edit.as_view()),
    path("privacy/", include("edna.urls")),
    path("", include("config.urls")),
]


@pytest.fixture
def bea(settings: Any) -> Student:
    settings.ROOT_URLCONF = site
    Edit.saved_by.clear()
    return enrol_in_course("bea@example.org", "carl@example.org", password=PASSWORD)


def test_an_answer_is_changed_in_the_placeholders_name_and_comes_back_changed(bea: Student, client: Client) -> None:
    """Her session is hers before and after; the key is asked for again each time."""
    receipt = bea.disguise(ANONYMISE_ALL)
    client.force_login(bea.user)
    answer = Answer.objects.filter(author__is_anon=True).order_by("pk")[0]
    address, bags = f"/answers/{answer.pk}/edit", Bag.objects.count()

    assert answer.text in client.get(address).content.decode()
    wrong = client.post(address, {"text": "Corrected", "password": "another"})
    assert wrong.status_code == 200
    assert client.post(address, {"text": "Corrected"}).status_code == 200
    assert Answer.objects.get(pk=answer.pk).text == answer.text

    right = client.post(address, {"text": "Corrected", "password": PASSWORD})
    assert (right.status_code, right["Location"]) == (302, "/seen")
    assert "no-store" in right["Cache-Control"]
    assert Edit.saved_by == [User.objects.get(pk=answer.author_id)]
    assert client.session["_auth_user_id"] == str(bea.user.pk)
    assert (Answer.objects.get(pk=answer.pk).text, Bag.objects.count()) == ("Corrected", bags)
    bea.reveal(receipt)
    assert Answer.objects.values_list("text", "author").get(pk=answer.pk) == ("Corrected", bea.user.pk)


def test_nobody_changes_what_is_not_theirs(bea: Student, client: Client) -> None:
    """By a key that is right, and speaks for somebody else; nor, on this page, what was never disowned."""
    own = Answer.objects.filter(author=bea.user)[0]
    enrol("dan@example.org", password=PASSWORD)
    client.force_login(bea.user)
    assert client.post(f"/answers/{own.pk}/edit", {"text": "Mine", "password": PASSWORD}).status_code == 200
    bea.disguise(ANONYMISE_ALL)
    client.force_login(User.objects.get(email="dan@example.org"))
    for answer in Answer.objects.all():
        asked = client.post(f"/answers/{answer.pk}/edit", {"text": "Dan's", "password": PASSWORD})
        assert asked.status_code == 200
    assert not Answer.objects.filter(text__in=["Mine", "Dan's"]).exists()


def test_with_a_key_in_the_browser_it_takes_a_handover(bea: Student, settings: Any) -> None:
    """What says for whom she speaks, and neither her key nor what was disguised."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    bea.disguise(ANONYMISE_ALL)
    answer = Answer.objects.filter(author__is_anon=True).order_by("pk")[0]
    asking = Asking()
    asking.force_login(bea.user)
    asking.cookies["csrftoken"] = "t" * 32
    handover = Browser(bea.secret_key).for_disguise()
    settings.ROOT_URLCONF = "edna.urls"
    token = asking.prove(bea.secret_key)
    settings.ROOT_URLCONF = site
    sent = {"text": "Corrected", "handed": json.dumps(as_sent(handover)), "key_session": token}
    with without_keys():
        done = asking.post(f"/answers/{answer.pk}/edit", sent, headers={"X-CSRFToken": "t" * 32})
    assert done.status_code == 302
    assert Answer.objects.get(pk=answer.pk).text == "Corrected"
    assert Edit.saved_by == [User.objects.get(pk=answer.author_id)]


def test_a_browser_learns_what_a_site_calls_everything(bea: Student) -> None:
    """With places for parameters where a title tells them; by parameters where the site looks them up."""
    lecture = Answer.objects.filter(author=bea.user)[0].question.lecture
    told = titles(Privacy())
    assert told["titles"]["websubmit.anonymize-lecture"] == "The staff took the names off a lecture"
    assert [{"lecture": lecture.pk}, f"The staff took the names off “{lecture}”"] in told["titles_of"][
        "websubmit.anonymize-lecture"
    ]
    topics = type("Topics", (Privacy,), {"title_of": lambda self, entry: f"Leave {sorted(entry.params.values())}"})
    assert titles(topics())["titles"]["websubmit.anonymize-lecture"] == "Leave ['{lecture}']"
