"""Pages about one's own account: logging in, the password, the API key. What may be done about one's data is on edna's own pages."""

from __future__ import annotations

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator

from apps.showcase import accounts
from edna.pages.keys import GivesKeyAtLogin, TellsWhatWaits

from ..forms import LoginForm
from ..privacy import PAGES
from .guards import confidential, member


class LogIn(TellsWhatWaits, GivesKeyAtLogin, LoginView):
    pages = PAGES
    template_name = "websubmit/login.html"
    authentication_form = LoginForm
    next_page = "websubmit:lectures"
    redirect_authenticated_user = True


@method_decorator([member, confidential], name="dispatch")
class ChangePassword(accounts.ChangePassword):
    pages = PAGES
    success_url = reverse_lazy("websubmit:account")


@member
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "websubmit/account.html")
