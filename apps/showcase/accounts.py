"""What the pages about accounts have in common, whichever application they are of: registering, and a new password."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from edna.pages.base import FormPage
from edna.pages.keys import KeepsKey
from edna.pages.keys.base import ShowsCode


class Register(ShowsCode, FormPage):
    """Make an account and its key. The answer to the form is the one page that ever shows the recovery code."""

    login_required = False
    title = "Register"
    button = "Create my account"
    #: Where who is logged in begins.
    start: ClassVar[str]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.user.is_authenticated:
            # Sent twice, or reloaded: the code cannot be shown again, and there a new one is made.
            return redirect(self.pages.reverse("recovery-code") if request.method == "POST" else self.start)
        return super().dispatch(request, *args, **kwargs)


class ChangePassword(KeepsKey, PasswordChangeView):
    """A new password for the login and for the key, or for neither."""

    template_name = "showcase/change_password.html"

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        messages.success(self.request, "Your password is changed. Your recovery code stays the same.")
        return response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        frame = {"base_template_name": self.pages.base_template_name, **self.pages.context(self.request)}
        forgotten = self.pages.reverse("forgotten")
        return super().get_context_data(**{**frame, "title": "Change the password", "forgotten": forgotten, **kwargs})
