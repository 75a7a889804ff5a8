"""edna's pages in each application: in its own frame, for its own people, and for nobody else's."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

import edna
from apps.hotcrp_sim.models import PaperReview
from apps.lobsters_sim.models import Story
from apps.showcase.tests.beas import EMAIL, KEYS, PAIRS, PASSWORD, Bea, privacy, rows, text_of, url
from apps.websubmit.models import Answer, Question

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.thorough]

#: What is typed at a login, and beside a password where nobody is logged in.
NAMES = {"websubmit": EMAIL, "lobsters": "bea", "hotcrp": EMAIL}
#: What the staff of each application delete while Bea is away.
DELETED: dict[str, Any] = {"websubmit": Question, "lobsters": Story, "hotcrp": PaperReview}


def by_password(key: str) -> dict[str, str]:
    return {"identifier": NAMES[key], "password": PASSWORD}


def test_there_are_no_pages_but_those_of_an_application(client: Client) -> None:
    """Beside them, nobody goes round what one of them asks for."""
    assert client.get("/edna/return/").status_code == 404


def leave(key: str, browser: Client) -> Any:
    """On the page: what it tells is sent back with the password."""
    page = browser.get(privacy(key, "apply"))
    return browser.post(privacy(key, "apply"), {"password": PASSWORD, "seen": page.context["form"]["seen"].value()})


@pytest.mark.parametrize("key", KEYS)
def test_somebody_leaves_and_comes_back(beas: dict[str, Bea], key: str) -> None:
    """In the frame of the site, whose log-in the pages lead to."""
    before = rows(set(KEYS))
    refused = Client().get(privacy(key, "home"))
    assert refused.headers["Location"].startswith(url(key, "login"))
    browser = beas[key].browser()
    home = browser.get(privacy(key, "home"))
    start = url(key, "front" if key == "lobsters" else "home")
    assert f'href="{start}"' in home.content.decode()
    assert privacy(key, "apply") in home.content.decode()
    done = leave(key, browser)
    assert "Good-bye" in text_of(done)
    assert not beas[key].is_here()
    back = Client().post(privacy(key, "return"), by_password(key))
    assert "It is back" in text_of(back)
    assert f'href="{url(key, "login")}"' in back.content.decode()
    assert rows(set(KEYS)) == before


@pytest.mark.parametrize("key", KEYS)
def test_what_waits_is_told_after_a_login_and_given_up(beas: dict[str, Bea], key: str) -> None:
    """What somebody has deleted meanwhile is listed, and goes after one more question."""
    beas[key].leave()
    DELETED[key].objects.all().delete()
    back = Client().post(privacy(key, "return"), by_password(key))
    assert "Not all of it could come back" in text_of(back)
    name = {"hotcrp": "email"}.get(key, "username")
    login = Client().post(url(key, "login"), {name: NAMES[key], "password": PASSWORD}, follow=True)
    assert "this could not come back yet" in text_of(login)
    browser = beas[key].browser()
    [entry] = browser.post(privacy(key, "hidden"), {"password": PASSWORD}).context["waiting"]
    held = [row.name for group in entry["groups"] for row in group.rows]
    sent = {"receipt": str(entry["receipt"]), "row": held, "password": PASSWORD}
    assert "Tick this box" in text_of(browser.post(privacy(key, "give-up"), sent))
    assert "Nothing of it waits for you any more" in text_of(
        browser.post(privacy(key, "give-up"), {**sent, "final": "on"})
    )
    with beas[key].unlock() as unlocked:
        assert edna.history(unlocked) == []


def test_whoever_gives_up_the_last_that_waited_is_told_so(beas: dict[str, Bea]) -> None:
    """Their account is gone, and nothing of it is left: the key opens nothing any more. The page said that nothing had been changed."""
    bea = beas["websubmit"]
    [(lecture,)] = {(each.question.lecture_id,) for each in Answer.objects.filter(author=bea.user)[:1]}
    edna.disguise_all("websubmit.anonymize-lecture", params={"lecture": lecture})
    Answer.objects.all().delete()
    bea.user.delete()
    with bea.unlock() as unlocked:
        [entry] = edna.history(unlocked)
        edna.reveal(entry.receipt, unlocked)
    given = {"recovery_code": bea.code, "password": "", "identifier": ""}
    [waiting] = Client().post(privacy("websubmit", "hidden"), given).context["waiting"]
    held = [row.name for group in waiting["groups"] for row in group.rows]
    sent = {"receipt": str(waiting["receipt"]), "row": held, "final": "on"}
    told = Client().post(privacy("websubmit", "give-up"), {**given, **sent})
    assert "Nothing of it waits for you any more" in text_of(told)
    assert told.context["title"] == "It is given up"


@pytest.mark.parametrize(("key", "other"), PAIRS)
def test_nothing_is_shown_or_brought_back_on_the_pages_of_others(beas: dict[str, Bea], key: str, other: str) -> None:
    """Not by key, not by receipt, logged in or not; and nobody is told that it is a key of elsewhere."""
    here = Client().post(privacy(other, "return"), {"recovery_code": beas[key].code})
    assert "does not open your key" in text_of(here)
    receipt = str(beas[key].leave())
    before = rows(set(KEYS))
    for browser in (Client(), beas[other].browser()):
        for page, extra in [("return", {}), ("return", {"receipt": receipt}), ("back", {"receipt": receipt})]:
            address = privacy(other, {"back": "bring-back"}.get(page, page))
            # Beside a code, the page of what is hidden sends an empty password.
            answer = browser.post(address, {"recovery_code": beas[key].code, "password": "", **extra})
            assert answer.status_code == 200
            assert "It is back" not in text_of(answer)
        listed = browser.post(privacy(other, "hidden"), {"recovery_code": beas[key].code})
        assert receipt not in listed.content.decode()
    assert not beas[key].is_here()
    assert {table: found for table, found in rows(set(KEYS)).items() if table in before} == before


@pytest.mark.parametrize("key", KEYS)
def test_whoever_comes_when_too_many_are_at_it_is_told_when(
    beas: dict[str, Bea], key: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the page that they are on; looking is free, the preview too."""
    browser = beas[key].browser()
    monkeypatch.setattr("edna.throttle._now", lambda: 1_800_000_018.0)
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": __name__}}
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 1 / 60}
    for window in (29_999_999, 30_000_000):
        caches["default"].set(f"edna:requests:{window}", 1)
    refused = leave(key, browser)
    assert refused.status_code == 429
    assert refused["Retry-After"] == "42"
    assert "please try again in 42 seconds" in text_of(refused)
    assert beas[key].is_here()
    assert Client().post(privacy(key, "return"), by_password(key)).status_code == 429
