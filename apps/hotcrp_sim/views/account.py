"""Pages about one's own account: password, key, leaving."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_variables

import edna
from apps.showcase.forms import ChangePasswordForm, PasswordForm

from .. import keys, mails, words
from ..auth import identifier
from ..forms import RemoveForm
from ..names import roles_of
from ..policy import Viewer
from .guards import confidential, member, show


@member
def account(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    context = {
        "email": viewer.user.email,
        "affiliation": viewer.user.affiliation,
        "roles": roles_of(viewer),
        "has_key": edna.is_registered(viewer.user),
    }
    return show(request, "account.html", context)


@member
@confidential
@sensitive_variables()
def make_key(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A key for an account that was made without one (from the command line, say)."""
    form = PasswordForm(viewer.user, request.POST or None)
    if form.is_valid():
        try:
            registration = edna.register_principal(
                viewer.user, password=form.cleaned_data["password"], identifier=identifier(viewer.user.email)
            )
            return show(request, "recovery_code.html", {"recovery_code": str(registration.recovery_code)})
        except edna.errors.EdnaError as error:
            form.add_error(None, words.WORDS.explain(error))
    return show(request, "make_key.html", {"form": form})


@member
@confidential
@sensitive_variables()
def change_password(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A new password for the login and for the key, or for neither."""
    if viewer.nameless:
        # The key's password goes with the address that is under disguise; without it the two would part.
        messages.warning(request, "Take your name back first; then you can change the password.")
        return redirect("hotcrp:account")
    user = viewer.user
    form = ChangePasswordForm(user, request.POST or None)
    if form.is_valid():
        password = form.cleaned_data["new_password"]
        try:
            with transaction.atomic():
                user.set_password(password)
                user.save(update_fields=["password"])
                opens_key = _change_key_password(request, user.email, form.cleaned_data["password"], password)
        except edna.errors.EdnaError as error:
            form.add_error(None, words.WORDS.explain(error))
        else:
            update_session_auth_hash(request, user)
            messages.success(request, "Your password is changed. Your recovery code stays the same.")
            if not opens_key:
                messages.warning(
                    request, "Your key was not opened by your old password, so the new one does not open it either."
                )
            return redirect("hotcrp:account")
    return show(request, "change_password.html", {"form": form})


@sensitive_variables()
def _change_key_password(request: HttpRequest, email: str, old: str, new: str) -> bool:
    """Let the new password open the key, if the old one did: a key made from the command line has no password at all."""
    try:
        unlocked = request.edna.unlock(identifier=identifier(email), password=old)
    except edna.errors.WrongCredentials:
        return False
    edna.change_password(unlocked, identifier=identifier(email), password=new)
    return True


@member
@confidential
@sensitive_variables()
def remove(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Leave. The good-bye page is the direct answer to the form, for it shows the receipt, which is kept nowhere."""
    if viewer.nameless:
        return redirect("hotcrp:finish")
    user = viewer.user
    form, busy = RemoveForm(user, request.POST or None), False
    if form.is_valid():
        try:
            unlocked = request.edna.unlock(**_credentials(user.email, form.cleaned_data)) if _wants_key(form) else None
            receipt = edna.disguise(keys.REMOVE, user, unlocked=unlocked)
        except edna.errors.EdnaError as error:
            busy = isinstance(error, edna.errors.TooBusy)
            form.add_error(None, words.WORDS.explain(error))
        else:
            logout(request)
            mailed = mails.send_receipt(request, user.email, str(receipt))
            return show(request, "goodbye.html", {"receipt": str(receipt), "mailed_to": user.email if mailed else None})
    context = {"form": form, "has_key": edna.is_registered(user)}
    if context["has_key"] and not busy:  # a preview reads every row: not for a page that says "later"
        try:
            context["preview"] = words.preview(edna.plan(keys.REMOVE, user))
        except edna.errors.EdnaError as error:
            context["problem"] = words.WORDS.explain(error)
    return show(request, "remove.html", context)


def _wants_key(form: RemoveForm) -> bool:
    return bool(form.cleaned_data["everything"] or form.cleaned_data["recovery_code"])


def _credentials(email: str, data: dict[str, str]) -> dict[str, str]:
    if data["recovery_code"]:
        return {"recovery_code": data["recovery_code"]}
    return {"identifier": identifier(email), "password": data["password"]}
