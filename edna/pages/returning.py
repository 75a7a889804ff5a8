"""Bring it back, and say in words what came back, what could not and why; replace a name that somebody has taken; give up what others did.

Keeps: nothing is given up without a page that says that it is final, and without the key, which is asked for there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, cast

from django import forms
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from edna import api, conf, inner_door
from edna.errors import EdnaError, ReceiptUnknown, RevealRefused
from edna.pages import handed, words
from edna.pages.base import KeyPage, Shown
from edna.pages.forms import HANDED, KeyForm
from edna.pages.hidden_data import named, still_waiting
from edna.pages.people import People

_INSTEAD: Final = "instead-"


class BringBackForm(KeyForm):
    """The receipt, the key, and other values for columns of which somebody else has one's own by now.

    Those fields are named ``instead-app.model.field``, as the page with the outcome has written them; the engine takes them for unique
    columns only.
    """

    receipt = forms.CharField(
        label=gettext_lazy("Receipt"),
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    field_order = ("receipt", "identifier", "password", "recovery_code", "secret_key")

    def __init__(self, *args: Any, asked: tuple[str, ...] = (), has_receipt: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        if has_receipt:
            self.fields["receipt"].widget = forms.HiddenInput()
        asked = asked or tuple(name.removeprefix(_INSTEAD) for name in self.data if name.startswith(_INSTEAD))
        others = {f"{_INSTEAD}{name}": field for name in asked if (field := field_instead_of(name)) is not None}
        self.fields = {**others, **self.fields}
        if others and "identifier" in self.fields:
            was = gettext("%(name)s, as it was")
            self.fields["identifier"].label = was % {"name": self.fields["identifier"].label}

    def clean_receipt(self) -> api.Receipt:
        try:
            return own_receipt(self.cleaned_data["receipt"], self.pages)
        except EdnaError as error:
            raise ValidationError(words.explain(error)) from None

    def overrides(self) -> dict[str, Any]:
        given = {name.removeprefix(_INSTEAD): value for name, value in self.cleaned_data.items() if _INSTEAD in name}
        return {name: value for name, value in given.items() if value not in (None, "")}


def own_receipt(text: str, pages: People) -> api.Receipt:
    """
    Raises:
        ReceiptMalformed; ReceiptUnknown: it is about other people than those whose pages these are.
    """
    receipt = api.Receipt.parse(text)
    if not pages.concern(receipt.disguise):
        raise ReceiptUnknown("This receipt is of people whose pages these are not.")
    return receipt


def field_instead_of(name: str) -> forms.Field | None:
    """What asks for another value of ``app.model.field``; None where no person could give one."""
    label, _, column = name.rpartition(".")
    model = words.model_of(label)
    try:
        field: Any = model._meta.get_field(column) if model else None
    except FieldDoesNotExist:
        return None
    asks: Any = field.formfield() if field is not None and not field.is_relation and field.editable else None
    if asks is None:
        return None
    asks.label = gettext("Another %(name)s") % {"name": str(field.verbose_name)}
    asks.validators += [each for each in field.validators if each not in asks.validators]
    asks.required, asks.initial, asks.help_text = True, None, gettext("Somebody else has yours by now.")
    if words.is_account(label) and column == getattr(model, "USERNAME_FIELD", ""):
        asks.widget.attrs["autocomplete"] = "username"
    return cast(forms.Field, asks)


class BringBack(KeyPage):
    """Asks for the receipt and the key, brings back what can come back, and tells the outcome."""

    login_required = False
    key_required = False  # it may be about another account than the one that is logged in
    form_class: type[forms.Form] = BringBackForm
    template_name = "edna/bring_back.html"
    outcome_template_name = "edna/brought_back.html"
    title: ClassVar[str | Promise] = gettext_lazy("Bring it back")
    button: ClassVar[str | Promise] = gettext_lazy("Bring it back")
    hands: ClassVar[str] = "receipt"

    #: The row of whose account came back, if that was looked for.
    back: Any = None
    #: A browser has sent one that the password opens under another name.
    slots_replaced = False

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not {"password", HANDED} & request.POST.keys():
            # From the list of what is hidden: which one is meant is said, and the key is asked for.
            return self.render_to_response(self.get_context_data(form=self.asking()))
        return super().post(request, *args, **kwargs)

    def asking(self, *, identifier: str = "", **options: Any) -> Any:
        """A form that nobody has filled in, about the receipt that was posted."""
        receipt = api.Receipt.parse(self.request.POST.get("receipt", ""))
        initial = {"receipt": str(receipt), "identifier": identifier}
        return self.form_class(**{**self.whose(), "has_receipt": True, "initial": initial, **options})

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "has_receipt": self.request.method == "POST"}

    def form_invalid(self, form: Any) -> Any:
        if form.errors.get("receipt"):
            form.fields["receipt"].widget = BringBackForm.base_fields["receipt"].widget
        return super().form_invalid(form)

    def unlock(self, form: Any) -> api.Unlocked:
        # Whoever is logged in may bring back an account of theirs that is away: whose key it is, the receipt tells.
        return self.unlocked(form, receipts=[form.cleaned_data["receipt"]])

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        outcome = self.reveal(form, unlocked)
        return self.told(form, unlocked, outcome)

    def reveal(self, form: Any, unlocked: api.Unlocked) -> api.Outcome:
        """Reveal; where a name was replaced, the password opens the key under the new one."""
        receipt, overrides = form.cleaned_data["receipt"], form.overrides()
        if not overrides:
            return self.reveal_with_account(receipt, unlocked)
        with transaction.atomic(using=unlocked.using):
            outcome = self.reveal_with_account(receipt, unlocked, overrides=overrides)
            account: Any = api.principal(unlocked)
            password = form.cleaned_data["password"]
            if account is None:
                return outcome  # not back: the password goes with the former name as before
            if form.is_handed():
                self.slots_replaced = handed.replace_slots(self.request)
            elif password and hasattr(account, "get_username"):
                api.change_password(unlocked, identifier=self.pages.identifier_of(account), password=password)
        return outcome

    def reveal_with_account(self, receipt: api.Receipt, unlocked: api.Unlocked, **options: Any) -> api.Outcome:
        """Nothing, if the account cannot come back: rows that stayed would say whose they are, while that person is still away. What was
        done in chunks comes back in chunks, all the same."""
        account = self.pages.model._meta.label_lower
        sizes = {
            entry.receipt: sum(entry.counts.values()) for entry in self.history(unlocked) if account in entry.counts
        }
        if 0 < sizes.get(receipt, 0) <= conf.chunk_rows():
            try:
                return api.reveal(receipt, unlocked, allow_partial=False, **options)
            except RevealRefused as error:
                outcome = cast(api.Outcome, error.outcome)
                if any(row.model == account for row in outcome.held):
                    return replace(outcome, restored={}, deferred={}, altered={}, dropped={})
        return api.reveal(receipt, unlocked, **options)

    def chosen(self) -> list[api.Held]:
        """What is to be given up."""
        return []

    def read_by(self, receipt: api.Receipt) -> list[tuple[str, int, str, str]]:
        """How what was brought back was read by an audience meanwhile: name, how many together, month, reason."""
        return inner_door.uses_of(receipt)

    def told(self, form: Any, unlocked: api.Unlocked, outcome: api.Outcome) -> HttpResponse:
        """The page with the outcome."""
        receipt, given_up = form.cleaned_data["receipt"], self.chosen()
        # Where all of it is back, nothing is sealed any more that could wait: it need not be opened to see that.
        found = inner_door.waiting_of(unlocked, receipt) if outcome.held or outcome.deferred else []
        waiting = [still_waiting(entry, self.pages, given_up=given_up) for entry in found]
        taken = names_taken(outcome)
        asked = self.asking(asked=taken, identifier=form.cleaned_data.get("identifier", "")) if taken else None
        overrides = form.overrides()
        taken_too = [str(overrides[name]) for name in taken if name in overrides]
        if asked is not None:
            asked.initial.update({f"{_INSTEAD}{name}": overrides[name] for name in taken if name in overrides})
        # Whoever has given up the last that was left of them is forgotten, and their key is closed.
        account = self.back if self.back is not None or unlocked.closed else api.principal(unlocked)
        return self.show(
            self.outcome_template_name,
            title=title_of(outcome),
            restored=words.counts(outcome.restored),
            deferred=words.counts(outcome.deferred),
            given_up=words.counts(outcome.accepted),
            without_rights=bool(outcome.altered or outcome.dropped),
            complete=outcome.complete,
            read_by=self.read_by(receipt),
            waiting=waiting,
            form=asked,
            taken_too=[Shown(value) for value in taken_too],
            account_is_back=account is not None and not self.request.user.is_authenticated,
            called=Shown(self.pages.login_name_of(account) if hasattr(account, "get_username") else ""),
            replaced=bool(overrides),
            by_password=bool(form.cleaned_data["password"] or self.slots_replaced),
            hands=BringBack.hands,
        )


def title_of(outcome: api.Outcome) -> str:
    """What has come of it, in a few words."""
    if not outcome.complete:
        return gettext("Not all of it could come back")
    if outcome.deferred and not outcome.restored:
        return gettext("It comes back with a later one")
    if outcome.accepted and not outcome.restored:
        return gettext("It is given up")
    return gettext("It is back")


def names_taken(outcome: api.Outcome) -> tuple[str, ...]:
    """The columns of which somebody else has the value by now, and for which a person can give another one, as `edna.reveal` takes them."""
    found: dict[str, int] = {}
    for row in outcome.held:
        if row.reason is api.Reason.UNIQUE_TAKEN and row.field:
            found[f"{row.model}.{row.field}"] = found.get(f"{row.model}.{row.field}", 0) + 1
    # One value cannot stand in for two.
    return tuple(name for name, rows in found.items() if rows == 1 and field_instead_of(name) is not None)


class GiveUpForm(BringBackForm):
    """Beside the key: that it is meant."""

    final = forms.BooleanField(
        label=gettext_lazy("I know that this is final, and that nobody can bring it back."),
        error_messages={"required": gettext_lazy("Tick this box if you want to give it up. Nothing was changed.")},
    )


class GiveUp(BringBack):
    """What others did stands, and what was kept of it is erased for good: after a page that asks once more."""

    form_class: type[forms.Form] = GiveUpForm
    template_name = "edna/give_up.html"
    title: ClassVar[str | Promise] = gettext_lazy("Give it up for good?")
    button: ClassVar[str | Promise] = gettext_lazy("Give it up for good")
    is_grave = True

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponseRedirect(self.address_of("hidden"))

    def chosen(self) -> list[api.Held]:
        return [row for row in map(named, dict.fromkeys(self.request.POST.getlist("row"))) if row]

    def form_valid(self, form: Any) -> Any:
        return super().form_valid(form) if self.chosen() else self.form_invalid(form)

    def reveal(self, form: Any, unlocked: api.Unlocked) -> api.Outcome:
        return api.reveal(form.cleaned_data["receipt"], unlocked, accept=self.chosen())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        rows = self.chosen()
        counts: dict[str, int] = {}
        for row in rows:
            counts[row.model] = counts.get(row.model, 0) + 1
        given: Mapping[str, Any] = {"chosen": self.request.POST.getlist("row"), "counts": words.counts(counts)}
        return super().get_context_data(**{**given, **kwargs})
