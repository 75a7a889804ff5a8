"""One's own account: register, log in, password, key, address."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

import edna

from ..friendly import WORDS
from ..keyforms import EmailForm, LoginForm, RegisterForm
from ..keys import identifier
from ..models import User
from .guards import back, confidential, member, member_of, viewer_of, wanted_next
from .waysback import BACKEND, WAYS_BACK


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
            WAYS_BACK.tell(request, user, password=data["password"])
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
        # Sent twice, or reloaded: the code cannot be shown again, and there a new one is made.
        return redirect("lobsters:recovery-code" if request.method == "POST" else "lobsters:front")
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
            return WAYS_BACK.show_code(request, registration.recovery_code, new_account=True)
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
    return WAYS_BACK.make_key(request, member_of(request))


@member
@confidential
@sensitive_variables()
def recovery_code(request: HttpRequest) -> HttpResponse:
    if not edna.is_registered(member_of(request)):
        return redirect("lobsters:make-key")
    return WAYS_BACK.recovery_code(request, member_of(request))


@member
@confidential
@sensitive_variables()
def change_password(request: HttpRequest) -> HttpResponse:
    return WAYS_BACK.change_password(request, member_of(request))
