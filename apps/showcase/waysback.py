"""The pages on which people come back, set a new password, make a key and get a recovery code; the same in all applications.

Each application makes one `WaysBack`, and says in it who its accounts are and how they come back.

Keeps: a recovery code is in the answer to the form that made it, and in nothing that the server writes. The session remembers *that* a
code was shown, by a random word. The script of the page keeps the code under that word in the browser's tab until its owner has it safe,
so that a reload does not lose it (``static/showcase/waysback.js``).
"""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

import edna

from .forms import BackForm, ChangePasswordForm, PasswordForm, RecoverForm
from .giving_up import GivingUp
from .passwords import set_password

#: Where the session has the word under which the browser keeps a code that nobody has put away yet.
SHOWN = "recovery_code_shown"
#: No script on a page with a code but the site's own, and no way for the code to leave by an image, a frame or a form.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)

#: What somebody is told whose login and key have different passwords, from before.
STILL_TWO = (
    "Your key was not opened by your old password, so the new one does not open it either. With your recovery code you can set one "
    "password for both: log out, and choose “Forgot your password?” on the log-in page."
)


class NeedsField(Exception):
    """To go on, somebody has to fill in a field that only few need."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class WaysBack(GivingUp):
    """The ways back into the accounts of one application."""

    #: What its name is.
    called: ClassVar[str]
    #: What `login` must be told about somebody whom no backend has authenticated.
    backend: ClassVar[str]
    return_form: ClassVar[type[BackForm]]
    recover_form: ClassVar[type[RecoverForm]]
    #: What to say when somebody else has the name by now, and when nobody is away.
    taken: ClassVar[str]
    already_here: ClassVar[str]

    # What an application says

    def departure(self, unlocked: edna.Unlocked, given: str) -> edna.Receipt | None:
        """The receipt of what took the account of this key away: the given one, or the one that the key finds. None if it is here.

        Raises:
            ReceiptMalformed, ReceiptUnknown, ValidationError: what was given brings no account back.
            WrongCredentials: the key is of another application.
        """
        if not given:
            return self.keys.departure(unlocked)
        receipt = self.keys.own_receipt(given)
        if receipt.disguise not in self.keys.away:
            raise edna.errors.ReceiptUnknown("This receipt brings no account back.")
        return receipt

    @sensitive_variables()
    def bring_back(
        self, receipt: edna.Receipt, unlocked: edna.Unlocked, *, name: str, password: str, form: Any
    ) -> edna.Outcome:
        """Reveal, under another name if one is given; with a password, set it for the login and the key."""
        return self.keys.bring_back(receipt, unlocked, name=name, password=password)

    @sensitive_variables()
    def set_password(self, account: Any, unlocked: edna.Unlocked, *, password: str, form: Any) -> None:
        set_password(account, unlocked, identifier=self.identifier(account), password=password)

    def name_is_taken(self, outcome: edna.Outcome) -> bool:
        raise NotImplementedError

    def why_not_logged_in(self, account: Any) -> str:
        """Why this account is not logged in by its key alone; empty if it is."""
        raise NotImplementedError

    # Coming back

    @sensitive_variables()
    def come_back(self, request: HttpRequest) -> HttpResponse:
        """The view: bring an account back by password or by recovery code."""
        return self._opened(request, self.return_form, "return.html")

    @sensitive_variables()
    def recover(self, request: HttpRequest) -> HttpResponse:
        """The view: a new password by recovery code alone, whether the account is here or away."""
        return self._opened(request, self.recover_form, "recover.html")

    @sensitive_variables()
    def _opened(self, request: HttpRequest, form_class: type[Any], page: str) -> HttpResponse:
        form = form_class(request.POST or None)
        if form.is_valid():
            try:
                unlocked = request.edna.unlock(**form.credentials())
                receipt = self.departure(unlocked, form.receipt_text())
                if receipt is not None:
                    outcome = self.bring_back(receipt, unlocked, name=form.name(), password=form.password(), form=form)
                    if not self.name_is_taken(outcome):
                        return self._returned(request, unlocked, outcome, form)
                    raise NeedsField("", self.taken)
                account = edna.principal(unlocked)
                if isinstance(form, RecoverForm):
                    self.set_password(account, unlocked, password=form.password(), form=form)
                    return self._password_set(request, account)
                if request.user == account:
                    messages.info(request, "Your account is here, and you are logged in.")
                    return redirect(self.start)
                form.add_error(None, self.already_here)
            except NeedsField as needed:
                form = form_class(request.POST, asked=[needed.field] if needed.field else form.fields_for_a_name())
                form.add_error(None, str(needed))
            except edna.errors.EdnaError as error:
                form.add_error(None, self.words.explain(error))
            except ValidationError as error:
                named = set(getattr(error, "error_dict", {}))
                form.add_error(None, error if named and named <= set(form.fields) else error.messages)
        return self.page(request, page, {"form": form})

    @sensitive_variables()
    def _returned(
        self, request: HttpRequest, unlocked: edna.Unlocked, outcome: edna.Outcome, form: Any
    ) -> HttpResponse:
        name, account = form.name(), edna.principal(unlocked)
        # Everything that the page asks for: Django's templates log all that they have when they miss something.
        context: dict[str, Any] = {
            **self.about(outcome, unlocked),
            "password_form": None,
            "logged_in": False,
            "why_not_logged_in": "",
            "start": reverse(self.start),
            "new_name": name if account is not None and account.get_username() == name else "",
            "new_password": form.by_code and bool(form.password()),
        }
        if account is not None:
            context["why_not_logged_in"] = self._log_in(request, account)
            context["logged_in"] = not context["why_not_logged_in"]
            if form.by_code and not form.password():
                context["password_form"] = self._password_form(form.cleaned_data["recovery_code"])
        return self.page(request, "returned.html", context)

    @sensitive_variables()
    def _password_form(self, code: str) -> RecoverForm:
        """Whoever came by code has forgotten the password, perhaps. The code goes along in the page, as it came."""
        form = self.recover_form(initial={"recovery_code": code}, auto_id="id_recover_%s")
        form.fields["recovery_code"].widget = form.fields["recovery_code"].hidden_widget()
        return form

    def _password_set(self, request: HttpRequest, account: Any) -> HttpResponse:
        why_not = self._log_in(request, account)
        if why_not:
            messages.success(request, "Your new password is set, for logging in and for your key.")
            messages.warning(request, why_not)
            return redirect(f"{self.namespace}:login")
        messages.success(request, "Your new password is set, for logging in and for your key. You are logged in.")
        return redirect(self.start)

    def _log_in(self, request: HttpRequest, account: Any) -> str:
        """Log in whoever has proved the key, where nothing speaks against it; otherwise say what does."""
        if request.user.is_authenticated and request.user != account:
            return "You are not logged in to it, because another account is logged in in this browser. Log out there first."
        why_not = self.why_not_logged_in(account)
        if not why_not:
            login(request, account, backend=self.backend)
        return why_not

    # The password and the key of who is logged in

    @sensitive_variables()
    def change_password(self, request: HttpRequest, account: Any) -> HttpResponse:
        """The view: a new password for the login and for the key, or for neither."""
        form = ChangePasswordForm(account, request.POST or None)
        if form.is_valid():
            old, new = form.cleaned_data["password"], form.cleaned_data["new_password"]
            try:
                with transaction.atomic():
                    account.set_password(new)
                    account.save(update_fields=["password"])
                    opens_key = self._change_key_password(request, account, old=old, new=new)
            except edna.errors.EdnaError as error:
                form.add_error(None, self.words.explain(error))
            else:
                update_session_auth_hash(request, account)
                messages.success(request, "Your password is changed. Your recovery code stays the same.")
                if not opens_key:
                    messages.warning(request, STILL_TWO)
                return redirect(f"{self.namespace}:account")
        return self.page(request, "change_password.html", {"form": form})

    @sensitive_variables()
    def _change_key_password(self, request: HttpRequest, account: Any, *, old: str, new: str) -> bool:
        """Let the new password open the key, if the old one did: a key made from the command line has no password at all."""
        identifier = self.identifier(account)
        try:
            unlocked = request.edna.unlock(identifier=identifier, password=old)
        except edna.errors.WrongCredentials:
            return False
        edna.change_password(unlocked, identifier=identifier, password=new)
        return True

    @sensitive_variables()
    def make_key(self, request: HttpRequest, account: Any) -> HttpResponse:
        """The view: a key for an account that was made without one (from the command line, say)."""
        form = PasswordForm(account, request.POST or None)
        if form.is_valid():
            try:
                registration = edna.register_principal(
                    account, password=form.cleaned_data["password"], identifier=self.identifier(account)
                )
                return self.show_code(request, registration.recovery_code)
            except edna.errors.PrincipalAlreadyRegistered as error:
                if edna.is_registered(account):  # sent twice, or reloaded
                    return redirect(f"{self.namespace}:recovery-code")
                form.add_error(None, self.words.explain(error))
            except edna.errors.EdnaError as error:
                form.add_error(None, self.words.explain(error))
        return self.page(request, "make_key.html", {"form": form})

    # The recovery code

    @sensitive_variables()
    def show_code(self, request: HttpRequest, code: edna.RecoveryCode | None, **context: Any) -> HttpResponse:
        """The page of a code that was just made: the only one that ever has it."""
        request.edna.mark()
        request.session[SHOWN] = secrets.token_urlsafe(16)
        return self._code_page(request, {"recovery_code": str(code), **context})

    @sensitive_variables()
    def recovery_code(self, request: HttpRequest, account: Any) -> HttpResponse:
        """The view, for an account that has a key: a new code, and the page on which the last one survives a reload until it is kept."""
        if "kept" in request.POST:
            request.session.pop(SHOWN, None)
            messages.success(request, "Good. Keep your recovery code where you find it in years.")
            return redirect(self.start)
        form = PasswordForm(account, request.POST or None)
        if form.is_valid():
            try:
                unlocked = request.edna.unlock(
                    identifier=self.identifier(account), password=form.cleaned_data["password"]
                )
                return self.show_code(request, edna.new_recovery_code(unlocked), replaced=True)
            except edna.errors.WrongCredentials:
                form.add_error(
                    None,
                    "This is the password of your account, but it does not open your key. If you have your recovery code, "
                    "set one password for both with it first.",
                )
            except edna.errors.EdnaError as error:
                form.add_error(None, self.words.explain(error))
        return self._code_page(request, {"form": form})

    def _code_page(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        # Complete, for the same reason: what is missing would log the code.
        context = {
            "recovery_code": "",
            "new_account": False,
            "replaced": False,
            "form": None,
            **context,
            "shown": request.session.get(SHOWN, ""),
            "whose": f"{self.called} ({request.user.get_username()})",
            "file_name": f"{self.namespace}-recovery-code.txt",
            "code_address": reverse(f"{self.namespace}:recovery-code"),
            "return_address": request.build_absolute_uri(reverse(f"{self.namespace}:recover")),
        }
        response = self.page(request, "recovery_code.html", context)
        response.headers["Content-Security-Policy"] = POLICY
        return response
