"""What the pages about accounts have in common, whichever application they are of: registering, and a new password."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

import edna
from edna.pages.base import FormPage
from edna.pages.keys import KeepsKey
from edna.pages.keys.base import ShowsCode


class GivesKey(ShowsCode, FormPage):
    """Makes an account and its key: the answer to the form is the one page that ever shows the recovery code. Where keys stay in
    browsers the site makes none, and leads to the page that does."""

    login_required = False
    #: Where who has made an account begins.
    start: ClassVar[str]

    def give_key(self, user: Any, *, password: str) -> edna.RecoveryCode | None:
        """In the transaction that makes the account."""
        if settings.EDNA.get("CUSTODY") == "browser":
            return None
        identifier = self.pages.identifier_of(user)
        return edna.register_principal(user, password=password, identifier=identifier).recovery_code

    def welcome(self, code: edna.RecoveryCode | None) -> HttpResponse:
        if code is not None:
            return self.show_code(code)
        return redirect(f"{self.pages.reverse('make-key')}?{urlencode({'next': reverse(self.start)})}")


class Register(GivesKey):
    """For everybody who is not logged in."""

    title = "Register"
    button = "Create my account"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated:
            # Sent twice, or reloaded: the code cannot be shown again, and there a new one is made.
            return redirect(self.pages.reverse("recovery-code") if request.method == "POST" else self.start)
        return super().dispatch(request, *args, **kwargs)


class ChangePassword(KeepsKey, PasswordChangeView):
    """A new password for the login and for the key, or for neither; for the login alone, where keys stay in browsers."""

    template_name = "showcase/change_password.html"

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, "Your password is changed. Your recovery code stays the same.")
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        frame = {"base_template_name": self.pages.base_template_name, **self.pages.context(self.request)}
        forgotten = self.pages.reverse("forgotten")
        own = self.pages.reverse("key-password") if settings.EDNA.get("CUSTODY") == "browser" else ""
        return super().get_context_data(
            **{**frame, "title": "Change the password", "forgotten": forgotten, "own_password": own, **kwargs}
        )
