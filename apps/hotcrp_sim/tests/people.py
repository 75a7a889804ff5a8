"""A conference as the pages see it: people with browsers, papers on which they have different rights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

import edna
from apps.hotcrp_sim import models as m
from apps.hotcrp_sim.auth import identifier

from .conftest import ANONYMIZE, PASSWORD, REMOVE

BACKEND = "apps.hotcrp_sim.auth.HotcrpBackend"
TITLES = ("Reversible Logs", "Fair Locks", "Lazy Paging", "Quiet Clocks")


def address(name: str, *args: Any) -> str:
    """``privacy:return`` is one of edna's pages."""
    return reverse(f"hotcrp-{name}" if name.startswith("privacy:") else f"hotcrp:{name}", args=args)


@dataclass
class Visitor:
    """Somebody with an account, a key, and a browser in which they are logged in."""

    user: m.ContactInfo
    client: Client
    recovery_code: str
    secret_key: Any

    @property
    def email(self) -> str:
        return self.user.email

    @property
    def pk(self) -> int:
        return self.user.pk

    def get(self, name: str, *args: Any, **query: Any) -> Any:
        return self.client.get(address(name, *args), query)

    def post(self, name: str, *args: Any, **data: Any) -> Any:
        return self.client.post(address(name, *args), data)

    def leave(self, **key: Any) -> Any:
        """On the page: what it tells is sent back with the password, or with the key."""
        told = self.get("privacy:apply", REMOVE).context
        seen = told["form"]["seen"].value()
        return self.post("privacy:apply", REMOVE, seen=seen, **(key or {"password": PASSWORD}))

    def key(self, **more: Any) -> dict[str, Any]:
        """What this person types on the pages that ask for a key."""
        return {"identifier": self.email, "password": PASSWORD, **more}

    def unlock(self) -> edna.Unlocked:
        return edna.unlock(secret_key=self.secret_key)

    def remove(self) -> str:
        return str(edna.disguise(REMOVE, self.user))

    def receipt(self, name: str = ANONYMIZE) -> str:
        with self.unlock() as unlocked:
            return next(str(entry.receipt) for entry in edna.history(unlocked) if entry.name == name)


def text_of(response: Any) -> str:
    content: str = response.content.decode()
    return content


#: Those who ever type their password for their key; the others get one that nobody opens, for that is quicker.
KEY_HOLDERS = ("bea", "rae", "cleo", "mia", "chair")


def enter(email: str, roles: int = 0, *, with_key: bool = True, **fields: Any) -> Visitor:
    first = email.partition("@")[0].title()
    names = {"first_name": first, "last_name": "Example", "affiliation": f"{first} College", **fields}
    user = m.ContactInfo.objects.create_user(email, PASSWORD, roles=roles, **names)
    if not with_key:
        code = key = None
    elif first.lower() in KEY_HOLDERS:
        made = edna.register_principal(user, password=PASSWORD, identifier=identifier(email))
        code, key = made.recovery_code, made.secret_key
    else:
        code, key = None, edna.register_principals([user])[0].secret_key
    client = Client()
    client.force_login(user, backend=BACKEND)
    return Visitor(user, client, str(code or ""), key)


@dataclass
class Site:
    """Who may see what of the four papers:

    - `reversible` by Bea: Rae and Rob review it, both have submitted. Mia manages it. The chair has a conflict.
    - `fair` by Adam: Rae has written a draft, Rob has submitted. Cleo has declared a conflict.
    - `lazy` by Cleo, who is on the committee: Rae has submitted; Rob has not started.
    - `quiet` by Bea and Adam: nobody reviews it.
    """

    bea: Visitor
    adam: Visitor
    rae: Visitor
    rob: Visitor
    cleo: Visitor
    mia: Visitor
    chair: Visitor
    stranger: Visitor
    reversible: m.Paper
    fair: m.Paper
    lazy: m.Paper
    quiet: m.Paper

    @property
    def everybody(self) -> list[Visitor]:
        return [self.bea, self.adam, self.rae, self.rob, self.cleo, self.mia, self.chair, self.stranger]

    def anonymise(self) -> None:
        edna.disguise_all(ANONYMIZE)


