"""HotCRP's users: authors, reviewers and the chair, who go on while others remove their account (`hotcrp_leaving`).

Of sixteen people ten review, five are authors and one is the chair: reviews are being written. What each does, and how often, stands at
the tasks; between two of them everybody pauses as long as WebSubmit's editors do, so that the number of users sets the load. They
believe no page: a review that was changed stands there as it was written last, authors read no reviewer's name and nobody else's paper,
reviewers see no paper with which they have a conflict, and who has left is named nowhere.

Removing an account closes nothing to others (`apps.hotcrp_sim.policy`). While the conference is anonymised (`hotcrp_conference`) most
pages are closed, and that is right: authors find no paper of theirs; members of the committee have no name, so that the committee's
pages refuse them, and they edit what they wrote by their key; the chair sees numbers and no paper. These requests count as normal ones
do, and have the status 403 or 404.
"""

from __future__ import annotations

import html
import random
import re
import time
from collections import Counter
from typing import Any, ClassVar, Final

from locust import between, task

from loadtest.browser import Page, Visitor
from loadtest.hotcrp_conference import ConferenceAnonymised
from loadtest.hotcrp_leaving import ReviewerWhoLeaves
from loadtest.hotcrp_sight import CONFERENCE, LOGGED_IN, PAGE, PAUSE_SECONDS, form_fields, names_a_reviewer, papers
from loadtest.samples import AROUND, NORMAL


class Guest(Visitor):
    """Logged in as one of the ordinary people of a kind, each user as another one as far as there are enough."""

    abstract = True
    root = "/hotcrp"
    wait_time = between(*PAUSE_SECONDS)
    group: ClassVar[str] = ""
    #: How many users play each person now, by address.
    playing: ClassVar[Counter[str]] = Counter()

    def on_start(self) -> None:
        everybody = self.load.people.ordinary[self.group]
        self.email = min(everybody, key=lambda email: self.playing[email])
        #: What only one window changes, it finds unchanged.
        self.alone = not self.playing[self.email]
        self.playing[self.email] += 1
        self.enter("/login/", {"email": self.email, "password": self.load.people.password}).find(LOGGED_IN)

    def on_stop(self) -> None:
        super().on_stop()
        self.playing[self.email] -= 1

    def see(self, path: str, *, name: str, kind: str = NORMAL) -> Page:
        asked_at = time.time()
        return self._looked_at(
            self.get(path, name=name, kind=kind, expect=CONFERENCE.allowed), asked_at=asked_at, name=name
        )

    def send(self, path: str, fields: dict[str, Any], *, token: str, name: str) -> Page:
        asked_at = time.time()
        page = self.post(path, fields, token=token, name=name, expect=CONFERENCE.allowed)
        return self._looked_at(page, asked_at=asked_at, name=name)

    def _looked_at(self, page: Page, *, asked_at: float, name: str) -> Page:
        if CONFERENCE.names_somebody_who_is_away(page.text, asked_at=asked_at):
            self.wrong(f"somebody who is away is named: {name}")
        return page

    def wrong(self, what: str) -> None:
        self.load.wrong.append(what)

    def comment_on(self, opened: Page, paper: int, **fields: Any) -> None:
        """Discussions get longer in the course of a run, as they do in that of a conference; and look whether it stands there."""
        text = f"{random.getrandbits(64):016x} Thank you; this answers the question of the second review."
        page = self.send(f"/papers/{paper}/comment/", {"text": text, **fields}, token=opened.token, name="comment")
        if page.status == 200 and text[:16] not in page.text:
            self.wrong("a comment is not on the page")


