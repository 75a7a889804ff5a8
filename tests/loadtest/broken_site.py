"""The sample site with faults that a load must notice: one for each of some accounts, and a page that fails once."""

from __future__ import annotations

import time
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path

from apps.websubmit.models import Answer, User
from apps.websubmit.privacy import PAGES
from apps.websubmit.views import lectures
from config import urls
from edna.pages.keys.returning import Return


@dataclass
class Faults:
    """``at_return``, by recovery code: whose it is, and "loses a row", "gets a foreign row" or "is not back". ``under_way``: the requests
    for a lecture's page, each of which takes ``seconds``."""

    at_return: dict[str, tuple[str, str]]
    edit_fails_once: bool = False
    seconds: float = 0
    under_way: int = 0


faults = Faults({}, getattr(settings, "EDIT_FAILS_ONCE", False))

PAGE = Return.as_view(pages=PAGES)


def come_back(request: HttpRequest) -> HttpResponse:
    email, fault = faults.at_return.get(request.POST.get("recovery_code", ""), ("", ""))
    if fault == "is not back":
        return HttpResponse("<h1>It is back</h1>")
    response = PAGE(request).render()
    if fault == "loses a row":
        newest = Answer.objects.filter(author__email=email).order_by("-pk").values_list("pk", flat=True)[:1]
        Answer.objects.filter(pk__in=list(newest)).delete()
    elif fault == "gets a foreign row":
        user = User.objects.get(email=email)
        mine = Answer.objects.filter(author=user).order_by("-pk")[0]
        theirs = Answer.objects.filter(question=mine.question, author__is_admin=False).exclude(author=user)[0]
        mine.delete()
        Answer.objects.filter(pk=theirs.pk).update(author=user)
    return response


def lecture(request: HttpRequest, pk: int) -> HttpResponse:
    if request.method == "POST" and faults.edit_fails_once:
        faults.edit_fails_once = False
        raise RuntimeError("out of order")
    faults.under_way += 1
    time.sleep(faults.seconds)
    response = lectures.lecture(request, pk=pk)
    faults.under_way -= 1
    return response


urlpatterns = [
    path("websubmit/privacy/return/", come_back),
    path("websubmit/lectures/<int:pk>/", lecture),
    *urls.urlpatterns,
]
