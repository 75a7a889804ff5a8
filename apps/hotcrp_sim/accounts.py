"""New accounts, and what was written about a person before they had one."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from .models import (
    AUTHOR,
    WATCH_REVIEWS,
    Author,
    ContactInfo,
    Paper,
    PaperAuthor,
    PaperConflict,
    PaperReviewRefused,
    PaperWatch,
    no_address,
)


def open_account(email: str, password: str | None, **fields: Any) -> ContactInfo:
    """Make an account. Papers and refused reviews that name its address are the account's from now on.

    Raises:
        IntegrityError: there is one with this address.
    """
    with transaction.atomic():
        contact = ContactInfo.objects.create_user(email, password, **fields)
        _claim_papers(contact)
        # The address is a part of the key: a new row, rather than `save`, takes the old one's place.
        refusals = PaperReviewRefused.objects.filter(contact=0, email=contact.email)
        claimed = list(refusals.select_for_update())
        refusals.delete()
        for refusal in claimed:
            refusal.contact, refusal.email = contact, no_address()
            refusal.first_name = refusal.last_name = refusal.affiliation = None
        PaperReviewRefused.objects.bulk_create(claimed)
    return contact


def _claim_papers(contact: ContactInfo) -> None:
    """Turn the lines of authors that have this address into rows."""
    rows = []
    for paper in Paper.objects.select_for_update().filter(author_information__icontains=contact.email):
        lines = (paper.author_information or "").split("\n")
        for number, line in enumerate(lines):
            author = Author.parse(line)
            if ContactInfo.objects.normalize_email(author.email) == contact.email:
                lines[number] = ""
                names = {
                    "first_name": author.first_name,
                    "last_name": author.last_name,
                    "affiliation": author.affiliation,
                }
                rows.append(
                    PaperAuthor(paper=paper, contact=contact, position=number + 1, email=contact.email, **names)
                )
        paper.author_information = "\n".join(lines)
        paper.save(update_fields=["author_information"])
    PaperAuthor.objects.bulk_create(rows)
    PaperConflict.objects.bulk_create(
        PaperConflict(paper=row.paper, contact=contact, conflict_type=AUTHOR) for row in rows
    )
    PaperWatch.objects.bulk_create(PaperWatch(paper=row.paper, contact=contact, watch=WATCH_REVIEWS) for row in rows)