class Author(Guest):
    """Looks what became of the own papers."""

    weight = 5
    group = "authors"

    def on_start(self) -> None:
        super().on_start()
        self.mine: list[int] = self.load.people.facts["papers_of"][self.email]
        foreign = random.choice([paper for paper in self.load.people.facts["papers"] if paper not in self.mine])
        self.get(f"/papers/{foreign}/", name="a paper of others", kind=AROUND, expect=(404,))

    @task(3)
    def list_papers(self) -> None:
        shown = set(papers(self.see("/papers/", name="list own papers").text))
        if not shown <= set(self.mine):
            self.wrong("an author sees a paper of others")
        if shown < set(self.mine) and not CONFERENCE.anonymised:
            self.wrong("an author misses a paper")

    @task(5)
    def read(self) -> None:
        self._open(random.choice(self.mine))

    @task(1)
    def answer(self) -> None:
        paper = random.choice(self.mine)
        opened = self._open(paper)
        if opened.status == 200:
            self.comment_on(opened, paper)

    def _open(self, paper: int) -> Page:
        page = self.see(f"/papers/{paper}/", name="read own paper")
        if names_a_reviewer(page.text, self.load.people.facts["names"].values()):
            self.wrong("an author reads the name of a reviewer")
        return page


class Reviewer(Guest):
    """A member of the committee who has no plans to leave."""

    weight = 10
    group = "reviewers"

    def on_start(self) -> None:
        super().on_start()
        self.hidden = set(self.load.people.facts["hidden"][self.email])
        self.reviewed: list[int] = []
        #: What was written last into the own reviews, by the number of the paper.
        self.written: dict[int, str] = {}
        if self.hidden:
            paper = random.choice(sorted(self.hidden))
            self.get(f"/papers/{paper}/", name="a paper with a conflict", kind=AROUND, expect=(404,))

    def _list(self, path: str, *, name: str) -> dict[int, str]:
        shown = papers(self.see(path, name=name).text)
        if not self.hidden.isdisjoint(shown):
            self.wrong("a reviewer sees a paper with which there is a conflict")
        return shown

    @task(3)
    def list_papers(self) -> None:
        pages = 1 + len(self.load.people.facts["papers"]) // PAGE
        self._list(f"/papers/?page={random.randint(1, pages)}", name="list papers")

    @task(2)
    def list_reviews(self) -> None:
        shown = self._list(f"/papers/?show=reviews&page={random.randint(1, 2)}", name="list own reviews")
        # Only those that are submitted: what the chair has just asked for may be withdrawn again.
        self.reviewed += [paper for paper, you in shown.items() if you == "reviewed" and paper not in self.reviewed]

    @task(6)
    def read(self) -> None:
        known = random.random() < 0.7 and self.reviewed
        paper = random.choice(self.reviewed if known else self.load.people.facts["papers"])
        if paper not in self.hidden:
            self._open(paper)

    def _open(self, paper: int) -> Page:
        page = self.see(f"/papers/{paper}/", name="read a paper")
        if page.status == 200 and self.written.get(paper, "") not in page.text:
            self.wrong("an edited review is not on the page")
        return page

    @task(3)
    def edit(self) -> None:
        if not self.reviewed or not self.alone:
            self.list_reviews()
            return
        paper = random.choice(self.reviewed)
        form = self.see(f"/papers/{paper}/review/", name="open a review")
        if form.status != 200:
            self._edit_anonymously(paper)
            return
        fields, text = self._changed(form)
        page = self.send(f"/papers/{paper}/review/", {**fields, "submit": "1"}, token=form.token, name="edit a review")
        if page.status == 200:
            self.written[paper] = text
            if text not in page.text:
                self.wrong("an edited review is not on the page")

    @staticmethod
    def _changed(form: Page) -> tuple[dict[str, str], str]:
        fields = {name: html.unescape(text) for name, text in form_fields(form.text).items()}
        mark = f"{random.getrandbits(64):016x}"
        return {
            **fields,
            "t02": f"{mark} " + "The evaluation answers a question that the paper does not ask. " * 3,
        }, mark

    def _edit_anonymously(self, paper: int) -> None:
        """While the conference is anonymised, one's key finds the review. It may have been taken back meanwhile: then nothing is found,
        or saved."""
        code = {"recovery_code": self.load.people.facts["codes"][self.email]}
        form = self.see("/disguised/", name="what is disguised (form)")
        opened = self.send("/disguised/", {**code, "paper": paper}, token=form.token, name="what is disguised")
        review = re.search(r'name="review" value="(\d+)"', opened.text)
        if review is None:
            return
        fields, text = self._changed(opened)
        page = self.send(
            "/disguised/review/",
            {**fields, **code, "review": review[1]},
            token=opened.token,
            name="edit an anonymous review",
        )
        if "saved, and still anonymous" in page.text:
            self.written[paper] = text

    @task(1)
    def prefer(self) -> None:
        form = self.see(f"/preferences/?page={random.randint(1, 3)}", name="preferences")
        names = form.all(r'name="(preference_\d+)"')
        if not names or not self.alone:
            return
        name, value = random.choice(names), random.randint(1, 100)
        sent = {name: value, "page": form.find(r'name="page" value="(\d+)"')}
        page = self.send("/preferences/", sent, token=form.token, name="set a preference")
        saved = f'name="{name}" value="{value}"' in page.text
        # Whoever is anonymised between saving and looking finds nothing any more.
        if page.status == 200 and not saved and not CONFERENCE.anonymised:
            self.wrong("a preference is not on the page")

    @task(1)
    def discuss(self) -> None:
        if self.reviewed:
            paper = random.choice(self.reviewed)
            opened = self._open(paper)
            if opened.status == 200:
                self.comment_on(opened, paper, audience=0x30000)

    @task(1)
    def committee(self) -> None:
        self.see("/pc/", name="the committee")


