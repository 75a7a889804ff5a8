"""Coming back without an account: by what opened the key, with or without a receipt.

Keeps: who has no account here and who has mistyped get the same answer; nobody is logged in by their key alone, because a site may ask for
more than that: the answer leads to the login.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Field
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from edna import api
from edna.errors import ReceiptMalformed
from edna.pages import words
from edna.pages.base import KeyPage
from edna.pages.forms import KeyForm
from edna.pages.keys.own import identifier_of

_TAKEN = "taken-"


class ReturnForm(KeyForm):
    """The key, perhaps a receipt, and other values for columns of the account that somebody else has by now."""

    receipt = forms.CharField(
        required=False,
        max_length=10_000,
        label=gettext_lazy("Receipt"),
        help_text=gettext_lazy("If you have one. Without it we look for what is yours."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    other_ways = ("recovery_code", "secret_key")

    def __init__(self, *args: Any, taken: Iterable[str] = (), **options: Any) -> None:
        # Whoever is logged in here may come back to another account.
        super().__init__(*args, **{**options, "user": None})
        sent = [name.removeprefix(_TAKEN) for name in self.data if name.startswith(_TAKEN)]
        for name in dict.fromkeys([*sent, *taken]):
            column = _unique_column(name)
            if column is not None:
                self.fields[_TAKEN + name] = forms.CharField(
                    max_length=column.max_length or 255,
                    label=gettext("Another value for: %(name)s") % {"name": capfirst(str(column.verbose_name))},
                    help_text=gettext("Somebody else has yours by now."),
                    required=name in sent,
                )
        self.order_fields([name for name in self.fields if name.startswith(_TAKEN)])

    def clean_receipt(self) -> api.Receipt | None:
        text = self.cleaned_data["receipt"].strip()
        try:
            return api.Receipt.parse(text) if text else None
        except ReceiptMalformed as error:
            raise ValidationError(words.explain(error)) from None

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        for name in [name for name in self.fields if name.startswith(_TAKEN) and data.get(name)]:
            column = _unique_column(name.removeprefix(_TAKEN))
            assert column is not None
            try:
                data[name] = column.clean(data[name], None)
            except ValidationError as error:
                self.add_error(name, error)
        return data

    def overrides(self) -> dict[str, Any]:
        """As `edna.reveal` takes them."""
        model = get_user_model()._meta.label_lower
        return {
            f"{model}.{name.removeprefix(_TAKEN)}": value
            for name, value in self.cleaned_data.items()
            if name.startswith(_TAKEN) and value
        }

    def credentials(self) -> dict[str, Any]:
        receipt = self.cleaned_data["receipt"]
        return {**super().credentials(), "receipts": [receipt] if receipt else []}


class Return(KeyPage):
    """An account that was hidden comes back, with all that went with it."""

    template_name = "edna/return.html"
    title: ClassVar[str | Promise] = gettext_lazy("Come back")
    button = gettext_lazy("Bring my account back")
    form_class = ReturnForm
    login_required = False

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponseBase:
        if api.principal(unlocked) is not None:
            return self.show("edna/is_here.html", title=gettext_lazy("Your account is here"))
        outcome = self.bring_back(form, unlocked)
        account: Any = api.principal(unlocked)
        if account is None:
            return self.not_back(form, outcome)
        if form.overrides() and form.cleaned_data.get("password"):
            # A password goes with a name, which may be another one now.
            api.change_password(unlocked, identifier=identifier_of(account), password=form.cleaned_data["password"])
        return self.returned(account, outcome, by_password=bool(form.cleaned_data.get("password")))

    def bring_back(self, form: Any, unlocked: api.Unlocked) -> api.Outcome | None:
        """What took the account away, by its receipt or found by the key, the newest first; None if nothing is there that could."""
        if form.cleaned_data["receipt"]:
            return api.reveal(form.cleaned_data["receipt"], unlocked, overrides=form.overrides())
        model, outcome = get_user_model()._meta.label_lower, None
        for entry in api.history(unlocked):
            if entry.counts.get(model):
                outcome = api.reveal(entry.receipt, unlocked, overrides=form.overrides())
                if api.principal(unlocked) is not None:
                    break
        for damage in unlocked.damaged if outcome is None else ():
            raise damage
        return outcome

    def not_back(self, form: Any, outcome: api.Outcome | None) -> HttpResponseBase:
        """Ask for other values, where that is what stands in the way; otherwise say what does."""
        if outcome is None:
            form.add_error(
                None,
                gettext("There is nothing here that could bring an account back. If you have a receipt, give it, too."),
            )
            return self.form_invalid(form)
        model = get_user_model()._meta.label_lower
        taken = [
            row.field
            for row in outcome.held
            if row.model == model and row.reason is api.Reason.UNIQUE_TAKEN and row.field
        ]
        if taken:
            form = self.get_form_class()(**{**self.get_form_kwargs(), "taken": taken})
            form.full_clean()
            form.add_error(
                None,
                gettext(
                    "Somebody else has something of your account by now. Nothing is lost: choose another, and give your key again."
                ),
            )
        else:
            for line in words.held(outcome.held):
                form.add_error(None, line)
        return self.form_invalid(form)

    def returned(self, account: Any, outcome: api.Outcome | None, *, by_password: bool) -> HttpResponseBase:
        """Say what is back. A site that logs people in by their key does it here."""
        return self.show(
            "edna/returned.html",
            title=gettext_lazy("Welcome back"),
            restored=words.counts(outcome.restored) if outcome else [],
            held=words.held(outcome.held) if outcome else [],
            name=identifier_of(account),
            by_password=by_password,
        )


def _unique_column(name: str) -> Field[Any, Any] | None:
    """A column of the account that nobody else may have the same of, and that people type."""
    for column in get_user_model()._meta.concrete_fields:
        if column.name == name and column.unique and not column.primary_key and not column.is_relation:
            return column
    return None
