"""What a student, or the staff, can disguise. Django finds this module by itself, as it finds ``admin.py``."""

from django.contrib.admin.models import LogEntry
from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Param, Remove, placeholders

from .models import Answer, User


@edna.register
class Anonymous(edna.Pseudoprincipal):
    """The author of anonymised answers: an account without a face, into which nobody can log in. All disguises here use it."""

    model = User
    values = {
        "email": placeholders.random_email(),
        "apikey": placeholders.random_string(),
        "password": placeholders.unusable_password(),
        "last_login": placeholders.null(),
        # The model's default is today, which would tell when the answers were anonymised.
        "joined_on": placeholders.null(),
        "is_active": False,
        "is_anon": True,
    }


@edna.register
class DeleteAccount(Disguise):
    """Your account and all your answers leave this site, for the staff as well. You can come back, and find them as they were."""

    name = "websubmit.delete-account"
    title = "Delete your account"
    self_service = True
    # What was anonymised before goes, too, and is found by the key alone.
    asks_for_key = True
    transformations = [
        Remove(Answer, owner="author"),
        Remove(LogEntry, owner="user"),
        # Who may do what can change while somebody is away: whoever gives the right gives it again.
        Remove(User, returning={"is_admin": False}),
    ]


@edna.register
class AnonymizeLecture(Disguise):
    """Take the names off all answers of one lecture; every author can reclaim theirs."""

    name = "websubmit.anonymize-lecture"
    title = "The staff took the names off a lecture"
    params = {"lecture": int}
    transformations = [
        Decorrelate(
            Answer, owner="author", where=Q(question__lecture=Param("lecture")), group_by=["question__lecture"]
        ),
    ]
    applies_to = "staff"


@edna.register
class AnonymizeAll(Disguise):
    """Take the names off all answers, with another anonymous author per student and lecture."""

    name = "websubmit.anonymize-all"
    title = "The staff took the names off all lectures"
    transformations = [Decorrelate(Answer, owner="author", group_by=["question__lecture"])]
    applies_to = "staff"
