"""Pages for everybody: home, login, registration, coming back."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.core import signing
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

import edna

from .. import mails, words
from ..accounts import open_account
from ..auth import identifier
from ..forms import LoginForm, NewAccountForm, RegisterForm
from ..models import ContactInfo, PaperReview
from ..names import roles_of
from ..policy import Conference, Viewer
from .guards import BACKEND, confidential, show
from .waysback import WAYS_BACK

_REGISTRATION = "hotcrp.registration"
#: How long the link of a registration is good for.
_A_DAY = 24 * 60 * 60


def home(request: HttpRequest) -> HttpResponse:
    viewer = Viewer.of(request)
    if viewer is None:
        return show(request, "home.html")
    todo = PaperReview.objects.filter(contact=viewer.pk, review_submitted=None).count() if viewer.pc else 0
    context = {"closed": Conference.now().closed, "todo": todo, "roles": roles_of(viewer)}
    return show(request, "home.html", context)


@confidential
@sensitive_variables()
def log_in(request: HttpRequest) -> HttpResponse:
    if Viewer.of(request) is not None:
        return redirect("hotcrp:papers")
    form = LoginForm(request.POST or None)
    onward = str(request.POST.get("next") or request.GET.get("next") or "")
    if form.is_valid():
        try:
            user = authenticate(
                request, hotcrp_email=form.cleaned_data["email"], password=form.cleaned_data["password"]
            )
        except edna.errors.TooBusy as error:
            form.add_error(None, words.WORDS.explain(error))
            return show(request, "login.html", {"form": form, "next": onward})
        if user is not None:
            login(request, user)
            WAYS_BACK.tell(request, user, password=form.cleaned_data["password"])
            safe = url_has_allowed_host_and_scheme(onward, {request.get_host()}, require_https=request.is_secure())
            return redirect(onward if safe else "hotcrp:papers")
        form.add_error(
            None,
            "No account has this e-mail address and password. If you removed your account, you can come back to it.",
        )
    return show(request, "login.html", {"form": form, "next": onward})


@require_POST
def log_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("hotcrp:home")


def register(request: HttpRequest) -> HttpResponse:
    """Ask for an account. Whoever has an address of an author becomes the author, so a link is mailed to the address first; and the
    answer is the same whether or not there is an account already."""
    if Viewer.of(request) is not None:
        return redirect("hotcrp:papers")
    form = RegisterForm(request.POST or None)
    if form.is_valid():
        email = form.cleaned_data["email"]
        taken = ContactInfo.objects.filter(email=email).exists()
        token = signing.dumps(email, salt=_REGISTRATION)
        if mails.send_registration(request, email, token=None if taken else token):
            return show(request, "register_mailed.html", {"email": email})
        form.add_error(None, "The mail could not be sent. Please try again later.")
    return show(request, "register.html", {"form": form})


@confidential
@sensitive_variables()
def register_confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Make the account and its key. The answer to the form is the one page that ever shows the recovery code."""
    try:
        email = signing.loads(token, salt=_REGISTRATION, max_age=_A_DAY)
    except signing.BadSignature as error:
        raise Http404 from error
    form = NewAccountForm(request.POST or None)
    if ContactInfo.objects.filter(email=email).exists():
        viewer = Viewer.of(request)
        if viewer is not None and viewer.user.email == email:
            # Sent twice, or reloaded: the code cannot be shown again, and there a new one is made.
            return redirect("hotcrp:recovery-code")
        messages.info(request, "There is an account with this e-mail address. Log in.")
        return redirect("hotcrp:login")
    if form.is_valid():
        data = form.cleaned_data
        known = {name: data[name] for name in ("first_name", "last_name", "affiliation")}
        try:
            with transaction.atomic():
                user = open_account(email, data["new_password"], **known)
                registration = edna.register_principal(
                    user, password=data["new_password"], identifier=identifier(email)
                )
        except edna.errors.EdnaError as error:
            form.add_error(None, words.WORDS.explain(error))
        except IntegrityError:
            form.add_error(None, "There is an account with this e-mail address already. Log in instead.")
        else:
            login(request, user, backend=BACKEND)
            return WAYS_BACK.show_code(request, registration.recovery_code, new_account=True)
    return show(request, "register_confirm.html", {"form": form, "email": email})


@confidential
@sensitive_variables()
def come_back(request: HttpRequest) -> HttpResponse:
    """Bring a removed account back. The receipt is looked up with the key if it was not given."""
    return WAYS_BACK.come_back(request)


@confidential
@sensitive_variables()
def recover(request: HttpRequest) -> HttpResponse:
    """Set a new password by recovery code, for an account that is here or away."""
    return WAYS_BACK.recover(request)
