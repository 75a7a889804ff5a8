"""The key follows the password: when it is changed, and by recovery code when it was forgotten.

Keeps: both are changed, or neither. Does not know: how a site proves by mail who somebody is; Django's views do that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.debug import sensitive_variables

from edna import api, conf
from edna.errors import EdnaError, NotYours, WrongCredentials
from edna.pages import words
from edna.pages.base import FormPage
from edna.pages.keys.base import require_own, set_password, together
from edna.pages.keys.forms import ForgottenForm
from edna.pages.people import People
from edna.visitors import is_principal

if TYPE_CHECKING:
    from django.contrib.auth.views import PasswordChangeView as _ChangeView
    from django.contrib.auth.views import PasswordResetConfirmView as _ResetView
else:
    _ChangeView = _ResetView = object


#: In the address of `Forgotten`: the password is new, and does not open the key yet.
_IS_SET = "is-set"


def _after_new_password(pages: People) -> str:
    return f"{pages.reverse('forgotten')}?{_IS_SET}"


class KeepsKey(_ChangeView):
    """Mix it into the site's ``PasswordChangeView``, in front: the new password opens the key, as the old one did.

    Whose old password does not open their key is led to the page where the recovery code does.
    """

    pages = People()

    @sensitive_variables()
    def form_valid(self, form: Any) -> HttpResponse:
        account: Any = self.request.user
        # A key that stays in the browser has a password of its own.
        if conf.custody() == "browser" or not is_principal(account) or not api.is_registered(account):
            return super().form_valid(form)
        old, new = form.cleaned_data["old_password"], form.cleaned_data["new_password1"]
        try:
            with together(account):
                follows = self._change(account, old=old, new=new)
                response = super().form_valid(form)
        except EdnaError as error:
            form.add_error(None, words.explain(error))
            return self.form_invalid(form)
        return response if follows else redirect(_after_new_password(self.pages))

    @sensitive_variables()
    def _change(self, account: Any, *, old: str, new: str) -> bool:
        identifier = self.pages.identifier_of(account)
        try:
            with api.unlock(identifier=identifier, password=old, principal=account) as unlocked:
                # The same name and password may open what somebody has left who had the name before.
                if api.principal(unlocked) != account:
                    return False
                api.change_password(unlocked, identifier=identifier, password=new)
        except WrongCredentials:
            return False
        return True


class LeadsToKey(_ResetView):
    """Mix it into the site's ``PasswordResetConfirmView``, in front: who has a key is led to the page where the recovery code lets the new
    password open it."""

    pages = People()

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        if conf.custody() != "browser" and is_principal(self.user) and api.is_registered(self.user):
            return redirect(_after_new_password(self.pages))
        return response


class Forgotten(FormPage):
    """A password for the login and for the key, by recovery code: for whoever has forgotten theirs, or has set a new one by mail."""

    template_name = "edna/forgotten.html"
    is_asked_anew = True
    title: ClassVar[str | Promise] = gettext_lazy("Forgotten your password?")
    button = gettext_lazy("Set the password")
    form_class = ForgottenForm
    login_required = False

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if conf.custody() == "browser":
            # Nothing that opens a key is for the server; and the log-in's password does not open it.
            return redirect(self.address_of("key-password"))
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "user": self.request.user}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{"is_set": _IS_SET in self.request.GET, **kwargs})

    def submitted(self, form: Any) -> HttpResponse:
        unlocked = self.request.edna.unlock(**form.credentials())  # type: ignore[attr-defined]  # of EdnaMiddleware
        account: Any = api.principal(unlocked)
        if account is None:
            form.add_error(None, gettext("Your account is not here at the moment. Bring it back first."))
            return self.form_invalid(form)
        require_own(unlocked, self.request.user)
        if not issubclass(type(account), self.pages.model):
            raise NotYours("This key belongs to somebody who does not log in as the users of this site do.")
        password = form.cleaned_data["new_password"]
        try:
            with together(account):
                set_password(account, password)
                api.change_password(unlocked, identifier=self.pages.identifier_of(account), password=password)
        except ValidationError as error:
            form.add_error(None, error)
            return self.form_invalid(form)
        if self.request.user.is_authenticated:
            update_session_auth_hash(self.request, account)
        return self.show("edna/password_set.html", title=gettext_lazy("Your password is set"))
