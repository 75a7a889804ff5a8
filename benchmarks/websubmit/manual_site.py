"""The sample site without edna behind it: same pages, same forms, hand-written SQL. Only the measured pages differ."""

from __future__ import annotations

from typing import Any
from weakref import ReferenceType

from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.dispatch import Signal
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import include, path, reverse

from apps.showcase.forms import ConfirmForm
from apps.websubmit.forms import RegisterForm
from apps.websubmit.models import User
from apps.websubmit.privacy import PAGES
from apps.websubmit.views.guards import confidential, member, staff
from benchmarks.counting import by_hand
from benchmarks.kit.driver import Driver
from benchmarks.websubmit import manual
from edna.pages.applying import ConfirmForm as LeaveForm
from edna.pages.receipts import MailForm


def forget_edna(signal: Signal) -> None:
    """A site without edna does not note whose a session is: disconnect what does."""
    for entry in list(signal.receivers):
        receiver = entry[1]() if isinstance(entry[1], ReferenceType) else entry[1]
        if getattr(receiver, "__module__", "").startswith("edna."):
            signal.receivers.remove(entry)


forget_edna(user_logged_in)
forget_edna(user_logged_out)


def driver() -> Driver:
    """This thread's connection."""
    if not hasattr(by_hand, "driver"):
        by_hand.driver = Driver()
    return by_hand.driver


def page(request: HttpRequest, **context: Any) -> dict[str, Any]:
    """What edna's templates want to know, for a page that looks as theirs do."""
    return {"base_template_name": PAGES.base_template_name, "title": "-", "button": "-", "seen": "-", **context}


@confidential
def register(request: HttpRequest) -> HttpResponse:
    form = RegisterForm(request.POST or None)
    if form.is_valid():
        user = User.objects.create_user(form.cleaned_data["email"], form.cleaned_data["new_password"])
        login(request, user, backend="django.contrib.auth.backends.ModelBackend")
        return render(request, "edna/recovery_code.html", page(request, code="-"))
    return render(request, "websubmit/register.html", page(request, form=form))


@member
@confidential
def delete(request: HttpRequest, name: str) -> HttpResponse:
    [offer] = PAGES.offers(request.user)
    form = LeaveForm(request.POST or None, user=request.user, pages=PAGES, initial={"seen": "-"})
    if form.is_valid():
        manual.delete_account(driver(), request.user.pk)
        logout(request)
        context = page(request, offer=offer, receipt="-", receipt_token="-", mail_form=MailForm(), is_gone=True)
        return render(request, "edna/done.html", context)
    return render(request, "edna/apply.html", page(request, offer=offer, form=form, has_key=True, preview=["-"]))


@staff
def anonymise_all(request: HttpRequest) -> HttpResponse:
    form = ConfirmForm("all lectures", request.POST or None)
    if form.is_valid():
        manual.anonymise_all(driver())
        messages.success(request, "Done.")
        return redirect("websubmit:staff-anonymise")
    context = {"form": form, "what": "all lectures", "preview": ["all answers"], "pseudoprincipals": 0}
    return render(request, "websubmit/staff/anonymise_confirm.html", context)


ROOT = reverse("websubmit:home", urlconf="config.urls").lstrip("/")

urlpatterns = [
    path(f"{ROOT}register/", register),
    path(f"{ROOT}privacy/do/<str:name>/", delete),
    path(f"{ROOT}staff/anonymise/all/", anonymise_all),
    path("", include("config.urls")),
]
