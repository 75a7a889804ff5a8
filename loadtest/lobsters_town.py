"""What the users of a load on Lobsters know of the site: what is popular, and who is gone. Knows no HTTP and no Locust.

Others may go or come while a page is made. So of whom a page must show nothing is known for sure only of those who were gone when it
was asked for, and are still gone, without having been back, when it is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from loadtest.people import Account, People
from loadtest.popularity import Popularity

_STORY = '<article class="story"'


@dataclass(eq=False)
class Absence:
    """Somebody whose account is gone, or, with ``topic``, whose name is off it. Who goes once more is gone by another absence."""

    account: Account
    topic: str = ""

    def is_broken_by(self, page: str) -> bool:
        """Whether a page shows what must not be there while they are gone: their name as an author's, or their words."""
        author = f'href="/lobsters/u/{self.account.name}"'
        if self.topic:
            # A list may show something else of theirs; a story's page has that story, and the comments below it.
            about_it = _STORY in page and f'href="/lobsters/t/{self.topic}"' in page
            return about_it and author in page
        workplace: str = self.account.marks["workplace"]
        return author in page or workplace in page or workplace.lower() in page


@dataclass(eq=False)
class Town:
    """Visitors are those who never leave, as active as they are; ``may_leave`` are the others."""

    people: People
    gone: dict[str, Absence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        popular = self.people.facts["popular"]
        self.members, self.stories = Popularity(popular["members"]), Popularity(popular["stories"])
        self.discussed, self.comments = Popularity(popular["discussed"]), Popularity(popular["comments"])
        self.visitors = self.members.only(set(self.people.ordinary["members"]))
        self.may_leave = {account.name for account in self.people.all_disguisers()}

    def still_gone(self, before: Collection[Absence]) -> Iterator[Absence]:
        return (absence for absence in before if self.gone.get(absence.account.name) is absence)
