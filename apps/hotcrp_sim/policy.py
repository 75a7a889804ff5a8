"""Who may see what. Every page asks here; no page decides for itself.

The rules of the conference: authors see their own papers, and reviews once they are submitted, without names. Members of the programme
committee see the papers with which they have no conflict, and other reviews of a paper once they have submitted theirs. A chair sees the
same and more of it, but not a paper with an own conflict, unless they are its manager. Nobody manages a paper that they wrote. Everybody
else sees nothing.

**What a disguise must not open.** Most rights are a matter of what somebody *has*: a paper, a review. Whoever loses that to a disguise
sees less, which is safe. But the committee's rights rest on what somebody has *not*: a conflict. Anonymising the conference gives the
conflicts to placeholders, and then an author on the committee would look like anybody without a conflict, and read who discusses their
paper. So:

- While one conflict of the conference belongs to a placeholder, the conference is *closed* (`Conference.closed`): the lack of a conflict
  proves nothing, for nobody, the chairs included. Papers are open to those only who have something to show for it: their authors,
  reviewers and managers. Nobody is asked to review where a conflict cannot be told.
- An account whose own address is under disguise is on no committee until its owner has reclaimed (`Viewer`).

Closed is told from the conflicts themselves, not noted beside them, so it holds however the disguise was applied, and ends when the last
conflict is back. It is told by the very statement that says who has which: between two, somebody may be anonymised, and then the first
says "open" and the second "no conflict". Removing an account removes its conflicts instead, with whoever had them, and closes nothing.

Does not know: pages, forms, names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet
from django.http import HttpRequest

from .models import (
    AUTHOR,
    BY_AUTHOR,
    CHAIR,
    FOR_ADMINISTRATORS,
    FOR_AUTHORS,
    FOR_PC,
    FOR_REVIEWERS,
    PC,
    ContactInfo,
    Paper,
    PaperComment,
    PaperConflict,
    PaperReview,
    Settings,
)

#: Ends the addresses that the disguise of the conference gives to accounts of the committee (`ContactInfo.is_covered`).
NOWHERE = "@anonymous.invalid"
ALWAYS = 2
#: What a conference does whose chairs have set nothing.
_DEFAULTS: Mapping[str, int] = {
    "sub_blind": ALWAYS,  # submissions are anonymous: 0 never, 1 if the paper says so
    "rev_blind": ALWAYS,  # so are reviews, towards authors
    "pc_seeblindrev": 0,  # and towards the committee: 0 no, 1 yes
    "rev_open": 1,  # reviews can be written
    "cmt_author": 1,  # authors can comment
    "seedec": 2,  # who sees decisions: 0 chairs, 1 the committee, too, 2 authors, too
}
_AUDIENCE = 0xF0000


_OF_PLACEHOLDERS = PaperConflict.objects.filter(contact__is_guise=True)
#: That the conference is closed, as a condition of the statement that asks for something else.
CLOSED = Exists(_OF_PLACEHOLDERS)


@dataclass(frozen=True)
class Conference:
    """What a page says of it. ``closed`` may be over when the page is made: what somebody may see asks for itself (`papers_for`)."""

    settings: Mapping[str, int]
    closed: bool

    @classmethod
    def now(cls) -> Conference:
        """As it is: two statements."""
        found = dict(Settings.objects.filter(name__in=_DEFAULTS).values_list("name", "value"))
        return cls({**_DEFAULTS, **found}, _OF_PLACEHOLDERS.exists())

    def __getitem__(self, name: str) -> int:
        return self.settings[name]


def is_nameless(contact: ContactInfo) -> bool:
    """Whether an account is a placeholder, or one whose name and address are under disguise."""
    return contact.is_guise or contact.is_covered


#: `ContactInfo.roles` is made of bits: these are the values with that of the PC or of a chair.
ON_COMMITTEE = Q(roles__in=[roles for roles in range(8) if roles & (PC | CHAIR)])
NAMELESS = Q(is_guise=True) | Q(email__endswith=NOWHERE)


class Viewer:
    """Who looks, with the roles that count now."""

    def __init__(self, user: ContactInfo) -> None:
        self.user = user
        self.pk = user.pk
        self.nameless = is_nameless(user)
        # As far as papers are concerned, a chair is on the committee.
        self.pc = (user.is_pc or user.is_chair) and not self.nameless
        self.chair = user.is_chair and not self.nameless

    @classmethod
    def of(cls, request: HttpRequest) -> Viewer | None:
        user: Any = request.user
        return cls(user) if isinstance(user, ContactInfo) else None


def papers_for(viewer: Viewer) -> QuerySet[Paper]:
    """The papers that somebody may look at, each with what `Sight` has to know."""
    me = {"paper": OuterRef("pk"), "contact": viewer.pk}
    papers = Paper.objects.annotate(
        is_author=Exists(PaperConflict.objects.filter(conflict_type__gte=AUTHOR, **me)),
        is_conflicted=Exists(PaperConflict.objects.filter(**me)),
        is_reviewer=Exists(PaperReview.objects.filter(**me)),
        has_submitted=Exists(PaperReview.objects.filter(review_submitted__isnull=False, **me)),
        is_manager=ExpressionWrapper(Q(manager_contact=viewer.pk), output_field=BooleanField()),
        is_closed=CLOSED,
    )
    in_review = Q(time_submitted__gt=0, time_withdrawn=0)
    allowed = Q(is_author=True) | Q(is_manager=True) | (in_review & Q(is_reviewer=True, is_conflicted=False))
    if viewer.chair:
        allowed |= Q(is_conflicted=False, is_closed=False)
    elif viewer.pc:
        allowed |= in_review & Q(is_conflicted=False, is_closed=False)
    return papers.filter(allowed)


class Sight:
    """What one viewer may see and do of one paper that `papers_for` gave them."""

    def __init__(self, paper: Any, viewer: Viewer, conference: Conference) -> None:
        self.viewer, self.conference = viewer, conference
        self.author: bool = paper.is_author
        conflicted = paper.is_conflicted
        self.closed: bool = paper.is_closed
        self.administers = not self.author and (
            paper.is_manager or (viewer.chair and not conflicted and not self.closed)
        )
        self.reviewer: bool = paper.is_reviewer and not conflicted
        self.submitted: bool = self.reviewer and paper.has_submitted
        self.committee = not self.author and (self.administers or self.reviewer or viewer.pc)
        self.blind = conference["sub_blind"] >= ALWAYS or (conference["sub_blind"] == 1 and paper.blind)

    @property
    def authors(self) -> bool:
        """The names of the authors."""
        return self.author or self.administers or not self.blind

    @property
    def tags(self) -> bool:
        return self.committee

    @property
    def reviewers(self) -> bool:
        """The names of the reviewers."""
        return self.administers or (self.committee and not self.conference["pc_seeblindrev"])

    @property
    def decision(self) -> bool:
        seedec = self.conference["seedec"]
        return self.administers or (self.committee and seedec >= 1) or (self.author and seedec >= ALWAYS)

    @property
    def other_reviews(self) -> bool:
        """Submitted reviews of others. Reviewers first write their own; drafts are never shown to anybody else."""
        return self.author or self.administers or (self.committee and (self.submitted or not self.reviewer))

    @property
    def writes_review(self) -> bool:
        return self.reviewer and bool(self.conference["rev_open"])

    @property
    def assigns(self) -> bool:
        """Whether they may ask somebody for a review: not where it cannot be told who has a conflict."""
        return self.administers and not self.closed

    @property
    def comments(self) -> bool:
        return self.committee or (self.author and bool(self.conference["cmt_author"]))

    def names_writer(self, review: PaperReview) -> bool:
        open_to_authors = self.conference["rev_blind"] == 0 or (
            self.conference["rev_blind"] == 1 and not review.review_blind
        )
        return self.reviewers or (self.author and open_to_authors)

    def reads(self, comment: PaperComment) -> bool:
        """By audience; one's own always. A reviewer who has not submitted yet reads what other reviewers write only later."""
        audience = comment.comment_type & _AUDIENCE
        if comment.contact_id == self.viewer.pk or self.administers:
            return True
        if self.author:
            return bool(comment.comment_type & BY_AUTHOR) or audience >= FOR_AUTHORS
        if not self.committee or audience <= FOR_ADMINISTRATORS or (audience == FOR_PC and not self.viewer.pc):
            return False
        return bool(comment.comment_type & BY_AUTHOR) or (self.other_reviews and audience in AUDIENCES)


