"""Pages about one's own account: password, key, leaving."""

from __future__ import annotations

import logging

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.core.mail import send_mail
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

import edna
from apps.showcase.forms import ChangePasswordForm, PasswordForm

from ..forms import DeleteForm
from ..friendly import explain, preview
from .guards import confidential, member

logger = logging.getLogger(__name__)


@member
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "websubmit/account.html", {"has_key": edna.is_registered(request.user)})


@member
@confidential
@sensitive_variables()
def make_key(request: HttpRequest) -> HttpResponse:
    """A key for an account that was made without one (from the command line, say)."""
    form = PasswordForm(request.user, request.POST or None)
    if form.is_valid():
        try:
            registration = edna.register_principal(request.user, password=form.cleaned_data["password"])
            return render(request, "websubmit/recovery_code.html", {"recovery_code": str(registration.recovery_code)})
        except edna.errors.EdnaError as error:
            form.add_error(None, explain(error))
    return render(request, "websubmit/make_key.html", {"form": form})


@member
@confidential
@sensitive_variables()
def change_password(request: HttpRequest) -> HttpResponse:
    """A new password for the login and for the key, or for neither."""
    user = request.user
    form = ChangePasswordForm(user, request.POST or None)
    if form.is_valid():
        password = form.cleaned_data["new_password"]
        try:
            with transaction.atomic():
                user.set_password(password)
                user.save(update_fields=["password"])
                opens_key = _change_key_password(request, form.cleaned_data["password"], password)
        except edna.errors.EdnaError as error:
            form.add_error(None, explain(error))
        else:
            update_session_auth_hash(request, user)
            messages.success(request, "Your password is changed. Your recovery code stays the same.")
            if not opens_key:
                messages.warning(
                    request, "Your key was not opened by your old password, so the new one does not open it either."
                )
            return redirect("websubmit:account")
    return render(request, "websubmit/change_password.html", {"form": form})


@sensitive_variables()
def _change_key_password(request: HttpRequest, old: str, new: str) -> bool:
    """Let the new password open the key, if the old one did: a key made from the command line has no password at all."""
    try:
        unlocked = request.edna.unlock(password=old)
    except edna.errors.WrongCredentials:
        return False
    edna.change_password(unlocked, identifier=request.user.email, password=new)
    return True


@member
@confidential
@sensitive_variables()
def delete(request: HttpRequest) -> HttpResponse:
    """Leave. The good-bye page is the direct answer to the form, for it shows the receipt, which is kept nowhere."""
    user = request.user
    form, busy = DeleteForm(user, request.POST or None), False
    if form.is_valid():
        credentials = form.credentials()
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
            context["preview"] = preview(edna.plan("websubmit.delete-account", user))
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
