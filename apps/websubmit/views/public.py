"""Pages for everybody: home, register; and the answers of whoever has an API key."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

import edna
from apps.showcase import accounts

from ..forms import RegisterForm
from ..models import Answer, User
from ..privacy import PAGES


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "websubmit/home.html")


class Register(accounts.Register):
    pages = PAGES
    start = "websubmit:lectures"
    template_name = "websubmit/register.html"
    form_class = RegisterForm

    def submitted(self, form: Any) -> HttpResponse:
        email, password = form.cleaned_data["email"], form.cleaned_data["new_password"]
        try:
            with transaction.atomic():
                user = User.objects.create_user(email, password)
                code = self.give_key(user, password=password)
        except IntegrityError:
            form.add_error("email", "There is an account with this e-mail address already. Log in instead.")
            return self.form_invalid(form)
        login(self.request, user, backend="django.contrib.auth.backends.ModelBackend")
        return self.welcome(code)


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
