"""WebSubmit with faults around anonymised lectures that a load must notice."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from apps.websubmit.models import Answer
from apps.websubmit.privacy import PAGES
from apps.websubmit.views import lectures, staff
from config import urls
from edna.pages.returning import BringBack

#: What is due, by its name.
faults: set[str] = set()
#: Told by the test: whose recovery codes they are, by what becomes of them.
known: dict[str, str] = {}
EDIT, RECLAIM = lectures.EditAnonymised.as_view(), BringBack.as_view(pages=PAGES)


def answers(request: HttpRequest, pk: int) -> HttpResponse:
    response = staff.answers(request, pk=pk)
    if "names a student" in faults:
        response.content = response.content.replace(b"<em>anonymous</em>", b"bea@example.org", 1)
    return response


def edit(request: HttpRequest) -> HttpResponse:
    code = request.POST.get("recovery_code")
    if code != known.get("forgotten"):
        return EDIT(request)
    before = dict(Answer.objects.filter(author__is_anon=True).values_list("pk", "text"))
    response = EDIT(request)
    for answer in Answer.objects.filter(pk__in=before):
        Answer.objects.filter(pk=answer.pk).update(text=before[answer.pk])
    return response


def reclaim(request: HttpRequest) -> HttpResponse:
    if request.POST.get("recovery_code") == known.get("lost"):
        return HttpResponse("<h1>It is back</h1>")
    return RECLAIM(request)


urlpatterns: list[Any] = [
    path("websubmit/staff/lectures/<int:pk>/answers/", answers),
    path("websubmit/anonymised/edit/", edit),
    path("websubmit/privacy/back/", reclaim),
    *urls.urlpatterns,
]
