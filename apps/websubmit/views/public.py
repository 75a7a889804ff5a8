"""Pages for everybody: home, register, return."""

from __future__ import annotations

from django.contrib.auth import login
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_variables

import edna

from ..forms import RegisterForm
from ..friendly import explain
from ..models import Answer, User
from .guards import confidential
from .waysback import BACKEND, WAYS_BACK


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "websubmit/home.html")


@confidential
@sensitive_variables()
def register(request: HttpRequest) -> HttpResponse:
    """Make an account and its key. The answer to the form is the one page that ever shows the recovery code."""
    if request.user.is_authenticated:
        # Sent twice, or reloaded: the code cannot be shown again, and there a new one is made.
        return redirect("websubmit:recovery-code" if request.method == "POST" else "websubmit:lectures")
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
            login(request, user, backend=BACKEND)
            return WAYS_BACK.show_code(request, registration.recovery_code, new_account=True)
    return render(request, "websubmit/register.html", {"form": form})


@confidential
@sensitive_variables()
def come_back(request: HttpRequest) -> HttpResponse:
    """Bring a deleted account back. The receipt is looked up with the key if it was not given."""
    return WAYS_BACK.come_back(request)


@confidential
@sensitive_variables()
def recover(request: HttpRequest) -> HttpResponse:
    """Set a new password by recovery code, for an account that is here or away."""
    return WAYS_BACK.recover(request)


def api_answers(request: HttpRequest) -> HttpResponse:
    """A student's answers for scripts: ``Authorization: Bearer <API key>``."""
    scheme, _, apikey = request.headers.get("Authorization", "").partition(" ")
    well_formed = scheme == "Bearer" and apikey.isalnum()
    user = User.objects.filter(apikey=apikey, is_active=True).first() if well_formed else None
    # Asked of edna, not of the row: somebody of the staff may have made a placeholder active.
    if user is None or edna.is_pseudoprincipal(user):
        return JsonResponse({"error": "Send your API key: Authorization: Bearer <key>."}, status=401)
    rows = Answer.objects.filter(author=user).order_by("question__lecture", "question__number")
    fields = ("question__lecture__label", "question__number", "text", "submitted_at")
    answers = [
        dict(zip(("lecture", "question", "text", "submitted_at"), row, strict=True))
        for row in rows.values_list(*fields)
    ]
    return JsonResponse({"answers": answers})
