"""Pages of the programme committee: preferences, conflicts, who is on it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from apps.showcase.once import once
from apps.showcase.transactions import posts_atomically

from ..actionlog import note
from ..forms import PaperForm, PreferencesForm
from ..models import (
    AUTHOR,
    COLLABORATOR,
    CONTACT_AUTHOR,
    ContactInfo,
    Paper,
    PaperConflict,
    PaperReview,
    PaperReviewPreference,
)
from ..names import name_of
from ..policy import NAMELESS, ON_COMMITTEE, Conference, Viewer, papers_for
from ..policy import committee as members_of_committee
from .guards import committee, show

PAGE = 50
_KINDS = {AUTHOR: "you are an author", CONTACT_AUTHOR: "you are an author", COLLABORATOR: "declared by you"}


@committee
@posts_atomically
def preferences(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A table of the papers that one might review."""
    allowed = papers_for(viewer).filter(is_author=False, is_conflicted=False, time_submitted__gt=0, time_withdrawn=0)
    sent = request.POST if request.method == "POST" else request.GET
    page = Paginator(allowed.only("paper_id", "title").order_by("pk"), PAGE).get_page(sent.get("page"))
    # The list, not the page: a saved preference must be one about a paper that was shown as theirs to have one about.
    shown = list(page)
    known = {
        row.paper_id: row
        for row in PaperReviewPreference.objects.filter(contact=viewer.pk, paper__in=[paper.pk for paper in shown])
    }
    form = PreferencesForm(shown, known, request.POST or None)
    if form.is_valid():
        _save(viewer.user, known, form.entered())
        messages.success(request, "Your preferences are saved.")
        return redirect(f"{reverse('hotcrp:preferences')}?page={page.number}")
    context = {"rows": form.rows(), "form": form, "page": page, "query": "", "closed": Conference.now().closed}
    return show(request, "preferences.html", context)


def _save(
    contact: ContactInfo, known: dict[int, PaperReviewPreference], entered: dict[int, tuple[int, int | None]]
) -> None:
    """As many statements for a page as for one paper. What says nothing has no row."""
    new, changed, emptied = [], [], []
    for paper, (preference, expertise) in entered.items():
        row = known.get(paper)
        empty = not preference and expertise is None
        if row is None:
            if not empty:
                new.append(
                    PaperReviewPreference(paper_id=paper, contact=contact, preference=preference, expertise=expertise)
                )
        elif empty:
            emptied.append(row.pk)
        elif (row.preference, row.expertise) != (preference, expertise):
            row.preference, row.expertise = preference, expertise
            changed.append(row)
    if new:
        PaperReviewPreference.objects.bulk_create(new)
    if changed:
        PaperReviewPreference.objects.bulk_update(changed, ["preference", "expertise"])
    if emptied:
        PaperReviewPreference.objects.filter(pk__in=emptied).delete()


@committee
@once
@posts_atomically
def conflicts(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """See, declare and take back one's conflicts. Of the papers in conflict, one sees the number and the title."""
    form = PaperForm(request.POST or None)
    if form.is_valid():
        number = form.cleaned_data["paper"]
        if request.POST.get("do") == "undeclare":
            _undeclare(request, viewer, number)
            return redirect("hotcrp:conflicts")
        if _declare(request, viewer, number):
            return redirect("hotcrp:conflicts")
        form.add_error("paper", "There is no paper of this number with which you could declare a conflict.")
    context = {"conflicts": _conflicts(viewer), "form": form, "closed": Conference.now().closed}
    return show(request, "conflicts.html", context)


def _conflicts(viewer: Viewer) -> list[dict[str, Any]]:
    rows = PaperConflict.objects.filter(contact=viewer.pk).order_by("paper_id", "pk")
    found = list(rows.values_list("paper_id", "paper__title", "conflict_type"))
    reviewed = _reviewed([paper for paper, _, _ in found])
    return [
        {
            "paper_id": paper,
            "title": title or "(no title)",
            "kind": _KINDS.get(kind, "entered by an author or a chair"),
            "removable": kind == COLLABORATOR and paper not in reviewed,
        }
        for paper, title, kind in found
    ]


def _reviewed(papers: list[int]) -> set[int]:
    """Those that have submitted reviews."""
    rows = PaperReview.objects.filter(paper__in=papers, review_submitted__isnull=False)
    return set(rows.values_list("paper_id", flat=True))


def _declare(request: HttpRequest, viewer: Viewer, number: int) -> bool:
    """Whether there is such a paper, for them. A conflict takes away rights and gives none, so it may be declared at any time."""
    # Locked, as an assignment is: whoever declares a conflict first is not asked for a review.
    Paper.objects.select_for_update().filter(pk=number).first()
    if not papers_for(viewer).filter(pk=number, is_conflicted=False).exists():
        return False
    PaperConflict.objects.create(paper_id=number, contact=viewer.user, conflict_type=COLLABORATOR)
    note(request, "Conflict declared", paper=number)
    messages.success(request, f"You have a conflict with paper #{number} now, and do not see it any more.")
    return True


def _undeclare(request: HttpRequest, viewer: Viewer, number: int) -> None:
    """Take back a conflict that one has declared: never authorship, never what somebody else has entered, and not once there are reviews
    that it keeps from one's eyes."""
    own = PaperConflict.objects.filter(contact=viewer.pk, paper=number, conflict_type=COLLABORATOR)
    if _reviewed([number]) or not own.delete()[0]:
        messages.error(request, "This conflict only a chair can take back.")
        return
    note(request, "Conflict taken back", paper=number)
    messages.success(request, f"You have no declared conflict with paper #{number} any more.")


@committee
def pc(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Who is on the committee, with those only counted whose names are under disguise."""
    members = [
        {"name": name_of(member), "affiliation": member.affiliation, "chair": member.is_chair}
        for member in members_of_committee().order_by("unaccented_name", "pk")
    ]
    unnamed = ContactInfo.objects.filter(NAMELESS, ON_COMMITTEE, is_guise=False).count()
    return show(request, "pc.html", {"members": members, "unnamed": unnamed})
