"""Pages on which people prove who they are by their key: what is disguised of theirs, and editing it.

Nobody has to be logged in, and it makes no difference who is: no page here tells anything before a key has been opened, and whatever is
shown, changed or brought back belongs to the person of that key. So nobody can do it for somebody else, the chairs included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

import edna

from .. import keys, words
from .. import reviews as reviews_
from ..forms import ChosenReviewForm, KeyForm, OpenForm, ReviewForm
from ..models import REVIEW_TEXTS, ContactInfo, PaperConflict, PaperReview
from ..policy import Conference, is_nameless
from .guards import confidential, show

#: Reviews that the page has forms for.
EDITABLE_AT_ONCE = 50


@confidential
@sensitive_variables()
def disguised(request: HttpRequest) -> HttpResponse:
    """What is disguised: which disguises, and the anonymous reviews that are one's own."""
    form = OpenForm(request.POST or None)
    if form.is_valid():
        try:
            unlocked = request.edna.unlock(**form.credentials())
            account, entries = keys.account_of(unlocked), keys.history(unlocked)
            theirs = _theirs(request, account)
            if chosen := form.cleaned_data["paper"]:
                theirs = theirs.filter(paper=chosen)
            found = list(theirs[: EDITABLE_AT_ONCE + 1])
            context = {
                "anonymised": words.describe(entries, keys.ANONYMISE),
                "removed": words.describe(entries, keys.REMOVE),
                "reviews": [_editable(review) for review in found[:EDITABLE_AT_ONCE]],
                "more": len(found) > EDITABLE_AT_ONCE,
                "open": Conference.now()["rev_open"],
                "nameless": account is not None and is_nameless(account),
            }
            return show(request, "disguised_list.html", context)
        except edna.errors.EdnaError as error:
            form.add_error(None, words.WORDS.explain(error))
    return show(request, "disguised.html", {"form": form})


def _theirs(request: HttpRequest, account: Any) -> Any:
    """The reviews whose anonymous writers the unlocked key speaks for; not of papers with which the person has a conflict, whichever
    of their names the conflict has now."""
    voices = request.edna.speaks_for(ContactInfo)
    everything = [*voices, account.pk] if account is not None else voices
    conflicts = PaperConflict.objects.filter(paper=OuterRef("paper"), contact__in=everything)
    found = PaperReview.objects.filter(~Exists(conflicts), contact__in=voices)
    return found.select_related("paper").order_by("paper", "review_id")


@dataclass(frozen=True)
class _Editable:
    key: int
    paper: int
    title: str
    state: str
    state_class: str
    form: ReviewForm
    key_form: KeyForm


def _editable(review: PaperReview, form: ReviewForm | None = None, key_form: KeyForm | None = None) -> _Editable:
    """Each form with fields of its own names for the labels: a page has many."""
    prefix = f"id_{review.review_id}_%s"
    return _Editable(
        review.review_id,
        review.paper_id,
        review.paper.title or "(no title)",
        *reviews_.state_of(review),
        form or ReviewForm(review, auto_id=prefix),
        key_form or ChosenReviewForm(initial={"review": review.review_id}, auto_id=prefix),
    )


@confidential
@require_POST
@sensitive_variables()
def edit_review(request: HttpRequest) -> HttpResponse:
    """Change an anonymous review while it stays anonymous. What opens the page is the key, so without it nothing is shown."""
    key_form = ChosenReviewForm(request.POST)
    if not key_form.is_valid():
        return show(request, "disguised_key.html", {"form": key_form, "sent": _sent(request)})
    try:
        unlocked = request.edna.unlock(**key_form.credentials())
        review = _theirs(request, keys.account_of(unlocked)).filter(review_id=key_form.cleaned_data["review"]).first()
        if review is None:
            raise edna.errors.NotYours("This key does not speak for the writer of that review.")
        if not Conference.now()["rev_open"]:
            messages.error(request, "Reviews can no longer be changed.")
            return redirect("hotcrp:disguised")
        form = ReviewForm(review, request.POST, draft=not review.review_submitted)
        if form.is_valid():
            # The writer, and not whoever asked for the review: a chair's key speaks for the latter of many reviews.
            with request.edna.speak_as(review, owner="contact"):
                reviews_.save_quietly(review, form.cleaned_data)
            messages.success(request, "The review is saved, and still anonymous.")
            return redirect("hotcrp:disguised")
        return show(request, "disguised_review.html", {"review": _editable(review, form, key_form)})
    except edna.errors.EdnaError as error:
        key_form.add_error(None, words.WORDS.explain(error))
    return show(request, "disguised_key.html", {"form": key_form, "sent": _sent(request)})


def _sent(request: HttpRequest) -> list[tuple[str, str]]:
    """What was written, to send it again with the right key: nobody loses a review to a typing error."""
    names = [*reviews_.ASKED, *REVIEW_TEXTS]
    return [(name, request.POST[name]) for name in names if name in request.POST]
