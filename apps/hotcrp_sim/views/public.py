"""Pages for everybody: home, registration."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, logout
from django.core import signing
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.functional import cached_property
from django.views.decorators.http import require_POST

from apps.showcase.accounts import GivesKey

from .. import mails
from ..accounts import open_account
from ..forms import NewAccountForm, RegisterForm
from ..models import ContactInfo, PaperReview
from ..names import roles_of
from ..policy import Conference, Viewer
from ..privacy import PAGES
from .guards import BACKEND, show

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


class RegisterConfirm(GivesKey):
    """For whoever has got the link."""

    pages = PAGES
    start = "hotcrp:papers"
    template_name = "hotcrp_sim/register_confirm.html"
    title = "Your new account"
    button = "Create my account"
    form_class = NewAccountForm

    @cached_property
    def email(self) -> str:
        try:
            found: str = signing.loads(self.kwargs["token"], salt=_REGISTRATION, max_age=_A_DAY)
        except signing.BadSignature as error:
            raise Http404 from error
        return found

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if not ContactInfo.objects.filter(email=self.email).exists():
            return super().dispatch(request, *args, **kwargs)
        viewer = Viewer.of(request)
        if viewer is not None and viewer.user.email == self.email:
            # Sent twice, or reloaded: the code cannot be shown again, and there a new one is made.
            return redirect(self.pages.reverse("recovery-code"))
        messages.info(request, "There is an account with this e-mail address. Log in.")
        return redirect("hotcrp:login")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{"email": self.email, **kwargs})

    def submitted(self, form: Any) -> HttpResponse:
        data = form.cleaned_data
        known = {name: data[name] for name in ("first_name", "last_name", "affiliation")}
        password = data["new_password"]
        try:
            with transaction.atomic():
                user = open_account(self.email, password, **known)
                code = self.give_key(user, password=password)
        except IntegrityError:
            form.add_error(None, "There is an account with this e-mail address already. Log in instead.")
            return self.form_invalid(form)
        login(self.request, user, backend=BACKEND)
        return self.welcome(code)
