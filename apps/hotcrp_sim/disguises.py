"""What somebody who leaves the conference, or a chair, can disguise. Django finds this module by itself, as it finds ``admin.py``.

Beside the rows that name an account, three columns hold text about people: the addresses in the log are taken away with the rest; the
authors of a paper, and who refused to review it, are kept in a way in which everybody can take away their own part (see ``models``).
Texts that people wrote into reviews and comments stay as they are, with whatever names are in them.
"""

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Keep, Modify, Remove, placeholders

from . import cases, keys
from .models import (
    PC,
    ActionLog,
    Capability,
    ContactInfo,
    Paper,
    PaperAuthor,
    PaperComment,
    PaperConflict,
    PaperReview,
    PaperReviewPreference,
    PaperReviewRefused,
    PaperWatch,
    ReviewRating,
    TopicInterest,
)

#: `ContactInfo.roles` is made of bits: these are the values with the one of the PC.
ON_THE_PC = [roles for roles in range(8) if roles & PC]


@edna.register
class Anonymous(edna.Pseudoprincipal):
    """Somebody without a face: an account into which nobody can log in. All disguises here use it."""

    model = ContactInfo
    values = {
        "email": placeholders.random_email(),
        "password": placeholders.unusable_password(),
        "default_watch": 0,
        "disabled": True,
        "is_guise": True,
    }


#: An address in the log is that of who really acted: of nobody else, even if two people have to do with the entry. So whoever
#: returns first does not bring back the address of the other.
HIDE_ADDRESSES = [
    Modify(ActionLog, owner="true_contact", set={"ipaddr": None}),
    Modify(ActionLog, owner="contact", where=Q(true_contact__isnull=True), set={"ipaddr": None}),
]
DISOWN_ENTRIES = Decorrelate(ActionLog, owner=["contact", "dest_contact", "true_contact"])
DISOWN_REFUSALS = Decorrelate(PaperReviewRefused, owner=["contact", "requested_by", "refused_by"])
DISOWN_PAPERS = Decorrelate(Paper, owner=["lead_contact", "shepherd_contact", "manager_contact"])

#: What looks personal and stays: `manage.py edna_audit` reports it with these words.
MAY_STAY = [
    *(Keep(Paper, name, why="the paper is its authors' together") for name in ("title", "withdraw_reason")),
    *(
        Keep(PaperComment, name, why="others have read and answered it")
        for name in ("comment", "comment_tags", "comment_overflow")
    ),
    *(
        Keep(PaperReviewRefused, name, why="of people without an account, whom nobody may ask again")
        for name in ("email", "first_name", "last_name", "affiliation")
    ),
    Keep(PaperReviewRefused, "reason", why="chairs go on needing it"),
]


@edna.register
class RemoveAccount(Disguise):
    """Your account, conflicts, preferences and interests leave the site for everybody, the chairs included. Your reviews, comments and
    papers stay, for others still need them, and name you no more. You can come back."""

    name = keys.REMOVE
    title = "Remove your account"
    self_service = True
    # What was anonymised before goes, too, and is found by the key alone.
    asks_for_key = True
    transformations = [
        *HIDE_ADDRESSES,
        DISOWN_ENTRIES,
        DISOWN_REFUSALS,
        DISOWN_PAPERS,
        Decorrelate(PaperReview, owner=["contact", "requested_by"]),
        Decorrelate(PaperComment, owner="contact"),
        Remove(PaperAuthor, owner="contact"),
        Remove(PaperReviewPreference, owner="contact"),
        Remove(PaperWatch, owner="contact"),
        Remove(PaperConflict, owner="contact"),
        Remove(TopicInterest, owner="contact"),
        Remove(ReviewRating, owner="contact"),
        Remove(Capability, owner="contact"),
        # Who reviews returns with their reviews, and stays on the PC; who may run the conference may have changed meanwhile.
        Remove(ContactInfo, returning={"roles": placeholders.derived(lambda roles: roles & PC)}),
        *MAY_STAY,
    ]

    @classmethod
    def is_offered(cls) -> bool:
        return super().is_offered() and cls.name == cases.removing()


@edna.register
class RemoveAccountHeld(RemoveAccount):
    """Your account, conflicts, preferences and interests leave the site. Your reviews, comments and papers stay, for others still need
    them, and name you no more. You can come back. In a case of misconduct two chairs can read together what was yours."""

    name = keys.REMOVE + keys.HELD
    audience = cases.AUDIENCE
    together = cases.TOGETHER
    audience_without = {"hotcrp_sim.ContactInfo": ["birthday"]}


@edna.register
class AnonymizeConference(Disguise):
    """Take the names off everything that was done at the conference; everybody can reclaim theirs.

    Accounts stay. Those of the PC also lose what says whose they are, since it is known of them that they have written reviews.
    """

    name = keys.ANONYMISE
    title = "The conference was anonymised"
    transformations = [
        *HIDE_ADDRESSES,
        DISOWN_ENTRIES,
        DISOWN_REFUSALS,
        DISOWN_PAPERS,
        Decorrelate(PaperReview, owner=["contact", "requested_by"]),
        Decorrelate(PaperComment, owner="contact"),
        Decorrelate(PaperReviewPreference, owner="contact"),
        Decorrelate(PaperWatch, owner="contact"),
        Decorrelate(PaperConflict, owner="contact"),
        Decorrelate(TopicInterest, owner="contact"),
        Decorrelate(ReviewRating, owner="contact"),
        Remove(PaperAuthor, owner="contact"),
        Modify(
            ContactInfo,
            where=Q(roles__in=ON_THE_PC),
            set={
                "email": placeholders.random_email(),
                "first_name": "",
                "last_name": "",
                "unaccented_name": "",
                "affiliation": "",
                "preferred_email": None,
                "phone": None,
                "country": None,
                "collaborators": None,
                "contact_tags": None,
                "birthday": None,
                "gender": None,
                "data": None,
            },
        ),
    ]
    applies_to = "staff"


@edna.register
class AnonymizeConferenceHeld(AnonymizeConference):
    """Take the names off everything that was done at the conference; everybody can reclaim theirs, and in a case of misconduct two chairs
    can read together who wrote a review."""

    name = keys.ANONYMISE + keys.HELD
    audience = cases.AUDIENCE
    together = cases.TOGETHER
