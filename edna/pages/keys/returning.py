"""Coming back without an account: by what opened the key, with or without a receipt.

Keeps: who has no account here and who has mistyped get the same answer; nobody is logged in by their key alone, because a site may ask for
more than that: the answer leads to the login.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from edna import api
from edna.errors import EdnaError
from edna.pages import words
from edna.pages.base import KeyPage
from edna.pages.forms import KeyForm
from edna.pages.returning import BringBack, BringBackForm, names_taken, own_receipt


class ReturnForm(KeyForm):
    """The key, and a receipt if there is one."""

    receipt = forms.CharField(
        required=False,
        max_length=1000,
        label=gettext_lazy("Receipt"),
        help_text=gettext_lazy("If you have one. Without it we look for what is yours."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        # Whoever is logged in here may come back to another account.
        super().__init__(*args, **{**options, "user": None})

    def clean_receipt(self) -> api.Receipt | None:
        text = self.cleaned_data["receipt"].strip()
        try:
            return own_receipt(text, self.pages) if text else None
        except EdnaError as error:
            raise ValidationError(words.explain(error)) from None

    def overrides(self) -> dict[str, Any]:
        """None: the page with the outcome asks for them."""
        return {}


class Return(BringBack):
    """An account that was hidden comes back, with all that went with it. The receipt is found by the key."""

    template_name = "edna/return.html"
    is_asked_anew = True
    title: ClassVar[str | Promise] = gettext_lazy("Come back")
    button: ClassVar[str | Promise] = gettext_lazy("Bring my account back")
    form_class: type[forms.Form] = ReturnForm
    hands: ClassVar[str] = "return"
    get_form_kwargs = KeyPage.get_form_kwargs
    form_invalid = KeyPage.form_invalid
    #: What is brought back.
    receipt: api.Receipt

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        return KeyPage.post(self, request, *args, **kwargs)

    def unlock(self, form: Any) -> api.Unlocked:
        receipt = form.cleaned_data["receipt"]
        return self.unlocked(form, receipts=[receipt] if receipt else [])

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        if api.principal(unlocked) is not None:
            return self.show("edna/is_here.html", title=gettext("Your account is here"))
        outcome = None
        for receipt in self.departures(form, unlocked):
            form.cleaned_data["receipt"] = self.receipt = receipt
            outcome = self.reveal(form, unlocked)
            self.back = api.principal(unlocked)
            if self.back is not None or names_taken(outcome):
                break
        if outcome is None:
            for damage in unlocked.damaged:
                raise damage
            problem = gettext(
                "There is nothing here that could bring an account back. If you have a receipt, give it, too."
            )
            form.add_error(None, problem)
            return self.form_invalid(form)
        return self.told(form, unlocked, outcome)

    def departures(self, form: Any, unlocked: api.Unlocked) -> Iterator[api.Receipt]:
        """What may have taken the account away: by the receipt, or found by the key, the newest first."""
        if form.cleaned_data["receipt"]:
            yield form.cleaned_data["receipt"]
            return
        model = self.pages.model._meta.label_lower
        for entry in self.history(unlocked):
            if entry.counts.get(model):
                yield entry.receipt

    def asking(self, **options: Any) -> Any:
        """About what was found: the answer to it goes to the page for that."""
        initial = {"receipt": str(self.receipt), "identifier": options.pop("identifier", "")}
        return BringBackForm(**self.whose(), has_receipt=True, initial=initial, **options)
