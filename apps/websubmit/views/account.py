"""Pages about one's own account: logging in, the password, the API key. What may be done about one's data is on edna's own pages."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator

from edna.pages.keys import GivesKeyAtLogin, KeepsKey, TellsWhatWaits

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
class ChangePassword(KeepsKey, PasswordChangeView):
    pages = PAGES
    template_name = "websubmit/change_password.html"
    success_url = reverse_lazy("websubmit:account")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, "Your password is changed. Your recovery code stays the same.")
        return response


@member
def account(request: HttpRequest) -> HttpResponse:
    return render(request, "websubmit/account.html")
