"""Fills HotCRP for a load: a conference in which everybody has a recovery code, and those on the committee a password for their key, too.

So the whole conference can be anonymised and taken back. One half of the committee at most disguises accounts, the other half reviews.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from django.utils.html import escape

import edna
from apps.hotcrp_sim.auth import identifier
from apps.hotcrp_sim.management.commands.hotcrp_seed import DEMO_PASSWORD
from apps.hotcrp_sim.models import AUTHOR, Author, ContactInfo, Paper, PaperConflict, PaperReview
from apps.hotcrp_sim.seeding import DEMO_CHAIR
from benchmarks.hotcrp import manual
from benchmarks.kit.driver import Affected, Driver
from benchmarks.people import owned
from loadtest.people import Account, People

#: Who starts the job that anonymises: somebody of the staff, who are people of another application of the site.
STAFF = "staff@example.org"
#: So many authors read what became of their papers.
AUTHORS = 200
#: Reviews of somebody that are looked at once they are back.
LOOKED_AT = 5
#: Columns that others or logging in may change while their rows are there, and why.
IGNORED: Final[Mapping[str, str]] = {
    "ContactInfo.lastLogin": "a disguiser logs in before and after",
}
_LOG = ("logId", "contactId", "destContactId", "trueContactId", "paperId", "timestamp", "ipaddr", "action")
_NAMES = ("firstName", "lastName", "unaccentedName", "email", "affiliation", "collaborators")
#: Of all rows, disguisers' or not: what nobody changes. Every one that was there before is there at the end.
KEPT: Final[Mapping[str, Sequence[str]]] = {
    "ContactInfo": ("contactId", "roles", "isGuise", "phone", "country", "password", *_NAMES),
    "Paper": ("paperId", "title", "authorInformation", "leadContactId", "shepherdContactId", "managerContactId"),
    "PaperAuthor": (
        "paperAuthorId",
        "paperId",
        "contactId",
        "position",
        "firstName",
        "lastName",
        "email",
        "collaborators",
    ),
    "PaperReview": ("paperId", "reviewId", "contactId", "requestedBy", "reviewType"),
    "PaperReviewPreference": ("paperRevPrefId", "paperId", "contactId"),
    "PaperReviewRefused": (
        "paperId",
        "email",
        "contactId",
        "requestedBy",
        "refusedBy",
        "firstName",
        "lastName",
        "reason",
    ),
    "PaperComment": ("commentId", "paperId", "contactId", "comment", "timeModified"),
    "PaperConflict": ("paperConflictId", "paperId", "contactId", "conflictType"),
    "PaperWatch": ("paperWatchId", "paperId", "contactId", "watch"),
    "TopicInterest": ("topicInterestId", "contactId", "topicId", "interest"),
    "ReviewRating": ("ratingId", "paperId", "reviewId", "contactId", "rating"),
    "Capability": ("salt", "contactId", "paperId", "timeExpires"),
    "ActionLog": _LOG,
}
#: Tables that normal requests neither add rows to nor take any from.
SAME_SIZE: Final[Sequence[str]] = (
    *("ContactInfo", "Paper", "PaperAuthor", "PaperConflict", "PaperWatch", "PaperReviewRefused"),
    *("TopicInterest", "ReviewRating", "Capability"),
)
#: Characters of a review that are looked for: those of its beginning, as a page shows them.
LETTERS = 60


def everything_of(contact: int) -> list[Affected]:
    """The account, and every row that names it, but for reviews that it has only asked for: whoever writes one may change it, and whose it
    is and who asked for it `KEPT` says."""
    asked_for = ("PaperReview", 't."requestedBy"')
    return [rows for rows in manual.everything_of(contact) if (rows.table, rows.where.split()[0]) != asked_for]


def prepare(*, scale: float, source: random.Random, drawn: int) -> People:
    """``drawn`` disguisers are chosen by lot; with the light, the median and the heaviest they are half of the committee at most."""
    call_command("hotcrp_seed", scale=scale, seed=source.randrange(2**31), no_register=True, verbosity=0)
    contacts = list(ContactInfo.objects.order_by("pk"))
    codes = _register(contacts)
    get_user_model().objects.create_superuser(STAFF, DEMO_PASSWORD)
    with closing(Driver()) as driver:
        found = owned(driver, manual.OWNERS)
    rows = {contact.email: found.get(contact.pk, 0) + 1 for contact in contacts}
    committee = sorted((contact for contact in contacts if contact.is_pc), key=lambda each: (rows[each.email], each.pk))
    names = distinct_names(committee)
    reviewed = _reviewed(committee)

    def account(contact: ContactInfo) -> Account:
        marks = {**reviewed[contact.pk], "name": names.get(contact.email)}
        return Account(contact.email, codes[contact.email], rows[contact.email], marks, contact.pk)

    sizes = {
        "light": committee[len(committee) // 20],
        "median": committee[len(committee) // 2],
        "heaviest": committee[-1],
    }
    others = [contact for contact in committee if contact not in sizes.values()]
    source.shuffle(others)
    half = max(1, min(drawn, len(committee) // 2 - len(sizes)))
    by_lot, ordinary = others[:half], others[half:]
    papers_of = _papers_of_authors(source)
    return People(
        app="hotcrp",
        password=DEMO_PASSWORD,
        ordinary={
            "authors": list(papers_of),
            "reviewers": [contact.email for contact in ordinary],
            "chairs": [DEMO_CHAIR],
        },
        disguisers={
            "random": [account(contact) for contact in by_lot],
            **{size: [account(contact)] for size, contact in sizes.items()},
        },
        facts={
            "papers": list(Paper.objects.order_by("pk").values_list("pk", flat=True)),
            "papers_of": papers_of,
            "committee": [contact.email for contact in committee],
            "names": names,
            "hidden": _hidden(ordinary),
            "codes": codes,
            "rows": rows,
            "staff": STAFF,
        },
        scale=f"{len(contacts) - len(committee):,} authors and others, {len(committee)} on the committee, {Paper.objects.count()} papers",
    )


def _register(contacts: Sequence[ContactInfo]) -> dict[str, str]:
    """Keys for everybody; the recovery codes by address. A password's key is slow to derive on purpose: only the committee has one."""
    codes = {}
    with transaction.atomic():
        for contact in contacts:
            password = DEMO_PASSWORD if contact.is_pc else None
            made = edna.register_principal(contact, password=password, identifier=identifier(contact.email))
            codes[contact.email] = str(made.recovery_code)
    return codes