class Chair(Guest):
    """Looks how far the reviews are and who there is; asks for a review now and then, and thinks better of it.

    Only those are asked who stay: what somebody who leaves has must not change meanwhile.
    """

    weight = 1
    group = "chairs"

    def on_start(self) -> None:
        super().on_start()
        names = self.load.people.facts["names"]
        staying = self.load.people.ordinary["reviewers"]
        self.may_be_asked = {html.unescape(names[email]) for email in staying if email in names}
        #: Paper and number of what is asked for and not withdrawn.
        self.asked: tuple[int, str] | None = None

    @task(3)
    def dashboard(self) -> None:
        self.see("/chair/", name="dashboard")

    @task(2)
    def people(self) -> None:
        word = random.choice(("", "university", "example.org", "pc", "an", "institute"))
        self.see(f"/chair/people/?q={word}", name="people")

    @task(3)
    def paper(self) -> None:
        self.see(f"/papers/{random.choice(self.load.people.facts['papers'])}/", name="read a paper as the chair")

    @task(1)
    def ask(self) -> None:
        paper = self.asked[0] if self.asked else random.choice(self.load.people.facts["papers"])
        opened = self.see(f"/papers/{paper}/", name="read a paper as the chair")
        if opened.status != 200:
            return
        if self.asked is None:
            options = re.findall(r'<option value="(\d+)">([^<]*)</option>', opened.text)
            chosen = [(key, name) for key, text in options if (name := html.unescape(text)) in self.may_be_asked]
            if not chosen:
                return
            key, name = random.choice(chosen)
            fields = {"reviewer": key}
            opened = self.send(f"/papers/{paper}/assign/", fields, token=opened.token, name="ask for a review")
            found = re.search(
                rf'name="review" value="(\d+)">Withdraw<[^>]*> the assignment of {html.escape(name)}<', opened.text
            )
            if found is None:
                return
            self.asked = paper, found[1]
        fields = {"review": self.asked[1]}
        page = self.send(f"/papers/{paper}/unassign/", fields, token=opened.token, name="withdraw the request")
        if page.status == 200:
            if "The request is withdrawn." not in page.text:
                self.wrong("a request for a review could not be withdrawn")
            self.asked = None


#: Who there is, by what they do: ``normal``, and those of `loadtest.scenarios.Variant.what`.
USERS: Final[dict[str, Any]] = {
    "normal": [Author, Reviewer, Chair],
    "account": ReviewerWhoLeaves,
    "conference": ConferenceAnonymised,
}
