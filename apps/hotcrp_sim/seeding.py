"""Draws a whole conference from one random source: people, papers, reviews, comments, and what lies around them.

The same source gives the same rows. What is drawn here is not stored here: every function returns objects for ``bulk_create``. Rows that
refer to others want those to be stored, for their keys. Longer than most modules: a function for each kind of row, in one drawing order.
"""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from . import corpus
from .models import (
    ADMINISTRATOR,
    AUTHOR,
    BY_AUTHOR,
    CHAIR,
    COLLABORATOR,
    FOR_AUTHORS,
    FOR_PC,
    FOR_REVIEWERS,
    PC,
    PC_REVIEW,
    WATCH_REVIEWS,
    ActionLog,
    Author,
    Capability,
    ContactInfo,
    Paper,
    PaperAuthor,
    PaperComment,
    PaperConflict,
    PaperReview,
    PaperReviewPreference,
    PaperReviewRefused,
    PaperTag,
    PaperTopic,
    PaperWatch,
    ReviewRating,
    Settings,
    TopicArea,
    TopicInterest,
    unaccented,
)

DEMO_AUTHOR, DEMO_REVIEWER, DEMO_CHAIR = "bea@example.org", "rae@example.org", "chair@example.org"
#: Of every so many papers, one is accepted.
PAPERS_PER_ACCEPTED = 11
SUBMITTED = datetime.datetime(2025, 9, 1, 12, tzinfo=datetime.UTC)
AUTHORS, CONFLICTS, REVIEWS, COMMENTS_OF_AUTHORS, COMMENTS_OF_REVIEWERS = 2, 2, 8, 3, 3


@dataclass
class People:
    """Who is at the conference. The chair is neither on the PC nor an author."""

    authors: list[ContactInfo]
    pc: list[ContactInfo]
    chair: ContactInfo

    @property
    def everybody(self) -> list[ContactInfo]:
        return [*self.authors, self.chair, *self.pc]


@dataclass
class Extras:
    """Rows about papers that are stored already, table by table."""

    rows: dict[type, list[object]] = field(default_factory=dict)

    def add(self, *rows: object) -> None:
        for row in rows:
            self.rows.setdefault(type(row), []).append(row)


class Deck:
    """Deals out people in random order, all of them equally often."""

    def __init__(self, people: Sequence[ContactInfo], source: random.Random) -> None:
        self._people, self._source, self._left = people, source, list[ContactInfo]()

    def draw(self, count: int) -> list[ContactInfo]:
        """``count`` different people."""
        drawn: list[ContactInfo] = []
        while len(drawn) < count:
            place = next((place for place, person in enumerate(self._left) if person not in drawn), None)
            if place is None:
                self._left += self._source.sample(self._people, len(self._people))
            else:
                drawn.append(self._left.pop(place))
        return drawn


def make_people(users: int, pc: int, password: str, source: random.Random) -> People:
    """``users`` people who are not on the PC, the demo author and the chair among them, and ``pc`` who are."""
    authors = [_person(DEMO_AUTHOR, 0, password, source)]
    chair = _person(DEMO_CHAIR, CHAIR | ADMINISTRATOR, password, source)
    authors += [_person(f"{{}}.{{}}{number}@example.org", 0, password, source) for number in range(3, users + 1)]
    reviewers = [_person(DEMO_REVIEWER, PC, password, source)]
    reviewers += [_person(f"{{}}.{{}}.pc{number}@example.org", PC, password, source) for number in range(2, pc + 1)]
    return People(authors, reviewers, chair)


def _person(email: str, roles: int, password: str, source: random.Random) -> ContactInfo:
    first, last, affiliation = _name(source)
    joined = SUBMITTED - datetime.timedelta(minutes=source.randrange(5 * 365 * 24 * 60))
    return ContactInfo(
        first_name=first,
        last_name=last,
        unaccented_name=unaccented(f"{first} {last}"),
        email=email.format(first, last).lower(),
        affiliation=affiliation,
        country=source.choice(corpus.COUNTRIES),
        phone=f"+1 555 {source.randrange(10**7):07d}" if source.random() < 0.3 else None,
        collaborators=_collaborators(5, source) if roles & PC else None,
        password=password,
        password_time=joined,
        creation_time=joined,
        update_time=joined + datetime.timedelta(days=source.randrange(30)),
        roles=roles,
    )


