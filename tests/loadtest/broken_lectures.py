"""WebSubmit with faults around anonymised lectures that a load must notice."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from apps.websubmit.models import Answer
from apps.websubmit.views import lectures, staff
from config import urls

#: What is due, by its name.
faults: set[str] = set()
#: Told by the test: whose recovery codes they are, by what becomes of them.
known: dict[str, str] = {}


def answers(request: HttpRequest, pk: int) -> HttpResponse:
    response = staff.answers(request, pk=pk)
    if "names a student" in faults:
        response.content = response.content.replace(b"<em>anonymous</em>", b"bea@example.org", 1)
    return response


def edit(request: HttpRequest) -> HttpResponse:
    code = request.POST.get("recovery_code")
    if code != known.get("forgotten"):
        return lectures.edit_anonymised(request)
    before = dict(Answer.objects.filter(author__is_anon=True).values_list("pk", "text"))
    response = lectures.edit_anonymised(request)
    for answer in Answer.objects.filter(pk__in=before):
        Answer.objects.filter(pk=answer.pk).update(text=before[answer.pk])
    return response


def reclaim(request: HttpRequest) -> HttpResponse:
    if request.POST.get("recovery_code") == known.get("lost"):
        return HttpResponse("<h1>They carry your name again</h1>")
    return lectures.reclaim(request)


urlpatterns: list[Any] = [
    path("websubmit/staff/lectures/<int:pk>/answers/", answers),
    path("websubmit/anonymised/edit/", edit),
    path("websubmit/anonymised/reclaim/", reclaim),
    *urls.urlpatterns,
]