def make_site() -> Site:
    people = {name: enter(f"{name}@example.org") for name in ("bea", "adam", "stranger")}
    people |= {name: enter(f"{name}@example.org", m.PC) for name in ("rae", "rob", "cleo", "mia")}
    people["chair"] = enter("chair@example.org", m.CHAIR | m.ADMINISTRATOR)
    papers = {title.partition(" ")[0].lower(): make_paper(title) for title in TITLES}
    site = Site(**people, **papers)
    for paper, *authors in (
        (site.reversible, site.bea),
        (site.fair, site.adam),
        (site.lazy, site.cleo),
        (site.quiet, site.bea, site.adam),
    ):
        for position, author in enumerate(authors, start=1):
            add_author(paper, author.user, position)
    m.Paper.objects.filter(pk=site.reversible.pk).update(manager_contact=site.mia.user, outcome=1)
    m.Paper.objects.filter(pk=site.reversible.pk).update(shepherd_contact=site.rob.user)
    conflict(site.reversible, site.chair.user)
    conflict(site.fair, site.cleo.user)
    add_review(site.reversible, site.rae.user, "Rae", ordinal=1, requested_by=site.chair.user)
    add_review(site.reversible, site.rob.user, "Rob", ordinal=2, requested_by=site.rae.user)
    add_review(site.fair, site.rae.user, "Rae", ordinal=None)
    add_review(site.fair, site.rob.user, "Rob", ordinal=1)
    add_review(site.lazy, site.rae.user, "Rae", ordinal=1)
    m.PaperReview.objects.create(paper=site.lazy, contact=site.rob.user, requested_by=site.chair.user)
    for writer, kind in (
        (site.bea, m.BY_AUTHOR | m.FOR_REVIEWERS),
        (site.rae, m.FOR_AUTHORS),
        (site.rob, m.FOR_REVIEWERS),
        (site.mia, m.FOR_PC),
        (site.mia, m.FOR_ADMINISTRATORS),
    ):
        add_comment(site.reversible, writer.user, kind)
    add_comment(site.lazy, site.rae.user, m.FOR_PC, "Cleo must not read this.")
    m.PaperTag.objects.create(paper=site.reversible, tag="discuss")
    m.PaperTag.objects.create(paper=site.reversible, tag=f"{site.rae.pk}~mine")
    topic = m.TopicArea.objects.create(topic_name="Storage")
    m.PaperTopic.objects.create(paper=site.reversible, topic=topic)
    m.PaperReviewPreference.objects.create(paper=site.fair, contact=site.rae.user, preference=7, expertise=2)
    m.PaperWatch.objects.create(paper=site.fair, contact=site.rae.user, watch=m.WATCH_REVIEWS)
    return site


def make_paper(title: str, **fields: Any) -> m.Paper:
    now = timezone.now()
    return m.Paper.objects.create(
        title=title,
        abstract=f"We study {title.lower()}.",
        author_information="",
        time_submitted=now,
        time_modified=now,
        **fields,
    )


def add_author(paper: m.Paper, user: m.ContactInfo, position: int = 1) -> None:
    m.PaperAuthor.objects.create(
        paper=paper,
        contact=user,
        position=position,
        first_name=user.first_name,
        last_name=user.last_name,
        email=user.email,
        affiliation=user.affiliation,
    )
    m.PaperConflict.objects.create(paper=paper, contact=user, conflict_type=m.AUTHOR)


def conflict(paper: m.Paper, user: m.ContactInfo, kind: int = m.COLLABORATOR) -> None:
    m.PaperConflict.objects.create(paper=paper, contact=user, conflict_type=kind)


def add_review(
    paper: m.Paper, user: m.ContactInfo, who: str, *, ordinal: int | None, requested_by: m.ContactInfo | None = None
) -> m.PaperReview:
    now = timezone.now()
    review = m.PaperReview()
    review.texts = {
        "t01": f"Summary of {paper.title}.",
        "t02": f"Verdict {who.upper()} on {paper.title}.",
        "t03": f"Secret {who.upper()} on {paper.title}.",
    }
    return m.PaperReview.objects.create(
        paper=paper,
        contact=user,
        requested_by=requested_by,
        review_modified=now,
        review_submitted=now if ordinal else None,
        review_ordinal=ordinal or 0,
        over_all_merit=3,
        reviewer_qualification=2,
        tfields=review.tfields,
    )


def add_comment(paper: m.Paper, user: m.ContactInfo, kind: int, text: str = "") -> None:
    now = timezone.now()
    m.PaperComment.objects.create(
        paper=paper,
        contact=user,
        comment=text or f"Comment of kind {kind:x}.",
        comment_type=kind,
        time_modified=now,
        time_displayed=now,
    )