def _name(source: random.Random) -> tuple[str, str, str]:
    place = source.choice(corpus.INSTITUTIONS).format(place=source.choice(corpus.PLACES))
    return source.choice(corpus.FIRST_NAMES), source.choice(corpus.LAST_NAMES), place


def _collaborators(count: int, source: random.Random) -> str:
    return "\n".join("{} {} ({})".format(*_name(source)) for _ in range(count))


def make_settings() -> list[Settings]:
    return [
        Settings(name="opt.shortName", value=1, data="EXSYS '26"),
        Settings(name="opt.longName", value=1, data="Example Conference on Systems 2026"),
        Settings(name="sub_open", value=0),
        Settings(name="pc_seeall", value=1),
        Settings(name="rev_open", value=1),
        Settings(name="au_seerev", value=2),
        Settings(name="seedec", value=2),
    ]


def make_topics() -> list[TopicArea]:
    return [TopicArea(topic_name=name) for name in corpus.TOPICS]


def make_papers(count: int, people: People, source: random.Random) -> Iterator[tuple[Paper, list[ContactInfo]]]:
    """Papers with their authors; the demo author wrote the first two."""
    bea = people.authors[0]
    accepted = set(source.sample(range(count), round(count / PAPERS_PER_ACCEPTED)))
    for number in range(count):
        written_by = source.sample(people.authors, AUTHORS)
        if number < 2 and bea not in written_by:
            written_by[number] = bea
        submitted = SUBMITTED - datetime.timedelta(seconds=source.randrange(10 * 86_400))
        # Some papers have an author without an account, who is last.
        outside = Author(*_name(source)[:2], f"guest{number}@example.net", _name(source)[2])
        lines = [""] * AUTHORS + [outside.line] * (source.random() < 0.1)
        paper = Paper(
            title=_words(source.choice(corpus.TITLES), source),
            author_information="\n".join(lines),
            abstract=_text([corpus.MOTIVATIONS, corpus.APPROACHES, corpus.RESULTS], source),
            time_submitted=submitted,
            time_modified=submitted,
            timestamp=submitted,
            sha1=source.randbytes(20),
            size=source.randrange(200_000, 2_000_000),
            mimetype="application/pdf",
            outcome=1 if number in accepted else -1,
            lead_contact=written_by[0],
            manager_contact=source.choice(people.pc),
            shepherd_contact=source.choice(people.pc) if number in accepted else None,
        )
        yield paper, written_by


def about_papers(
    papers: Iterable[tuple[Paper, list[ContactInfo]]],
    people: People,
    topics: Sequence[TopicArea],
    source: random.Random,
) -> Iterator[tuple[Paper, Extras]]:
    """For each paper, what refers to it, reviews first."""
    deck, number, numbers = Deck(people.pc, source), 0, _different_numbers(source)
    for paper, written_by in papers:
        rows = Extras()
        conflicted = deck.draw(CONFLICTS + REVIEWS)
        reviewers = conflicted[CONFLICTS:]
        del conflicted[CONFLICTS:]
        for position, author in enumerate(written_by, start=1):
            rows.add(*_authorship(paper, author, position, source))
        rows.add(*(PaperConflict(paper=paper, contact=each, conflict_type=COLLABORATOR) for each in conflicted))
        reviews = [
            _review(paper, each, number + place, place, people, source) for place, each in enumerate(reviewers, start=1)
        ]
        number += len(reviews)
        rows.add(*reviews)
        for review in reviews:
            rows.add(*_around_review(paper, review, people, source))
        # The readers of a review are the other reviewers. Few of them rate it.
        pairs = [(review, each) for review in reviews for each in reviewers if each is not review.contact]
        for review, reader in source.sample(pairs, 2):
            rating = source.choice((1, 1, 2, 4, 8))
            rows.add(ReviewRating(paper=paper, review=review, contact=reader, rating=rating, rating_id=next(numbers)))
        rows.add(*_comments(paper, written_by, reviewers, source))
        rows.add(*(PaperTopic(paper=paper, topic=topic) for topic in source.sample(topics, source.randrange(1, 4))))
        if source.random() < 0.3:
            rows.add(PaperTag(paper=paper, tag=source.choice(("discuss", "controversial", "best-paper", "short"))))
        rows.add(*_refusals(paper, people, source))
        yield paper, rows


