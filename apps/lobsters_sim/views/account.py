"""One's own account: register, log in, password, key, address."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

import edna
from apps.showcase.forms import ChangePasswordForm, PasswordForm

from ..friendly import WORDS
from ..keyforms import EmailForm, LoginForm, RegisterForm
from ..keys import identifier
from ..models import User
from .guards import back, confidential, member, member_of, viewer_of, wanted_next

BACKEND = "apps.lobsters_sim.auth.LobstersBackend"


@confidential
@sensitive_variables()
def log_in(request: HttpRequest) -> HttpResponse:
    if viewer_of(request) is not None:
        return back(request, reverse("lobsters:front"))
    form = LoginForm(request.POST or None)
    if form.is_valid():
        data = form.cleaned_data
        user = authenticate(request, lobsters_username=data["username"], password=data["password"])
        if user is not None:
            login(request, user)
            return back(request, reverse("lobsters:front"))
        form.add_error(
            None, "No account has this user name and password. If you left, or were away for long, you can come back."
        )
    return render(request, "lobsters/login.html", {"form": form, "next": wanted_next(request) or ""})


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("lobsters:front")


@confidential
@sensitive_variables()
def register(request: HttpRequest) -> HttpResponse:
    """Make an account and its key. The answer to the form is the one page that ever shows the recovery code."""
    if viewer_of(request) is not None:
        return redirect("lobsters:front")
    form = RegisterForm(request.POST or None)
    if form.is_valid():
        data = form.cleaned_data
        username, password = data["username"], data["new_password"]
        try:
            with transaction.atomic():
                user = User.objects.create_user(username, data["email"], password)
                registration = edna.register_principal(user, password=password, identifier=identifier(username))
        except edna.errors.EdnaError as error:
            form.add_error(None, WORDS.explain(error))
        except IntegrityError:
            form.add_error("username", "Somebody has this user name already.")
        else:
            login(request, user, backend=BACKEND)
            request.edna.mark()
            context = {"recovery_code": str(registration.recovery_code), "new_account": True}
            return render(request, "lobsters/recovery_code.html", context)
    return render(request, "lobsters/register.html", {"form": form})


@member
def account(request: HttpRequest) -> HttpResponse:
    user = member_of(request)
    # Not the row that request.user is: a form writes what it refuses into its instance, too, and the page shows request.user.
    form = EmailForm(request.POST or None, instance=User.objects.get(pk=user.pk))
    if form.is_valid():
        User.objects.filter(pk=user.pk).update(email=form.cleaned_data["email"])
        messages.success(request, "Your e-mail address is changed.")
        return redirect("lobsters:account")
    return render(request, "lobsters/account.html", {"form": form, "has_key": edna.is_registered(user)})


@member
@confidential
@sensitive_variables()
def make_key(request: HttpRequest) -> HttpResponse:
    """A key for an account that was made without one (from the command line, say)."""
    user = member_of(request)
    form = PasswordForm(user, request.POST or None)
    if form.is_valid():
        password = form.cleaned_data["password"]
        try:
            registration = edna.register_principal(user, password=password, identifier=identifier(user.username))
        except edna.errors.EdnaError as error:
            form.add_error(None, WORDS.explain(error))
        else:
            request.edna.mark()
            return render(request, "lobsters/recovery_code.html", {"recovery_code": str(registration.recovery_code)})
    return render(request, "lobsters/make_key.html", {"form": form})


@member
@confidential
@sensitive_variables()
def change_password(request: HttpRequest) -> HttpResponse:
    """A new password for the login and for the key, or for neither."""
    user = member_of(request)
    form = ChangePasswordForm(user, request.POST or None)
    if form.is_valid():
        password = form.cleaned_data["new_password"]
        try:
            with transaction.atomic():
                user.set_password(password)
                user.save(update_fields=["password"])
                opens_key = _change_key_password(request, form.cleaned_data["password"], password)
        except edna.errors.EdnaError as error:
            form.add_error(None, WORDS.explain(error))
        else:
            update_session_auth_hash(request, user)
            messages.success(request, "Your password is changed. Your recovery code stays the same.")
            if not opens_key:
                messages.warning(
                    request, "Your key was not opened by your old password, so the new one does not open it either."
                )
            return redirect("lobsters:account")
    return render(request, "lobsters/change_password.html", {"form": form})


@sensitive_variables()
def _change_key_password(request: HttpRequest, old: str, new: str) -> bool:
    """Let the new password open the key, if the old one did: a key made from the command line has no password at all."""
    name = identifier(member_of(request).username)
    try:
        unlocked = request.edna.unlock(identifier=name, password=old)
    except edna.errors.WrongCredentials:
        return False
    edna.change_password(unlocked, identifier=name, password=new)
    return True
