"""People for a load on a site that is there, found or made through its own pages: no database is opened, and no file is needed.

WebSubmit and Lobsters show the recovery code to whoever registers, so accounts are registered and given something to lose. HotCRP mails
a link first; there it is the people of the demo data, whose password everybody knows. The accounts stay when the load is over.
"""

from __future__ import annotations

import html
import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from loadtest.browser import Page, Unexpected
from loadtest.crowd import Guided
from loadtest.hotcrp_sight import form_fields, papers
from loadtest.people import Account, People
from loadtest.popularity import MIX
from loadtest.samples import AROUND

PASSWORD: Final = "the load on a sample site"
CODE: Final = r'id="edna-code">([0-9A-Z-]+)<'
#: Lectures that students hand in, of as many as there are.
LECTURES: Final = 3
DEMO_PASSWORD, DEMO_AUTHOR, DEMO_REVIEWER, DEMO_CHAIR = (
    "conference-demo",
    "bea@example.org",
    "rae@example.org",
    "chair@example.org",
)
_TOWN_PAGES: Final = ("/lobsters/", "/lobsters/recent", "/lobsters/comments")


def people(guide: Guided, app: str, *, staying: int, leaving: int) -> People:
    """``guide`` is the browser that does it.

    Raises:
        Unexpected: a page is not what it must be.
    """
    return _APPS[app](guide, staying, leaving)


def _look(guide: Guided, path: str) -> Page:
    return guide.get(path, name="before: look around", kind=AROUND)


def _unique() -> str:
    return f"{random.getrandbits(48):012x}"


def _websubmit(guide: Guided, staying: int, leaving: int) -> People:
    """Students who hand in some lectures; the others are not looked at."""
    accounts: list[Account] = []
    lectures: list[int] = []
    for _ in range(staying + leaving):
        guide.forget_cookies()
        email = f"load-{_unique()}@example.org"
        fields = {"email": email, "new_password": PASSWORD, "again": PASSWORD}
        code = guide.enter("/websubmit/register/", fields).find(CODE)
        found = _look(guide, "/websubmit/lectures/").all(r'href="/websubmit/lectures/(\d+)/"')
        lectures = [int(lecture) for lecture in dict.fromkeys(found)][:LECTURES]
        marks: dict[str, list[str]] = {}
        for lecture in lectures:
            path = f"/websubmit/lectures/{lecture}/"
            form = _look(guide, path)
            texts = {name: f"{_unique()} is what I have found out." for name in form.all(r'name="(question_\d+)"')}
            guide.post(path, texts, token=form.token, name="before: hand in", kind=AROUND)
            marks[str(lecture)] = list(texts.values())
        rows = 1 + sum(map(len, marks.values()))
        accounts.append(Account(email, code, rows, marks))
    if not lectures:
        raise Unexpected("WebSubmit has no lectures: seed it, as make serve does")
    ordinary = {"students": [account.name for account in accounts[:staying]]}
    return People("websubmit", PASSWORD, ordinary, {"random": accounts[staying:]}, {"lectures": lectures})


def _lobsters(guide: Guided, staying: int, leaving: int) -> People:
    """Members; those who leave have written a story and a comment. What is read is what the front pages show, one as often as the other."""
    shown = "".join(_look(guide, path).text for path in _TOWN_PAGES)
    stories = _different(r'<li class="story" id="s_(\w+)"', shown)
    comments = _different(r'id="c_(\w+)"', shown)
    authors = _different(r'href="/lobsters/u/([\w-]+)"', shown)
    if not stories or not comments:
        raise Unexpected("Lobsters has no stories or no comments: seed it, as make serve does")
    accounts = [_member(guide, stories if number >= staying else []) for number in range(staying + leaving)]
    names = [account.name for account in accounts]
    popular = {
        "members": [[1.0, names[:staying] + authors]],
        "stories": [[1.0, stories]],
        "discussed": [[1.0, stories]],
        "comments": [[1.0, comments]],
    }
    facts = {"mix": dict(MIX), "popular": popular}
    return People("lobsters", PASSWORD, {"members": names[:staying]}, {"random": accounts[staying:]}, facts)


def _different(pattern: str, text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(pattern, text)))


