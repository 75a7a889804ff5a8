"""Pages of the chairs: how far the reviews are, who there is, and anonymising the conference.

No page here reveals anything: that takes the key of the person whose it is.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_variables

import edna
from apps.showcase.forms import ConfirmForm
from apps.showcase.once import is_done, once

from .. import cases, mails, words
from ..models import AUTHOR, ContactInfo, Paper, PaperConflict, PaperReview
from ..names import name_of
from ..policy import NOWHERE, ON_COMMITTEE, Conference, Sight, Viewer, committee, papers_for, people
from .guards import chair, confidential, show

PAGE = 50
FEWEST = 25
#: So many names are listed; of more, how many.
NAMED = 20
PHRASE = "anonymise the conference"

_DRAFT = Q(review_submitted=None, review_modified__gt=0)
_COUNTS = {
    "assigned": Count("review_id"),
    "submitted": Count("review_submitted"),
    "drafts": Count("review_id", filter=_DRAFT),
}


@chair
def dashboard(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Numbers of the whole conference, and papers that need reviews, among those that the chair may see."""
    conference = Conference.now()
    return show(
        request,
        "dashboard.html",
        {
            "figures": _figures(),
            "progress": _progress(),
            "papers": _behind(viewer, conference),
            "closed": conference.closed,
        },
    )


def _figures() -> list[tuple[str, int]]:
    papers = Paper.objects.aggregate(
        submitted=Count("pk", filter=Q(time_submitted__gt=0, time_withdrawn=0)),
        withdrawn=Count("pk", filter=Q(time_withdrawn__gt=0)),
        accepted=Count("pk", filter=Q(outcome__gt=0)),
    )
    reviews = PaperReview.objects.aggregate(**_COUNTS)
    return [
        ("papers in review", papers["submitted"]),
        ("withdrawn", papers["withdrawn"]),
        ("accepted", papers["accepted"]),
        ("reviews asked for", reviews["assigned"]),
        ("reviews submitted", reviews["submitted"]),
        ("drafts", reviews["drafts"]),
    ]


def _progress() -> list[dict[str, Any]]:
    """Reviews by reviewer. Those of anonymous reviewers are one line: they are nobody whom one could remind."""
    empty = {"assigned": 0, "submitted": 0, "drafts": 0}
    named = Case(
        When(Q(contact__is_guise=True) | Q(contact__email__endswith=NOWHERE), then=Value(0)),
        default="contact_id",
        output_field=IntegerField(),
    )
    counts = {row.pop("who"): row for row in PaperReview.objects.annotate(who=named).values("who").annotate(**_COUNTS)}
    anonymous = counts.pop(0, None)
    rows = [
        {"name": name_of(member), **counts.pop(member.pk, empty)}
        for member in committee().order_by("unaccented_name", "pk")
    ]
    others = people().filter(pk__in=list(counts))
    rows += [{"name": f"{name_of(other)} (not on the committee)", **counts[other.pk]} for other in others]
    if anonymous is not None:
        rows.append({"name": "Anonymous reviewers, together", **anonymous})
    return [{**row, "waiting": row["assigned"] - row["submitted"] - row["drafts"]} for row in rows]


def _behind(viewer: Viewer, conference: Conference) -> list[dict[str, Any]]:
    """Papers with the fewest submitted reviews, without those that the chair may not see or wrote."""
    found = papers_for(viewer).filter(time_submitted__gt=0, time_withdrawn=0, is_author=False)
    papers = [
        paper for paper in found.only("paper_id", "title", "blind") if Sight(paper, viewer, conference).administers
    ]
    counts = {row.pop("paper"): row for row in PaperReview.objects.values("paper").annotate(**_COUNTS)}
    empty = {"assigned": 0, "submitted": 0}
    rows = [{"pk": paper.pk, "title": paper.title, **counts.get(paper.pk, empty)} for paper in papers]
    return sorted(rows, key=lambda row: (row["submitted"], row["pk"]))[:FEWEST]


@chair
def people_list(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Everybody with an account and a name. Placeholders are nobody, and found by nothing."""
    q = request.GET.get("q", "")[:120].replace("\0", "").strip()
    found: QuerySet[ContactInfo] = people().order_by("unaccented_name", "pk")
    for word in q.split():
        found = found.filter(
            Q(first_name__icontains=word)
            | Q(last_name__icontains=word)
            | Q(unaccented_name__icontains=word)
            | Q(email__icontains=word)
            | Q(affiliation__icontains=word)
        )
    page = Paginator(found, PAGE).get_page(request.GET.get("page"))
    rows = [
        {
            "name": contact.name or "–",
            "email": contact.email,
            "affiliation": contact.affiliation,
            "roles": "chair" if contact.is_chair else "committee" if contact.is_pc else "",
        }
        for contact in page
    ]
    context = {"rows": rows, "page": page, "q": q, "query": f"{urlencode({'q': q})}&" if q else ""}
    return show(request, "people.html", context)


@chair
@once
@confidential
@sensitive_variables()
def anonymise(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Preview, confirm, do, and tell everybody how to take it back: the preview is edna's own plan, and the plan writes nothing."""
    form = ConfirmForm(PHRASE, request.POST or None)
    keyless = [name_of(contact) for contact in edna.unregistered(people().order_by("unaccented_name", "pk"))]
    if form.is_valid():
        # Read before: afterwards nobody knows any more who was who.
        addresses = _addresses()
        try:
            receipts = edna.disguise_all(cases.anonymising(), operator=request.user.get_username())
        except edna.errors.EdnaError as error:
            form.add_error(None, words.WORDS.explain(error))
        else:
            is_done(request)
            sent, failed = mails.send_anonymised(request, addresses)
            request.user.refresh_from_db()  # the chair's own account has lost its name as well
            context = {"people": len(receipts), "mailed": sent, "unmailed": failed, **_listed("left_out", keyless)}
            return show(request, "anonymised.html", context)
    context = {
        "form": form,
        "closed": Conference.now().closed,
        "held": cases.is_held(),
        **_listed("keyless", keyless),
    }
    try:
        plan = edna.plan_all(cases.anonymising())
        context["preview"], context["pseudoprincipals"] = words.preview(plan), plan.pseudoprincipals
    except edna.errors.EdnaError as error:
        context["problem"] = words.WORDS.explain(error)
    return show(request, "anonymise.html", context)


def _listed(name: str, everybody: list[str]) -> dict[str, Any]:
    return {name: everybody[:NAMED], f"{name}_more": len(everybody[NAMED:]), f"{name}_count": len(everybody)}


def _addresses() -> list[tuple[str, bool]]:
    """Whom the disguise concerns: the committee, who lose their addresses, and authors; with whether they are of the committee."""
    authors = PaperConflict.objects.filter(conflict_type__gte=AUTHOR).values("contact")
    reviewers = PaperReview.objects.values("contact")
    concerned = people().filter(ON_COMMITTEE | Q(pk__in=authors) | Q(pk__in=reviewers))
    return [(contact.email, contact.is_pc) for contact in concerned.order_by("pk").only("email", "roles")]
