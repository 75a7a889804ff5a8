"""Pages about one's own account: password, key, leaving."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.views import LoginView
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_variables

import edna

from ..forms import DeleteForm
from ..friendly import explain, preview
from .guards import confidential, member
from .waysback import WAYS_BACK

logger = logging.getLogger(__name__)


class LogIn(LoginView):
    """Django's own; who logs in is told what of theirs still waits."""

    @method_decorator(sensitive_variables())
    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        WAYS_BACK.tell(self.request, form.get_user(), password=form.cleaned_data["password"])
        return response


@member
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "websubmit/account.html", {"has_key": edna.is_registered(request.user)})


@member
@confidential
@sensitive_variables()
def make_key(request: HttpRequest) -> HttpResponse:
    return WAYS_BACK.make_key(request, request.user)


@member
@confidential
@sensitive_variables()
def recovery_code(request: HttpRequest) -> HttpResponse:
    if not edna.is_registered(request.user):
        return redirect("websubmit:make-key")
    return WAYS_BACK.recovery_code(request, request.user)


@member
@confidential
@sensitive_variables()
def change_password(request: HttpRequest) -> HttpResponse:
    return WAYS_BACK.change_password(request, request.user)


@member
@confidential
@sensitive_variables()
def delete(request: HttpRequest) -> HttpResponse:
    """Leave. The good-bye page is the direct answer to the form, for it shows the receipt, which is kept nowhere."""
    user = request.user
    form, busy = DeleteForm(user, request.POST or None), False
    if form.is_valid():
        credentials = form.credentials(user.email)
        try:
            unlocked = request.edna.unlock(**credentials) if credentials else None
            receipt = edna.disguise("websubmit.delete-account", user, unlocked=unlocked)
        except edna.errors.EdnaError as error:
            busy = isinstance(error, edna.errors.TooBusy)
            form.add_error(None, explain(error))
        else:
            logout(request)
            mailed = _mail_receipt(request, user.email, str(receipt))
            return render(
                request,
                "websubmit/goodbye.html",
                {"receipt": str(receipt), "mailed_to": user.email if mailed else None},
            )
    context = {"form": form, "has_key": edna.is_registered(user)}
    if context["has_key"] and not busy:  # a preview reads every row: not for a page that says "later"
        try:
            plan = edna.plan("websubmit.delete-account", user)
            context |= {"preview": preview(plan), "beyond_reach": bool(plan.beyond_reach)}
            # What the key alone finds is part of what they ask for, unless they say otherwise.
            form.initial["everything"] = context["beyond_reach"]
        except edna.errors.EdnaError as error:
            context["problem"] = explain(error)
    return render(request, "websubmit/delete.html", context)


@sensitive_variables()
def _mail_receipt(request: HttpRequest, address: str, receipt: str) -> bool:
    """Send the receipt; the account is gone already, so a mail server that is down must not make this page fail."""
    context = {"receipt": receipt, "link": request.build_absolute_uri(reverse("websubmit:return"))}
    try:
        send_mail(
            "Your receipt: how to return to WebSubmit",
            render_to_string("websubmit/goodbye_mail.txt", context),
            None,
            [address],
        )
    except Exception as error:  # whatever it is: the account is gone, and its owner must see the receipt
        logger.warning("The receipt of a deletion could not be mailed: %s", type(error).__name__)
        return False
    return True