def _member(guide: Guided, stories: list[str]) -> Account:
    """With a story and a comment on one of these, if there are any."""
    guide.forget_cookies()
    name, workplace = f"load-{_unique()}", f"The {_unique()} Institute"
    fields = {"username": name, "email": f"{name}@example.org", "new_password": PASSWORD, "again": PASSWORD}
    page = guide.enter("/lobsters/register", fields)
    code, marks = page.find(CODE), {"workplace": workplace, "stories": 0, "comments": 0}
    if not stories:
        return Account(name, code, 1, marks)
    title = f"What {workplace} has found out"
    story = {"title": title, "url": "", "description": f"{workplace} has told me.", "tags": "programming"}
    written = guide.post("/lobsters/stories", story, token=page.token, name="before: submit a story", kind=AROUND)
    short_id = written.find(r'<article class="story" id="s_(\w+)"')
    remark = f"At {workplace} we have known this for long."
    fields = {"story": stories[0], "comment": remark}
    answered = guide.post("/lobsters/comments", fields, token=written.token, name="before: comment", kind=AROUND)
    if remark not in html.unescape(answered.text):
        raise Unexpected("a comment is not on the page")
    marks |= {"stories": 1, "comments": 1, "story": [short_id, title], "comment": [stories[0], remark]}
    return Account(name, code, 1, marks)


def _hotcrp(guide: Guided, staying: int, leaving: int) -> People:
    """The demo's author, chair and committee. The demo reviewer is the one whose key the password opens: she is the one who leaves."""
    del leaving
    _log_in(guide, DEMO_CHAIR)
    committee = _look(guide, "/hotcrp/chair/people/?q=.pc").all(r"<td>([^<]+@[^<]+)</td><td>[^<]*</td><td>committee<")
    reviewers = [email for email in committee if email != DEMO_REVIEWER][:staying]
    shown = papers(_look(guide, "/hotcrp/papers/").text)
    _log_in(guide, DEMO_AUTHOR)
    mine = papers(_look(guide, "/hotcrp/papers/?show=mine").text)
    if not reviewers or not shown or not mine:
        raise Unexpected("this is not the demo's conference: name people by --people")
    facts: dict[str, Any] = {
        "papers": sorted({*shown, *mine}),
        "papers_of": {DEMO_AUTHOR: sorted(mine)},
        "hidden": {email: _hidden(guide, email) for email in reviewers},
        "names": {},
        "codes": {},
    }
    ordinary = {"authors": [DEMO_AUTHOR], "reviewers": reviewers, "chairs": [DEMO_CHAIR]}
    return People("hotcrp", DEMO_PASSWORD, ordinary, {"random": [_reviewer(guide)]}, facts)


def _log_in(guide: Guided, email: str) -> None:
    guide.forget_cookies()
    page = guide.enter("/hotcrp/login/", {"email": email, "password": DEMO_PASSWORD})
    if "Log out" not in page.text:
        raise Unexpected("this is not the demo's conference: its people are others")


def _hidden(guide: Guided, email: str) -> list[int]:
    """Papers in conflict that the page of the paper does not show, either: those that one manages, it does."""
    _log_in(guide, email)
    numbers = _look(guide, "/hotcrp/conflicts/").all(r'<td class="n">(\d+)</td><td class="title">')
    found = []
    for number in numbers:
        page = guide.get(f"/hotcrp/papers/{number}/", name="before: look around", kind=AROUND, expect=(200, 404))
        if page.status == 404:
            found.append(int(number))
    return found


def _reviewer(guide: Guided) -> Account:
    _log_in(guide, DEMO_REVIEWER)
    shown: dict[int, str] = {}
    following, number = "?page=1", 1
    while following:
        page = _look(guide, f"/hotcrp/papers/?show=reviews&page={number}")
        shown |= papers(page.text)
        number += 1
        following = f"page={number}" if f"page={number}" in page.text else ""
    chosen = next((paper for paper, you in shown.items() if you == "reviewed"), None)
    if chosen is None:
        raise Unexpected("the demo's reviewer has reviewed nothing")
    text = form_fields(_look(guide, f"/hotcrp/papers/{chosen}/review/").text)["t02"]
    marks = {"papers": sorted(shown), "texts": {str(chosen): text[:60]}, "name": None}
    return Account(DEMO_REVIEWER, "", len(shown), marks)


_APPS: Final[Mapping[str, Callable[[Guided, int, int], People]]] = {
    "websubmit": _websubmit,
    "lobsters": _lobsters,
    "hotcrp": _hotcrp,
}