def _different_numbers(source: random.Random) -> Iterator[int]:
    seen = set[int]()
    while True:
        number = source.randrange(1, 2**31 - 1)
        if number not in seen:
            seen.add(number)
            yield number


def _authorship(paper: Paper, author: ContactInfo, position: int, source: random.Random) -> list[object]:
    names = {"first_name": author.first_name, "last_name": author.last_name, "email": author.email}
    found: list[object] = [
        PaperAuthor(
            paper=paper,
            contact=author,
            position=position,
            affiliation=author.affiliation,
            collaborators=_collaborators(2, source),
            **names,
        ),
        PaperConflict(paper=paper, contact=author, conflict_type=AUTHOR),
        PaperWatch(paper=paper, contact=author, watch=WATCH_REVIEWS),
    ]
    if position == 1:
        found.append(_entry(author, paper, "Paper submitted", paper.time_submitted))
    return found


def _review(
    paper: Paper, reviewer: ContactInfo, number: int, place: int, people: People, source: random.Random
) -> PaperReview:
    asked = SUBMITTED + datetime.timedelta(days=3)
    written = asked + datetime.timedelta(minutes=source.randrange(30 * 1440))
    draft = source.random() < 0.05
    texts = {
        "t01": _text([corpus.SUMMARIES], source),
        "t02": _text([corpus.PRAISE, corpus.CRITICISM, corpus.CRITICISM], source),
        "t03": _text([corpus.FOR_THE_PC], source),
    }
    # Reviews are given out by a program, which is nobody; a few were asked for by somebody on the PC.
    asked_by = source.choice(people.pc) if source.random() < 0.05 else None
    return PaperReview(
        paper=paper,
        review_id=number,
        contact=reviewer,
        review_type=PC_REVIEW,
        requested_by=asked_by if asked_by is not reviewer else None,
        time_requested=asked,
        review_modified=written,
        review_submitted=None if draft else written,
        review_ordinal=0 if draft else place,
        review_needs_submit=int(draft),
        time_displayed=None if draft else written,
        review_word_count=sum(len(text.split()) for text in texts.values()),
        over_all_merit=source.choices(range(1, 6), (2, 3, 3, 2, 1))[0],
        reviewer_qualification=source.randrange(1, 5),
        novelty=source.randrange(1, 5),
        technical_merit=source.randrange(1, 5),
        interest_to_community=source.randrange(1, 5),
        tfields=json.dumps(texts, ensure_ascii=False, separators=(",", ":")),
    )


def _around_review(paper: Paper, review: PaperReview, people: People, source: random.Random) -> Iterator[object]:
    reviewer = review.contact
    yield PaperWatch(paper=paper, contact=reviewer, watch=WATCH_REVIEWS)
    yield PaperReviewPreference(
        paper=paper, contact=reviewer, preference=source.randrange(-5, 21), expertise=source.choice((None, -1, 0, 1))
    )
    if review.requested_by:
        yield _entry(review.requested_by, paper, "Asked for a review", review.time_requested, dest_contact=reviewer)
    if review.review_submitted and source.random() < 0.2:
        entry = _entry(reviewer, paper, f"Review {review.review_id} submitted", review.review_submitted)
        if source.random() < 0.05:
            entry.true_contact, entry.ipaddr = people.chair, _address(people.chair)
        yield entry


