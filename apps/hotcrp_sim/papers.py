"""What the pages show of papers, as plain values that hold what their viewer may know and nothing else."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Prefetch

from . import names, reviews
from .models import ContactInfo, Paper, PaperComment, PaperReview, PaperTag
from .policy import Conference, Sight, Viewer, audience_of, papers_for

_SMALL_FIELDS = (
    "paper_id",
    "title",
    "author_information",
    "outcome",
    "blind",
    "time_submitted",
    "time_withdrawn",
    "manager_contact",
)


def status_of(paper: Paper, sight: Sight) -> tuple[str, str]:
    """In words, and the class of its badge."""
    if paper.time_withdrawn:
        return "withdrawn", "no"
    if not paper.time_submitted:
        return "not submitted", "no"
    if sight.decision and paper.outcome:
        return ("accepted", "yes") if paper.outcome > 0 else ("rejected", "no")
    return "submitted", ""


def relation_of(sight: Sight, paper: Any) -> tuple[str, str]:
    """What a viewer has to do with a paper."""
    if sight.author:
        return "your paper", ""
    if sight.reviewer:
        return ("reviewed", "yes") if sight.submitted else ("to review", "wait")
    return ("you manage it", "") if paper.is_manager else ("", "")


def author_names(paper: Paper) -> list[str]:
    return [
        f"{author.name or author.email}{f' ({author.affiliation})' if author.affiliation else ''}"
        for author in paper.author_list()
        if author.name or author.email
    ]


def shown_tags(tags: Iterable[str]) -> list[str]:
    """Without private tags, which begin with somebody's number and ``~``, and those of the chairs (``~~``)."""
    return sorted(tag for tag in tags if "~" not in tag)


# Lists and search


@dataclass(frozen=True)
class Query:
    """What somebody looks for: words of the title, numbers, tags, authors. All of them have to match."""

    words: tuple[str, ...] = ()
    numbers: frozenset[int] = frozenset()
    tags: frozenset[str] = frozenset()
    authors: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Query:
        try:
            parts = shlex.split(text)
        except ValueError:  # a quotation mark without its partner
            parts = text.split()
        words, numbers, tags, authors = [], set(), set(), []
        for part in parts:
            kind, colon, value = part.partition(":")
            bare = part.removeprefix("#")
            if colon and value and kind.lower() in ("au", "author"):
                authors.append(value.casefold())
            elif colon and value and kind.lower() == "tag":
                tags.add(value.removeprefix("#").casefold())
            elif bare.isascii() and bare.isdigit() and len(bare) < 10:
                numbers.add(int(bare))
            elif part.startswith("#") and bare:
                tags.add(bare.casefold())
            else:
                words.append(part.casefold())
        return cls(tuple(words), frozenset(numbers), frozenset(tags), tuple(authors))

    def matches(self, paper: Paper, sight: Sight, tags: Sequence[str]) -> bool:
        """Only what the viewer may know counts: a search that finds a paper by its hidden author would name the author."""
        if self.numbers and paper.pk not in self.numbers:
            return False
        if self.tags and not (sight.tags and self.tags <= {tag.casefold() for tag in tags}):
            return False
        if self.authors:
            known = "\n".join(_author_words(paper)).casefold() if sight.authors else ""
            if not all(word in known for word in self.authors):
                return False
        title = (paper.title or "").casefold()
        return all(word in title for word in self.words)


def _author_words(paper: Paper) -> list[str]:
    return [f"{author.name} {author.email} {author.affiliation}" for author in paper.author_list()]


@dataclass(frozen=True)
class Row:
    """A line of a list of papers."""

    pk: int
    title: str
    authors: list[str]
    tags: list[str]
    you: str
    you_class: str
    reviews: int | None
    status: str
    status_class: str


#: The part of the papers that a list shows, and what it is called.
SHOWS = {
    "all": "All that you may see",
    "mine": "Your own",
    "reviews": "Those you review",
    "todo": "Reviews to write",
}


def shows_for(viewer: Viewer) -> list[tuple[str, str]]:
    return list(SHOWS.items()) if viewer.pc else []


def _belongs(show: str, sight: Sight) -> bool:
    if show == "mine":
        return sight.author
    if show == "reviews":
        return sight.reviewer
    return sight.writes_review and not sight.submitted if show == "todo" else True


