"""Pages for everybody: home, register, return."""

from __future__ import annotations

from django.contrib.auth import login
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables

import edna

from ..forms import RegisterForm, ReturnForm
from ..friendly import address_is_taken, describe_outcome, explain
from ..keys import deletion, own_receipt
from ..models import Answer, User
from .guards import confidential

TAKEN = (
    "Your key is right, but your account cannot be put back yet. Somebody else has an account with this e-mail address now. "
    "Nothing of yours is lost. "
    "Choose another address to come back with, and enter your password once more."
)

ALREADY_HERE = "Your key is right, but no deleted account belongs to it: it is here already. Just log in."


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "websubmit/home.html")


@confidential
@sensitive_variables()
def register(request: HttpRequest) -> HttpResponse:
    """Make an account and its key. The answer to the form is the one page that ever shows the recovery code."""
    if request.user.is_authenticated:
        return redirect("websubmit:lectures")
    form = RegisterForm(request.POST or None)
    if form.is_valid():
        email, password = form.cleaned_data["email"], form.cleaned_data["new_password"]
        try:
            with transaction.atomic():
                user = User.objects.create_user(email, password)
                registration = edna.register_principal(user, password=password)
        except edna.errors.EdnaError as error:
            form.add_error(None, explain(error))
        except IntegrityError:
            form.add_error("email", "There is an account with this e-mail address already. Log in instead.")
        else:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
            return render(
                request,
                "websubmit/recovery_code.html",
                {"recovery_code": str(registration.recovery_code), "new_account": True},
            )
    return render(request, "websubmit/register.html", {"form": form})


@confidential
@sensitive_variables()
def come_back(request: HttpRequest) -> HttpResponse:
    """Bring a deleted account back. The receipt is looked up with the key if it was not given."""
    form = ReturnForm(request.POST or None)
    if form.is_valid():
        try:
            unlocked = request.edna.unlock(**form.credentials())
            given = form.cleaned_data["receipt"]
            receipt = own_receipt(given) if given else deletion(unlocked)
            if receipt:
                outcome = _reveal(receipt, unlocked, form.cleaned_data)
                if not address_is_taken(outcome.held):
                    context = {**describe_outcome(outcome), "new_email": _new_address(unlocked, form.cleaned_data)}
                    return render(request, "websubmit/returned.html", context)
                form = ReturnForm(request.POST, address_taken=True)
                form.add_error(None, TAKEN)
            else:
                form.add_error(None, ALREADY_HERE)
        except edna.errors.EdnaError as error:
            form.add_error(None, explain(error))
    return render(request, "websubmit/return.html", {"form": form})


@sensitive_variables()
def _reveal(receipt: edna.Receipt | str, unlocked: edna.Unlocked, data: dict[str, str]) -> edna.Outcome:
    """Reveal, under another e-mail address if one was given; the password then opens the key with that address."""
    new_email = data.get("new_email")
    if not new_email:
        return edna.reveal(receipt, unlocked)
    with transaction.atomic():
        was_here = User.objects.filter(email=new_email).exists()
        outcome = edna.reveal(receipt, unlocked, overrides={"websubmit.user.email": new_email})
        # Only if the account has come back under it: its own address may have been free after all.
        if not was_here and User.objects.filter(email=new_email).exists():
            edna.change_password(unlocked, identifier=new_email, password=data["password"])
    return outcome


def _new_address(unlocked: edna.Unlocked, data: dict[str, str]) -> str | None:
    """The other address that was asked for, if the account has come back under it."""
    user = edna.principal(unlocked) if data.get("new_email") else None
    return user.email if isinstance(user, User) and user.email == data["new_email"] else None


def api_answers(request: HttpRequest) -> HttpResponse:
    """A student's answers for scripts: ``Authorization: Bearer <API key>``."""
    scheme, _, apikey = request.headers.get("Authorization", "").partition(" ")
    well_formed = scheme == "Bearer" and apikey.isalnum()
    user = User.objects.filter(apikey=apikey, is_active=True).first() if well_formed else None
    if user is None:
        return JsonResponse({"error": "Send your API key: Authorization: Bearer <key>."}, status=401)
    rows = Answer.objects.filter(author=user).order_by("question__lecture", "question__number")
    fields = ("question__lecture__label", "question__number", "text", "submitted_at")
    answers = [
        dict(zip(("lecture", "question", "text", "submitted_at"), row, strict=True))
        for row in rows.values_list(*fields)
    ]
    return JsonResponse({"answers": answers})
