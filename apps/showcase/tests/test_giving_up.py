"""Whoever comes back, and lacks what others have deleted meanwhile, gives it up on a page: row by row, or all."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

import edna
from apps.hotcrp_sim.models import PaperReview
from apps.lobsters_sim.models import Story
from apps.showcase.tests.beas import OLD, PASSWORD, Bea, text_of
from apps.showcase.tests.tables import thief
from apps.showcase.tests.test_ways_back import by_password as to_come_back
from apps.showcase.tests.test_ways_back import key_of, page
from apps.websubmit.models import Question

pytestmark = [pytest.mark.django_db, pytest.mark.once]

#: What the staff of each application delete while Bea is away, and what of hers cannot come back then.
DELETED: dict[str, tuple[Any, list[str]]] = {
    "websubmit": (Question, ["websubmit.answer/reference_missing"]),
    "lobsters": (Story, ["lobsters_sim.story/row_missing", "lobsters_sim.savedstory/reference_missing"]),
    "hotcrp": (PaperReview, ["hotcrp_sim.paperreview/row_missing"]),
}


@pytest.fixture(params=OLD)
def bea(request: Any, beas: dict[str, Bea]) -> Bea:
    found: Bea = beas[request.param]
    return found


def by_password(bea: Bea, *, login: bool = False) -> dict[str, str]:
    """What a form of this application asks for."""
    given = to_come_back(bea)
    return {"username": given["email"], **given} if login and key_of(bea) == "websubmit" else given


def come_back(bea: Bea, client: Client) -> Any:
    """Away, and back, with something deleted in between."""
    bea.leave()
    DELETED[key_of(bea)][0].objects.all().delete()
    answer = client.post(page(bea, "return"), by_password(bea))
    assert "What could not come back yet" in text_of(answer)
    return answer


def waiting(bea: Bea) -> list[edna.HistoryEntry]:
    with bea.unlock() as unlocked:
        return edna.history(unlocked)


def test_row_by_row_after_a_page_that_says_that_it_is_final(bea: Bea) -> None:
    """Without the key nothing is given up, nor without the word that it is final; what is given up waits no more."""
    client = Client()
    answer = come_back(bea, client)
    names = [line.name.rpartition("/")[0] for line in answer.context["lines"]]
    assert sorted(names) == sorted(DELETED[key_of(bea)][1])
    form = {"receipt": answer.context["held_receipts"], "row": [line.name for line in answer.context["lines"]]}

    asked = client.post(page(bea, "give-up"), {**form, "which": "ticked"})
    assert "This is final." in text_of(asked)
    assert asked.context["chosen"] == form["row"]
    credentials = {**by_password(bea), "confirmed": "yes", "which": "ticked", **form}
    for missing, sentence in [
        ({"password": "wrong", "final": "on"}, "does not open a key here"),
        ({}, "Tick this box if you want to give it up."),
    ]:
        refused = client.post(page(bea, "give-up"), {**credentials, **missing})
        assert sentence in text_of(refused)
        assert refused.context["chosen"] == form["row"]
    assert waiting(bea)

    done = client.post(page(bea, "give-up"), {**credentials, "final": "on"})
    assert "Nothing waits for you any more." in text_of(done)
    assert len(done.context["given_up"]) == len(form["row"])
    assert waiting(bea) == []
    for secret in (PASSWORD, form["receipt"][0]):
        assert secret not in thief()
        assert secret not in str(dict(client.session))


def test_all_of_it(bea: Bea) -> None:
    client = Client()
    answer = come_back(bea, client)
    form = {"receipt": answer.context["held_receipts"], "which": "all"}
    assert "everything that cannot come back now" in text_of(client.post(page(bea, "give-up"), form))
    done = client.post(page(bea, "give-up"), {**form, **by_password(bea), "confirmed": "yes", "final": "on"})
    assert "Nothing waits for you any more." in text_of(done)
    assert waiting(bea) == []


#: What of Bea can be told from her sealed text.
TEXT = {"websubmit": "Because everybody waits.", "lobsters": "", "hotcrp": ""}


def test_it_is_told_after_the_next_login_and_listed_by_whoever_opens_their_key(bea: Bea) -> None:
    """In the words of the site, with the text of the row; what is not in the way any more comes back by the button there."""
    come_back(bea, Client())
    client = Client()
    answer = client.post(page(bea, "login"), by_password(bea, login=True), follow=True)
    assert "could not come back yet." in text_of(answer)
    listing = {"websubmit": "anonymised"}.get(key_of(bea), "disguised")
    credentials = by_password(bea)
    listed = client.post(page(bea, listing), credentials)
    assert "What could not come back yet" in text_of(listed)
    assert TEXT[key_of(bea)] in text_of(listed)
    assert not listed.context.get("history")
    form = {"receipt": listed.context["held_receipts"], "which": "again"}
    assert "Prove your key" in text_of(client.post(page(bea, "give-up"), form))
    again = client.post(page(bea, "give-up"), {**form, **credentials, "confirmed": "yes"})
    assert "Not yet" in text_of(again)
    assert len(waiting(bea)) == 1
