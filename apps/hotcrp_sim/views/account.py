"""Pages about one's own account: password, key, leaving."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_variables

import edna
from apps.showcase.forms import LeaveForm

from .. import keys, mails, words
from ..auth import identifier
from ..names import roles_of
from ..policy import Viewer
from .guards import confidential, member, show
from .waysback import WAYS_BACK


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
    return WAYS_BACK.make_key(request, viewer.user)


@member
@confidential
@sensitive_variables()
def recovery_code(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    if viewer.nameless:
        # As for a password: what opens the key goes with the address that is under disguise.
        messages.warning(request, "Take your name back first; then you can make a new recovery code.")
        return redirect("hotcrp:account")
    if not edna.is_registered(viewer.user):
        return redirect("hotcrp:make-key")
    return WAYS_BACK.recovery_code(request, viewer.user)


@member
@confidential
@sensitive_variables()
def change_password(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A new password for the login and for the key, or for neither."""
    if viewer.nameless:
        # The key's password goes with the address that is under disguise; without it the two would part.
        messages.warning(request, "Take your name back first; then you can change the password.")
        return redirect("hotcrp:account")
    return WAYS_BACK.change_password(request, viewer.user)


@member
@confidential
@sensitive_variables()
def remove(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Leave. The good-bye page is the direct answer to the form, for it shows the receipt, which is kept nowhere."""
    if viewer.nameless:
        return redirect("hotcrp:finish")
    user = viewer.user
    form, busy = LeaveForm(user, request.POST or None), False
    if form.is_valid():
        credentials = form.credentials(identifier(user.email))
        try:
            unlocked = request.edna.unlock(**credentials) if credentials else None
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
            plan = edna.plan(keys.REMOVE, user)
            context |= {"preview": words.preview(plan), "beyond_reach": bool(plan.beyond_reach)}
            # What the key alone finds is part of what they ask for, unless they say otherwise.
            form.initial["everything"] = context["beyond_reach"]
        except edna.errors.EdnaError as error:
            context["problem"] = words.WORDS.explain(error)
    return show(request, "remove.html", context)