def find(viewer: Viewer, conference: Conference, query: Query, show: str) -> list[tuple[Any, Sight, list[str]]]:
    """The papers that match, by number, each with its `Sight` and tags. A conference has hundreds: they are matched here, where the
    same rules hold that the pages follow, with three statements however many there are."""
    found = papers_for(viewer).only(*_SMALL_FIELDS).prefetch_related("authors").order_by("pk")
    tags: dict[int, list[str]] = defaultdict(list)
    for paper_id, tag in PaperTag.objects.values_list("paper_id", "tag"):
        tags[paper_id].append(tag)
    matches = []
    for paper in found:
        sight, here = Sight(paper, viewer, conference), shown_tags(tags[paper.pk])
        if _belongs(show, sight) and query.matches(paper, sight, here):
            matches.append((paper, sight, here))
    return matches


def rows(matches: Sequence[tuple[Any, Sight, list[str]]]) -> list[Row]:
    """One statement, for the numbers of reviews."""
    counts = dict(
        PaperReview.objects.filter(paper__in=[paper.pk for paper, _, _ in matches], review_submitted__isnull=False)
        .values_list("paper")
        .annotate(Count("review_id"))
    )
    return [
        Row(
            paper.pk,
            paper.title or "(no title)",
            author_names(paper) if sight.authors else [],
            tags if sight.tags else [],
            *relation_of(sight, paper),
            counts.get(paper.pk, 0) if sight.other_reviews else None,
            *status_of(paper, sight),
        )
        for paper, sight, tags in matches
    ]


# One paper


def header(paper: Any, sight: Sight) -> dict[str, Any]:
    """What stands above the reviews."""
    status, status_class = status_of(paper, sight)
    accepted = sight.decision and paper.outcome > 0
    return {
        "pk": paper.pk,
        "title": paper.title or "(no title)",
        "abstract": paper.abstract,
        "authors": author_names(paper) if sight.authors else None,
        "topics": sorted(str(each.topic) for each in paper.topics.all()),
        "tags": shown_tags(tag.tag for tag in paper.tags.all()) if sight.tags else [],
        "status": status,
        "status_class": status_class,
        "submitted": paper.time_submitted,
        "shepherd": _role(paper.shepherd_contact) if accepted else None,
        "manager": _role(paper.manager_contact) if sight.administers else None,
    }


def _role(contact: ContactInfo | None) -> str | None:
    return None if contact is None else names.name_of(contact, "somebody anonymous")


def with_details(papers: Any) -> Any:
    return papers.prefetch_related(
        "authors",
        "tags",
        "shepherd_contact",
        "manager_contact",
        "topics__topic",
        Prefetch("reviews", PaperReview.objects.select_related("contact").order_by("review_ordinal", "review_id")),
        Prefetch("comments", PaperComment.objects.select_related("contact").order_by("pk")),
    )


def shown_reviews(paper: Paper, sight: Sight) -> list[reviews.ShownReview]:
    """One's own, and those of others that are submitted, as far as the viewer reads them."""
    found = []
    for review in paper.reviews.all():
        mine = review.contact_id == sight.viewer.pk and sight.reviewer
        if not (mine and reviews.is_started(review)) and not (review.review_submitted and sight.other_reviews):
            continue
        named = mine or sight.names_writer(review)
        reviewer = names.name_of(review.contact, names.REVIEWER) if named else names.REVIEWER
        found.append(reviews.shown(review, reviewer=reviewer, mine=mine, inner=sight.committee))
    return found


@dataclass(frozen=True)
class ShownComment:
    writer: str
    mine: bool
    when: Any
    audience: str
    text: str


def shown_comments(paper: Paper, sight: Sight) -> list[ShownComment]:
    """Towards authors, reviewers have no name; towards reviewers, authors of anonymous submissions have none."""
    found = []
    for comment in paper.comments.all():
        if sight.reads(comment):
            by_author = comment.comment_type & names.BY_AUTHOR
            named = sight.authors if by_author else sight.reviewers
            found.append(
                ShownComment(
                    names.writer_of(comment, named=bool(named)),
                    comment.contact_id == sight.viewer.pk,
                    comment.time_displayed or comment.time_modified,
                    audience_of(comment) if sight.committee else "",
                    comment.comment or "",
                )
            )
    return found


@dataclass(frozen=True)
class Assignment:
    """Somebody who was asked for a review, for those who administer the paper."""

    key: int
    reviewer: str
    state: str
    state_class: str
    removable: bool


def assignments(paper: Paper, sight: Sight) -> list[Assignment]:
    if not sight.administers:
        return []
    return [
        Assignment(
            review.review_id,
            names.name_of(review.contact, names.REVIEWER),
            *reviews.state_of(review),
            sight.assigns and not reviews.is_started(review) and not review.review_submitted,
        )
        for review in paper.reviews.all()
    ]
