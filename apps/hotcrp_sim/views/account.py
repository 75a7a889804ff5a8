"""Pages about one's own account: logging in, the password. What may be done about one's data is on edna's own pages."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator

from apps.showcase import accounts
from edna.pages.keys import GivesKeyAtLogin, TellsWhatWaits

from ..forms import LoginForm
from ..names import roles_of
from ..policy import Viewer
from ..privacy import PAGES
from .guards import confidential, member, show


class LogIn(TellsWhatWaits, GivesKeyAtLogin, LoginView):
    pages = PAGES
    template_name = "hotcrp_sim/login.html"
    authentication_form = LoginForm
    next_page = "hotcrp:papers"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{"me": None, **kwargs})


@member
def account(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    context = {"email": viewer.user.email, "affiliation": viewer.user.affiliation, "roles": roles_of(viewer)}
    return show(request, "account.html", context)


@method_decorator(confidential, name="dispatch")
class ChangePassword(accounts.ChangePassword):
    pages = PAGES
    success_url = reverse_lazy("hotcrp:account")


@member
def change_password(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A new password for the login and for the key, or for neither."""
    if viewer.nameless:
        # The key's password goes with the address that is under disguise; without it the two would part.
        messages.warning(request, "Take your name back first; then you can change the password.")
        return redirect("hotcrp:account")
    response: HttpResponse = ChangePassword.as_view()(request)
    return response