def _comments(
    paper: Paper, authors: Sequence[ContactInfo], reviewers: Sequence[ContactInfo], source: random.Random
) -> Iterator[PaperComment]:
    answered = SUBMITTED + datetime.timedelta(days=40)
    for place in range(COMMENTS_OF_AUTHORS + COMMENTS_OF_REVIEWERS):
        by_author = place < COMMENTS_OF_AUTHORS
        when = answered + datetime.timedelta(hours=place, seconds=source.randrange(3600))
        kind = BY_AUTHOR | FOR_REVIEWERS if by_author else source.choice((FOR_PC, FOR_AUTHORS))
        yield PaperComment(
            paper=paper,
            contact=source.choice(authors if by_author else reviewers),
            comment=_text([corpus.AUTHOR_COMMENTS if by_author else corpus.REVIEWER_COMMENTS], source),
            comment_type=kind,
            time_modified=when,
            time_displayed=when,
            ordinal=0 if by_author else place - COMMENTS_OF_AUTHORS + 1,
            author_ordinal=place + 1 if by_author else 0,
        )


def _refusals(paper: Paper, people: People, source: random.Random) -> Iterator[PaperReviewRefused]:
    """Sometimes somebody of the PC, or from outside, said no."""
    common = {"paper": paper, "time_requested": SUBMITTED, "time_refused": SUBMITTED + datetime.timedelta(days=2)}
    if source.random() < 0.3:
        asked, by = source.sample(people.pc, 2)
        yield PaperReviewRefused(
            email=f"{source.getrandbits(128):032x}@account.invalid",
            contact=asked,
            requested_by=by,
            refused_by=asked,
            reason=source.choice(corpus.REFUSALS),
            **common,
        )
    if source.random() < 0.2:
        first, last, affiliation = _name(source)
        yield PaperReviewRefused(
            email=f"{first}.{last}{paper.pk}@example.net".lower(),
            first_name=first,
            last_name=last,
            affiliation=affiliation,
            requested_by=source.choice(people.pc),
            refused_by=people.chair if source.random() < 0.2 else None,
            reason=source.choice(corpus.REFUSALS),
            **common,
        )


def about_people(people: People, topics: Sequence[TopicArea], source: random.Random) -> Extras:
    """Subjects they like, links they were sent, and what the log says."""
    rows = Extras()
    for person in people.everybody:
        count = 8 if person.is_pc else source.choice((0, 0, 0, 2))
        for topic in source.sample(topics, count):
            rows.add(TopicInterest(contact=person, topic=topic, interest=source.choice((-2, -1, 1, 2))))
        if person.is_pc or source.random() < 0.1:
            expires = SUBMITTED + datetime.timedelta(days=source.randrange(200))
            salt = f"hcpw0{source.getrandbits(128):032x}"
            rows.add(Capability(capability_type=1, contact=person, time_expires=expires, salt=salt))
        if person.is_pc or source.random() < 0.25:
            rows.add(_entry(person, None, "Account edited: profile", person.update_time))
    return rows


def links_to_papers(papers: Iterable[Paper], source: random.Random) -> Iterator[Capability]:
    """By such a link, whoever has it may read an accepted paper's reviews: it belongs to no account."""
    for paper in papers:
        if paper.outcome > 0:
            salt = f"hcav{source.getrandbits(128):032x}"
            expires = SUBMITTED + datetime.timedelta(days=400)
            yield Capability(capability_type=2, paper=paper, time_expires=expires, salt=salt)


def _entry(
    who: ContactInfo, paper: Paper | None, action: str, when: datetime.datetime, dest_contact: ContactInfo | None = None
) -> ActionLog:
    return ActionLog(
        contact=who, dest_contact=dest_contact, paper=paper, timestamp=when, ipaddr=_address(who), action=action
    )


def _address(who: ContactInfo) -> str:
    """Everybody has one address, which is nobody else's."""
    high, low = divmod(who.pk, 250)
    return f"10.{high // 250}.{high % 250}.{low + 1}"


def _text(parts: Sequence[Sequence[str]], source: random.Random) -> str:
    """A sentence from each part."""
    sentences = (_words(source.choice(part), source, str.lower) for part in parts)
    return " ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences)


def _words(text: str, source: random.Random, written: Callable[[str], str] = str) -> str:
    """``text`` with its gaps filled."""
    thing, other = source.sample(corpus.THINGS, 2)
    return text.format(
        adjective=source.choice(corpus.ADJECTIVES),
        name=source.choice(corpus.SYSTEMS),
        thing=written(thing),
        other=written(other),
        number=source.randrange(3, 60),
    )
