"""One's own account: register, log in, password, address. What may be done about one's data is on edna's own pages."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.views import LoginView
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from apps.showcase import accounts
from edna.pages.keys import GivesKeyAtLogin, TellsWhatWaits

from ..keyforms import EmailForm, LoginForm, RegisterForm
from ..models import User
from ..privacy import PAGES
from .guards import confidential, member, member_of


class LogIn(TellsWhatWaits, GivesKeyAtLogin, LoginView):
    pages = PAGES
    template_name = "lobsters/login.html"
    authentication_form = LoginForm
    next_page = "lobsters:front"
    redirect_authenticated_user = True


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("lobsters:front")


class Register(accounts.Register):
    pages = PAGES
    start = "lobsters:front"
    template_name = "lobsters/register.html"
    form_class = RegisterForm

    def submitted(self, form: Any) -> HttpResponse:
        data = form.cleaned_data
        username, password = data["username"], data["new_password"]
        try:
            with transaction.atomic():
                user = User.objects.create_user(username, data["email"], password)
                code = self.give_key(user, password=password)
        except IntegrityError:
            form.add_error("username", "Somebody has this user name already.")
            return self.form_invalid(form)
        login(self.request, user, backend="apps.lobsters_sim.auth.LobstersBackend")
        return self.welcome(code)


@method_decorator([member, confidential], name="dispatch")
class ChangePassword(accounts.ChangePassword):
    pages = PAGES
    success_url = reverse_lazy("lobsters:account")


@member
def account(request: HttpRequest) -> HttpResponse:
    user = member_of(request)
    # Not the row that request.user is: a form writes what it refuses into its instance, too, and the page shows request.user.
    form = EmailForm(request.POST or None, instance=User.objects.get(pk=user.pk))
    if form.is_valid():
        User.objects.filter(pk=user.pk).update(email=form.cleaned_data["email"])
        messages.success(request, "Your e-mail address is changed.")
        return redirect("lobsters:account")
    return render(request, "lobsters/account.html", {"form": form})
