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

import edna
from edna.pages.base import KeyPage
from edna.pages.words import days

from .. import cases, keys, words
from .. import reviews as reviews_
from ..forms import ChosenReviewForm, KeyForm, OpenForm, ReviewForm
from ..models import REVIEW_TEXTS, ContactInfo, PaperConflict, PaperReview
from ..policy import Conference, is_nameless
from ..privacy import PAGES

#: Reviews that the page has forms for.
EDITABLE_AT_ONCE = 50


class OfTheKey(KeyPage):
    """Neither needs who is logged in, nor asks whether the key is theirs."""

    pages = PAGES
    login_required = False
    key_required = False
    #: Who speaks for whom, where the browser keeps the key.
    hands = "voices"

    def whose(self) -> dict[str, Any]:
        return {**super().whose(), "user": None}

    def unlock(self, form: Any) -> edna.Unlocked:
        return self.unlocked(form)

    def account_of(self, form: Any, unlocked: edna.Unlocked) -> Any:
        # A browser hands over who speaks for whom: that the account was removed, it keeps to itself.
        return edna.principal(unlocked) if form.is_handed() else keys.account_of(unlocked)

    def explain(self, error: edna.errors.EdnaError) -> str:
        return words.WORDS.explain(error)


class Disguised(OfTheKey):
    """What is disguised: which disguises, and the anonymous reviews that are one's own."""

    template_name = "hotcrp_sim/disguised.html"
    is_asked_anew = True
    title = "What is disguised"
    button = "Show what is disguised"
    form_class = OpenForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        names = {"removals": " ".join(keys.REMOVALS), "anonymisations": " ".join(keys.ANONYMISATIONS)}
        return super().get_context_data(**{**days(), **names, **kwargs})

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        account = self.account_of(form, unlocked)
        # A browser shows what was done by itself, and tells nobody.
        entries = [] if form.is_handed() else keys.history(unlocked)
        theirs = _theirs(self.request, account)
        if chosen := form.cleaned_data["paper"]:
            theirs = theirs.filter(paper=chosen)
        found = list(theirs[: EDITABLE_AT_ONCE + 1])
        return self.show(
            "hotcrp_sim/disguised_list.html",
            anonymised=words.describe(entries, keys.ANONYMISATIONS),
            removed=words.describe(entries, keys.REMOVALS),
            is_told=not form.is_handed(),
            reviews=[_editable(review) for review in found[:EDITABLE_AT_ONCE]],
            more=len(found) > EDITABLE_AT_ONCE,
            open=Conference.now()["rev_open"],
            finish=cases.removing(),
            nameless=account is not None and is_nameless(account),
        )


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


class EditReview(OfTheKey):
    """Change an anonymous review while it stays anonymous. What opens the page is the key, so without it nothing is shown."""

    http_method_names = ["post"]
    template_name = "hotcrp_sim/disguised_key.html"
    title = "An anonymous review"
    button = "Save the review, stay anonymous"
    form_class = ChosenReviewForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{"sent": _sent(self.request), **kwargs})

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        theirs = _theirs(self.request, self.account_of(form, unlocked))
        review = theirs.filter(review_id=form.cleaned_data["review"]).first()
        if review is None:
            raise edna.errors.NotYours("This key does not speak for the writer of that review.")
        if not Conference.now()["rev_open"]:
            messages.error(self.request, "Reviews can no longer be changed.")
            return redirect("hotcrp:disguised")
        written = ReviewForm(review, self.request.POST, draft=not review.review_submitted)
        if not written.is_valid():
            return self.show("hotcrp_sim/disguised_review.html", review=_editable(review, written, form))
        # The writer, and not whoever asked for the review: a chair's key speaks for the latter of many reviews.
        with self.request.edna.speak_as(review, owner="contact"):
            reviews_.save_quietly(review, written.cleaned_data)
        messages.success(self.request, "The review is saved, and still anonymous.")
        return redirect("hotcrp:disguised")


def _sent(request: HttpRequest) -> list[tuple[str, str]]:
    """What was written, to send it again with the right key: nobody loses a review to a typing error."""
    names = [*reviews_.ASKED, *REVIEW_TEXTS]
    return [(name, request.POST[name]) for name in names if name in request.POST]
