"""Lobsters' users: members who do what the published statistics say, and those who leave and come back (`loadtest.lobsters_leaving`).

Whoever looks at a page also looks whether it shows somebody who is gone, and lacks something that others wrote.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from locust import between, task

from loadtest.browser import Page, Unexpected
from loadtest.lobsters_leaving import DormantMember, MemberWhoLeaves, MemberWhoLeavesATopic
from loadtest.lobsters_neighbour import Neighbour
from loadtest.lobsters_town import Absence
from loadtest.popularity import Mix
from loadtest.samples import AROUND, NORMAL

COMMENTS_COUNTED = r"<h2>(\d+) comments?</h2>"
OWN = "You cannot vote on what you wrote yourself."
#: What visitors may do, too.
READING: Final = ("read_story", "front_page", "profile", "comments", "recent")
STORIES_ON_A_PAGE, RECENT_ON_A_PAGE, COMMENTS_ON_A_PAGE = 25, 50, 40
#: Without a seed: what one load has written must be new to the next one on the same site.
_lot: Final = random.Random()


class Member(Neighbour):
    """A browser in which one member after the other is logged in, each drawn by how active they are, as are all whom they visit.

    As in the original's own measurements, those who read are members, too. A vote is one request, as in the statistics, with the
    token of the page before; the page that it leads to counts with it.
    """

    wait_time = between(0.25, 0.5)

    def on_start(self) -> None:
        self._mix = Mix(self.load.people.facts["mix"])
        self._arrive(kind=AROUND)

    @task
    def do_something(self) -> None:
        self.do(self._mix.draw(_lot))

    def do(self, doing: str) -> None:
        if not self.member and doing not in READING:
            self._arrive(kind=NORMAL)
        getattr(self, doing)()

    # What they read

    def read_story(self) -> None:
        story = self.town.stories.draw(_lot)
        self._check_story(story, self._look(f"/stories/{story}", "read a story"))

    def front_page(self) -> None:
        self._expect_rows(self._look("/", "front page"), '<li class="story"', STORIES_ON_A_PAGE)

    def recent(self) -> None:
        self._expect_rows(self._look("/recent", "recent stories"), '<li class="story"', RECENT_ON_A_PAGE)

    def comments(self) -> None:
        self._expect_rows(self._look("/comments", "latest comments"), 'id="c_', COMMENTS_ON_A_PAGE)

    def profile(self) -> None:
        name = self.town.members.draw(_lot)
        # There is no page of somebody who is gone; and whoever never goes always has one.
        expect = (200, 404) if name in self.town.may_leave else (200,)
        page = self._look(f"/u/{name}", "profile", expect=expect)
        if page.status == 200:
            page.find(f"<h1>({re.escape(name)})</h1>")

    # What they do

    def upvote_story(self) -> None:
        self._vote("stories", self.town.stories.draw(_lot), "upvote", "vote for a story")

    def downvote_story(self) -> None:
        self._vote("stories", self.town.stories.draw(_lot), "downvote", "flag a story")

    def upvote_comment(self) -> None:
        self._vote("comments", self.town.comments.draw(_lot), "upvote", "vote for a comment")

    def downvote_comment(self) -> None:
        self._vote("comments", self.town.comments.draw(_lot), "downvote", "flag a comment")

    def post_comment(self) -> None:
        story = self.town.discussed.draw(_lot)
        page = self._write("/comments", {"story": story}, "comment", "post a comment")
        self._check_story(story, page)

    def reply(self) -> None:
        self._write(f"/comments/{self.town.comments.draw(_lot)}", {}, "comment", "reply to a comment")

    def post_story(self) -> None:
        unique = f"{_lot.getrandbits(64):016x}"
        fields = {
            "title": f"A story about {unique}",
            "url": f"https://load.example.org/{unique}",
            "tags": "programming",
        }
        self._write("/stories", fields, "description", "submit a story").find(f"<title>(A story about {unique})")

    def log_in_again(self) -> None:
        self._arrive(kind=NORMAL)

    def log_out(self) -> None:
        self._send_form("/logout", {}, "log out").find(r">(Log in)<")
        self.member = self._token = ""

    def _vote(self, what: str, short_id: str, vote: str, name: str) -> None:
        fields = {"reason": "O"} if vote == "downvote" else {}
        page = self._send_form(f"/{what}/{short_id}/{vote}", fields, name)
        if f"/{what}/{short_id}/unvote" not in page.text and OWN not in page.text:
            raise Unexpected(f"{name}: the vote is not on the page")

    def _write(self, path: str, fields: Mapping[str, str], field_name: str, name: str) -> Page:
        text = f"{_lot.getrandbits(64):016x} " + "I have read it twice, and still think so. " * _lot.randint(1, 8)
        page = self._send_form(path, {**fields, field_name: text}, name)
        if text[:16] not in page.text:
            raise Unexpected(f"{name}: what was written is not on the page")
        return page

    def _check_story(self, story: str, page: Page) -> None:
        page.find(rf'<article class="story" id="s_({story})">')
        # All comments of a thread are there, whoever has left; somebody may have added one since they were counted.
        counted = re.search(COMMENTS_COUNTED, page.text)
        if counted is not None and page.text.count('id="c_') < int(counted[1]):
            raise Unexpected("a story's page lacks comments")

    def _expect_rows(self, page: Page, mark: str, number: int) -> None:
        if page.text.count(mark) != number:
            raise Unexpected(f"{page.url} shows {page.text.count(mark)} of {number} rows")

    def _arrive(self, *, kind: str) -> None:
        """Another member sits down at this browser."""
        self.member = self._token = ""
        name = self.town.visitors.draw(_lot)
        self._token = self.log_in_as(name, kind=kind).token
        self.member = name

    def _look(self, path: str, name: str, *, expect: Collection[int] = (200,)) -> Page:
        before = list(self.town.gone.values())
        return self._looked(self.get(path, name=name, expect=expect), before, name)

    def _send_form(self, path: str, fields: Mapping[str, str], name: str) -> Page:
        before = list(self.town.gone.values())
        page = self.post(path, fields, token=self._token, name=name)
        return self._looked(page, before, name)

    def _looked(self, page: Page, before: Collection[Absence], name: str) -> Page:
        for absence in self.town.still_gone(before):
            if absence.is_broken_by(page.text):
                raise Unexpected(f"{name} shows somebody who is gone")
        return page


#: Who there is, by what they do: ``normal``, and those of `loadtest.scenarios.Variant.what`.
USERS: Final[dict[str, Any]] = {
    "normal": [Member],
    "account": MemberWhoLeaves,
    "topic": MemberWhoLeavesATopic,
    "decay": DormantMember,
}
