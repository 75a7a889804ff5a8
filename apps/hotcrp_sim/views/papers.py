"""Papers, reviews and comments. Who may see what is decided in `policy`; what a viewer may not know of does not exist for them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.showcase.once import once
from apps.showcase.transactions import posts_atomically

from .. import papers as papers_
from .. import reviews as reviews_
from ..actionlog import note
from ..forms import AssignForm, CommentForm, ReviewForm
from ..models import Paper, PaperComment, PaperReview
from ..policy import Conference, Sight, Viewer, eligible_reviewers, papers_for
from .guards import member, show

PAGE = 50


@member
def papers(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A list and a search; ``show`` narrows it to what one has to do with."""
    conference = Conference.now()
    q = request.GET.get("q", "")[:200].replace("\0", "")
    chosen = request.GET.get("show", "all")
    chosen = chosen if chosen in papers_.SHOWS else "all"
    matches = papers_.find(viewer, conference, papers_.Query.parse(q), chosen)
    page = Paginator(matches, PAGE).get_page(request.GET.get("page"))
    kept = {name: value for name, value in (("q", q), ("show", chosen)) if value and value != "all"}
    context = {
        "rows": papers_.rows(list(page)),
        "page": page,
        "q": q,
        "show": chosen,
        "shows": papers_.shows_for(viewer),
        "query": f"{urlencode(kept)}&" if kept else "",
        "closed": conference.closed,
    }
    return show(request, "papers.html", context)


def _seen(viewer: Viewer, pk: int, *, details: bool = False) -> tuple[Any, Sight]:
    """The paper, if the viewer may look at it; otherwise it does not exist."""
    conference = Conference.now()
    allowed = papers_for(viewer)
    found = get_object_or_404(papers_.with_details(allowed) if details else allowed, pk=pk)
    return found, Sight(found, viewer, conference)


@member
def paper(request: HttpRequest, viewer: Viewer, pk: int) -> HttpResponse:
    return _paper(request, viewer, pk)


def _paper(request: HttpRequest, viewer: Viewer, pk: int, *, comment_form: CommentForm | None = None) -> HttpResponse:
    found, sight = _seen(viewer, pk, details=True)
    own = next((review for review in found.reviews.all() if review.contact_id == viewer.pk), None)
    own = own if sight.reviewer else None
    if comment_form is None and sight.comments:
        comment_form = CommentForm(author=sight.author)
    context = {
        "paper": papers_.header(found, sight),
        "reviews": papers_.shown_reviews(found, sight),
        "comments": papers_.shown_comments(found, sight),
        "assignments": papers_.assignments(found, sight),
        "own": own and {"submitted": own.review_submitted, "started": reviews_.is_started(own)},
        "waiting": sight.committee and not sight.other_reviews,
        "author": sight.author,
        "administers": sight.administers,
        "may_review": sight.writes_review,
        "may_declare": viewer.pc and not found.is_conflicted and not sight.author,
        "comment_form": comment_form,
        "assign_form": AssignForm(eligible_reviewers(found)) if sight.assigns else None,
    }
    return show(request, "paper.html", context)


@member
@once
@posts_atomically
def review(request: HttpRequest, viewer: Viewer, pk: int) -> HttpResponse:
    """Write one's own review of a paper, as a draft or for everybody."""
    found, sight = _seen(viewer, pk)
    if not sight.reviewer:
        raise Http404
    if not sight.writes_review:
        raise PermissionDenied("Reviews can no longer be changed.")
    written = PaperReview.objects.filter(paper=pk, contact=viewer.pk).order_by("review_id").first()
    if written is None:
        raise Http404
    submitted = bool(written.review_submitted)
    as_draft = "draft" in request.POST and not submitted
    form = ReviewForm(written, request.POST or None, draft=as_draft)
    if form.is_valid():
        reviews_.save(written, form.cleaned_data, submit=not as_draft)
        note(request, f"Review {written.review_id} {'saved as a draft' if as_draft else 'submitted'}", paper=pk)
        messages.success(request, "Your draft is saved." if as_draft else "Your review is submitted.")
        return redirect("hotcrp:paper", pk=pk)
    context = {"paper": {"pk": pk, "title": found.title}, "form": form, "submitted": submitted}
    return show(request, "review.html", context)


@member
@once
@require_POST
@posts_atomically
def comment(request: HttpRequest, viewer: Viewer, pk: int) -> HttpResponse:
    _, sight = _seen(viewer, pk)
    if not sight.comments:
        raise Http404
    form = CommentForm(request.POST, author=sight.author)
    if not form.is_valid():
        return _paper(request, viewer, pk, comment_form=form)
    now = timezone.now()
    PaperComment.objects.create(
        paper_id=pk,
        contact=viewer.user,
        comment=form.cleaned_data["text"],
        comment_type=form.comment_type(),
        time_modified=now,
        time_displayed=now,
    )
    note(request, "Comment added", paper=pk)
    messages.success(request, "Your comment is added.")
    return redirect(reverse("hotcrp:paper", args=[pk]) + "#comments")


@member
@once
@require_POST
@posts_atomically
def assign(request: HttpRequest, viewer: Viewer, pk: int) -> HttpResponse:
    """Ask a member of the committee for a review; never one who has a conflict, or of whom that cannot be told."""
    found, sight = _seen(viewer, pk)
    if not sight.assigns:
        raise Http404
    # Locked: of two who ask the same reviewer at once, the second finds them asked; so does one who declares a conflict meanwhile.
    Paper.objects.select_for_update().filter(pk=pk).first()
    form = AssignForm(eligible_reviewers(found), request.POST)
    if form.is_valid():
        reviewer = form.cleaned_data["reviewer"]
        reviews_.ask(pk, reviewer, asked_by=viewer.user)
        note(request, "Review requested", paper=pk, about=reviewer)
        messages.success(request, f"{reviewer.name or reviewer.email} is asked for a review.")
    else:
        messages.error(request, "Choose somebody of the list: it has those who may review this paper.")
    return redirect(reverse("hotcrp:paper", args=[pk]) + "#assignments")


@member
@once
@require_POST
@posts_atomically
def unassign(request: HttpRequest, viewer: Viewer, pk: int) -> HttpResponse:
    """Withdraw a request for a review that has not been started, also that of somebody who has left: others can be asked then."""
    _, sight = _seen(viewer, pk)
    number = request.POST.get("review", "")
    if not sight.assigns or not (number.isascii() and number.isdigit() and len(number) < 10):
        raise Http404
    asked = get_object_or_404(PaperReview.objects.select_for_update().filter(paper=pk), review_id=int(number))
    if reviews_.is_started(asked) or asked.review_submitted:
        messages.error(request, "This review has been started meanwhile, so it stays.")
    else:
        note(request, "Review request withdrawn", paper=pk, about=asked.contact)
        asked.delete()
        messages.success(request, "The request is withdrawn.")
    return redirect(reverse("hotcrp:paper", args=[pk]) + "#assignments")
