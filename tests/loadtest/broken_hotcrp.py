"""HotCRP with faults that a load must notice: pages that show, lack or forget what they must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from apps.hotcrp_sim.models import PaperComment, PaperConflict, PaperReview, PaperReviewPreference
from apps.hotcrp_sim.privacy import PAGES
from apps.hotcrp_sim.views import bringing_back, committee, papers
from config import urls
from edna.pages.applying import Apply

View = Callable[..., HttpResponse]
#: What is due, by its name.
faults: set[str] = set()
#: Told by the test: the name of somebody of the committee, and whose recovery code it is that brings nothing back.
known: dict[str, str] = {}
gone: list[str] = []
_ROW = '<tr><td class="n">{}</td>\n<td class="title">Another paper</td>\n<td></td></tr>'


def paper(request: HttpRequest, pk: int) -> HttpResponse:
    response = papers.paper(request, pk=pk)
    if "names a reviewer" in faults and not getattr(request.user, "is_pc", True):
        response.content = response.content.replace(b"Anonymous reviewer", known["name"].encode())
    return response


def list_papers(request: HttpRequest) -> HttpResponse:
    response = papers.papers(request)
    shown = PaperConflict.objects.filter(contact=request.user.pk).values_list("paper", flat=True)
    if "shows a paper in conflict" in faults and getattr(request.user, "is_pc", False):
        response.content += "".join(map(_ROW.format, shown)).encode()
    if "shows a paper of others" in faults and not getattr(request.user, "is_pc", True):
        response.content += _ROW.format(max(shown, default=0) + 1).encode()
    # Whoever is back by now does no harm: so often as there is somebody.
    if "names somebody who is gone" in faults:
        response.content += "".join(gone[-3:]).encode()
    return response


def review(request: HttpRequest, pk: int) -> HttpResponse:
    mine = PaperReview.objects.filter(paper=pk, contact=request.user.pk)
    before = list(mine.values_list("tfields", flat=True))
    response = papers.review(request, pk=pk)
    if request.method == "POST" and "forgets a review" in faults:
        mine.update(tfields=before[0])
    return response


def comment(request: HttpRequest, pk: int) -> HttpResponse:
    response = papers.comment(request, pk=pk)
    if "forgets a comment" in faults:
        PaperComment.objects.filter(contact=request.user.pk).order_by("-pk")[0].delete()
    return response


def preferences(request: HttpRequest) -> HttpResponse:
    response = committee.preferences(request)
    if request.method == "POST" and "forgets a preference" in faults:
        PaperReviewPreference.objects.filter(contact=request.user.pk).update(preference=-7)
    return response


LEAVE, RETURN = Apply.as_view(pages=PAGES), bringing_back.Return.as_view(pages=PAGES)
RECLAIM = bringing_back.Reclaim.as_view(pages=PAGES)


def remove(request: HttpRequest) -> HttpResponse:
    email = request.user.email
    response = LEAVE(request, name="hotcrp.remove-account").render()
    if b"Good-bye" in response.content:
        gone.append(email)
    return response


def come_back(request: HttpRequest) -> HttpResponse:
    response = RETURN(request).render()
    if b"<h1>It is back</h1>" in response.content and "loses a review" in faults:
        lost = (
            PaperReview.objects.filter(contact__email=known["loser"])
            .order_by("-pk")
            .values_list("review_id", flat=True)
        )
        PaperReview.objects.filter(review_id__in=list(lost[:1])).delete()
    return response


def reclaim(request: HttpRequest) -> HttpResponse:
    if request.POST.get("recovery_code") == known.get("lost"):
        return HttpResponse("<h1>It is back</h1>")
    return RECLAIM(request)


urlpatterns: list[Any] = [
    path("hotcrp/papers/", list_papers),
    path("hotcrp/papers/<int:pk>/", paper),
    path("hotcrp/papers/<int:pk>/review/", review),
    path("hotcrp/papers/<int:pk>/comment/", comment),
    path("hotcrp/preferences/", preferences),
    path("hotcrp/privacy/do/hotcrp.remove-account/", remove),
    path("hotcrp/privacy/return/", come_back),
    path("hotcrp/disguised/reclaim/", reclaim),
    *urls.urlpatterns,
]
