"""The pages on which a key is made, its recovery code is kept and renewed, and the key is replaced.

Keeps: a code is in the answer to the form that made it, and goes along in the forms of that page; nothing that the server writes has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from edna import api, conf
from edna.errors import EdnaError, PrincipalAlreadyRegistered, RecoveryCodeMalformed, WrongCredentials
from edna.pages import words
from edna.pages.base import FormPage, KeyPage
from edna.pages.keys.base import ShowsCode, require_own, set_password, together
from edna.pages.keys.forms import LastCharactersForm, PasswordForm, ReplaceKeyForm
from edna.visitors import has_password, is_fresh_login, note_login


class MakeKey(ShowsCode, FormPage):
    """A key for an account that has none yet."""

    template_name = "edna/make_key.html"
    is_asked_anew = True
    title: ClassVar[str | Promise] = gettext_lazy("Make your key")
    button = gettext_lazy("Make my key")
    form_class = PasswordForm
    hands = "make"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        # A code that was made cannot be shown again, and there a new one is made.
        return (
            redirect(self.next_address() or self.address_of("recovery-code"))
            if has_key(request.user)
            else super().get(request, *args, **kwargs)
        )

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> Any:
        # Sent twice, or reloaded.
        return (
            redirect(self.address_of("recovery-code"))
            if has_key(request.user)
            else super().post(request, *args, **kwargs)
        )

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "user": self.request.user}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**{"asks_who": self.asks_who(), **kwargs})
        return {**context, "button": gettext_lazy("Continue")} if context["asks_who"] else context

    def asks_who(self) -> bool:
        """Whoever has only copied a session makes no key: where no password of the log-in comes along, the log-in is to be fresh."""
        account: Any = self.request.user
        is_proved = conf.custody() == "server" and has_password(account)
        return not is_proved and not is_fresh_login(self.request)

    def submitted(self, form: Any) -> HttpResponse:
        account: Any = self.request.user
        if self.asks_who():
            if "password" in form.fields:
                note_login(self.request.session)
            return redirect(self.request.get_full_path())
        if conf.custody() == "browser":
            # The script that makes it did not run; here no key is made.
            return self.form_invalid(form)
        try:
            made = api.register_principal(
                account, password=form.cleaned_data.get("password"), identifier=self.pages.identifier_of(account)
            )
        except PrincipalAlreadyRegistered:
            return redirect(self.address_of("recovery-code"))
        return self.show_code(made.recovery_code)


class RecoveryCode(ShowsCode, KeyPage):
    """A new recovery code; and what is done with one that was just made, which each form of its page brings along."""

    template_name = "edna/new_code.html"
    is_asked_anew = True
    title: ClassVar[str | Promise] = gettext_lazy("A new recovery code")
    button = gettext_lazy("Make a new code")
    hands = "code"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        first = {"title": gettext_lazy("Your recovery code"), "button": gettext_lazy("Make a recovery code")}
        return super().get_context_data(**{**(first if self.lacks_code() else {}), **kwargs})

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> Any:
        steps: dict[str, Callable[[api.RecoveryCode], HttpResponse]] = {
            "show": self.show_code,
            "download": self.download,
            "check": self.check,
            "confirm": self.confirm,
        }
        step = steps.get(request.POST.get("step", ""))
        if step is None:
            return super().post(request, *args, **kwargs)
        try:
            code = api.RecoveryCode.parse(request.POST.get("code", ""))
        except RecoveryCodeMalformed:
            return redirect(self.address_of("recovery-code"))
        return step(code)

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        is_first = self.lacks_code()
        return self.show_code(api.new_recovery_code(unlocked), is_replaced=not is_first)

    def download(self, code: api.RecoveryCode) -> HttpResponse:
        text = gettext("Recovery code of %(name)s for %(site)s") % {
            "name": self.pages.login_name_of(self.request.user),
            "site": self.request.get_host(),
        }
        return HttpResponse(
            f"{text}\n\n{code}\n",
            content_type="text/plain; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{self.code_file_name}"'},
        )

    def check(self, code: api.RecoveryCode, form: LastCharactersForm | None = None) -> HttpResponse:
        """Ask for a part of it, without showing it."""
        return self.show(
            "edna/check_code.html",
            title=gettext_lazy("Is your recovery code safe?"),
            code=code,
            form=form or LastCharactersForm(code),
            button=gettext_lazy("Confirm"),
        )

    def confirm(self, code: api.RecoveryCode) -> HttpResponse:
        form = LastCharactersForm(code, self.request.POST)
        if not form.is_valid():
            return self.check(code, form)
        try:
            # Another tab may have made a newer one.
            require_own(self.request.edna.unlock(recovery_code=code), self.request.user)  # type: ignore[attr-defined]  # of EdnaMiddleware
        except WrongCredentials:
            form.add_error(
                None, gettext("This code opens nothing any more: a newer one was made since. Make another one.")
            )
        except EdnaError as error:
            form.add_error(None, words.explain(error))
        else:
            return self.show("edna/code_kept.html", title=gettext_lazy("Your recovery code is kept"))
        return self.check(code, form)


class ReplaceKey(ShowsCode, KeyPage):
    """A new key, password and code for whoever fears that somebody else has theirs. All that the old one opened is locked anew. Where a
    browser can keep the key, it makes the new one: also for whoever had theirs made by the site, and has left before browsers kept keys.
    """

    template_name = "edna/replace_key.html"
    is_asked_anew = True
    title: ClassVar[str | Promise] = gettext_lazy("A new key")
    button = gettext_lazy("Replace my key")
    form_class = ReplaceKeyForm
    hands = "renew"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # The site makes one for an account alone, and answers a form; where a browser makes it, nothing is sent to this address.
        self.login_required = conf.custody() == "server" or request.method == "POST"  # type: ignore[misc]
        return super().dispatch(request, *args, **kwargs)

    def takes_brought(self) -> bool:
        # A script keeps the new password to itself, so that the site has none to make a key with.
        return conf.custody() == "server"

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        account: Any = self.request.user
        password = form.cleaned_data.get("new_password")
        with together(account):
            if password:
                set_password(account, password)
            made = api.rotate(
                unlocked,
                password=password,
                identifier=self.pages.identifier_of(account),
                receipts_complete=bool(form.cleaned_data.get("receipts")),
            )
        update_session_auth_hash(self.request, account)
        is_set = bool(password and has_password(account))
        return self.show_code(made.recovery_code, is_replaced=True, password_is_set=is_set)


def has_key(user: Any) -> bool:
    return api.is_registered(user)
