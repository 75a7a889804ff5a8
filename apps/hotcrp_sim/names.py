"""What people are called on the pages: by name where that may be, otherwise by what they do."""

from __future__ import annotations

from .models import BY_AUTHOR, ContactInfo, PaperComment
from .policy import Viewer, is_nameless

REVIEWER = "Anonymous reviewer"


def name_of(contact: ContactInfo, otherwise: str = "Anonymous") -> str:
    """Placeholders, and accounts that the conference's disguise has emptied, have no name; never their made-up address."""
    return otherwise if is_nameless(contact) else contact.name or contact.email


def writer_of(comment: PaperComment, *, named: bool) -> str:
    """Who wrote a comment. Authors of anonymous submissions, and reviewers towards them, are called by their role."""
    if comment.comment_type & BY_AUTHOR:
        return name_of(comment.contact, "An author") if named else "An author"
    return name_of(comment.contact, REVIEWER) if named else REVIEWER


def roles_of(viewer: Viewer) -> str:
    if viewer.chair:
        return "a chair"
    return "a member of the programme committee" if viewer.pc else "an author, or somebody with an account"