#: Who reads a comment, in words: for whom a badge is shown.
AUDIENCES: Mapping[int, str] = {
    FOR_ADMINISTRATORS: "chairs only",
    FOR_PC: "committee only",
    FOR_REVIEWERS: "reviewers and committee",
    FOR_AUTHORS: "authors, too",
}


def audience_of(comment: PaperComment) -> str:
    return AUDIENCES.get(comment.comment_type & _AUDIENCE, "")


def eligible_reviewers(paper: Paper) -> QuerySet[ContactInfo]:
    """Members of the committee who have neither a conflict with the paper nor a review of it. Nobody, while that cannot be told."""
    taken = {"paper": paper, "contact": OuterRef("pk")}
    members = committee().exclude(CLOSED).exclude(Exists(PaperConflict.objects.filter(**taken)))
    return members.exclude(Exists(PaperReview.objects.filter(**taken))).order_by("unaccented_name", "pk")


def committee() -> QuerySet[ContactInfo]:
    """The members of the committee, and the chairs, who have a name now."""
    return people().filter(ON_COMMITTEE)


def people() -> QuerySet[ContactInfo]:
    """Accounts of people: no placeholder, and none whose name is under disguise."""
    return ContactInfo.objects.filter(disabled=False).exclude(NAMELESS)