def distinct_names(committee: Sequence[ContactInfo]) -> dict[str, str]:
    """Of the committee, those whose name nobody else has, nor has as a part of theirs: where it stands on a page, it is theirs. As pages
    have it, escaped."""
    everybody = [contact.name for contact in ContactInfo.objects.only("first_name", "last_name")]
    lines = [line for paper in Paper.objects.only("author_information") for line in _lines(paper)]
    written = [*everybody, *(Author.parse(line).name for line in lines)]
    return {
        contact.email: str(escape(contact.name))
        for contact in committee
        if sum(contact.name in other for other in written) == 1
    }


def _lines(paper: Paper) -> list[str]:
    """The authors without an account, each a line."""
    return [line for line in (paper.author_information or "").split("\n") if line.strip()]


def _hidden(contacts: Sequence[ContactInfo]) -> dict[str, list[int]]:
    """What each must not see, by address: papers with which they have a conflict, unless they manage them."""
    found: dict[str, list[int]] = {contact.email: [] for contact in contacts}
    rows = PaperConflict.objects.filter(contact__in=contacts).exclude(paper__manager_contact=F("contact"))
    for email, paper in rows.order_by("paper").values_list("contact__email", "paper"):
        found[email].append(paper)
    return found


def _reviewed(committee: Sequence[ContactInfo]) -> Mapping[int, dict[str, Any]]:
    """Of each reviewer, all papers that they review, and the beginning of some of their reviews, by the number of the paper."""
    found: dict[int, dict[str, Any]] = defaultdict(lambda: {"papers": [], "texts": {}})
    reviews = PaperReview.objects.filter(contact__in=committee).order_by("paper")
    for review in reviews.only("paper_id", "contact_id", "tfields"):
        theirs = found[review.contact_id]
        theirs["papers"].append(review.paper_id)
        if len(theirs["texts"]) < LOOKED_AT:
            theirs["texts"][str(review.paper_id)] = str(escape(review.texts["t02"][:LETTERS]))
    return found


def _papers_of_authors(source: random.Random) -> dict[str, list[int]]:
    """By the address of the author, of as many as take part."""
    found: dict[str, list[int]] = defaultdict(list)
    rows = (
        PaperConflict.objects.filter(conflict_type__gte=AUTHOR).order_by("paper").values_list("contact__email", "paper")
    )
    for email, paper in rows:
        found[email].append(paper)
    chosen = source.sample(sorted(found), min(AUTHORS, len(found)))
    return {email: found[email] for email in chosen}
