"""edna's pages where this conference is more careful than others: nobody comes back without their conflicts of interest, and another
address to come back with is proved, as that of a new account is."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import transaction
from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

import edna
from edna.pages import returning
from edna.pages.keys.returning import Return as EdnasReturn
from edna.pages.keys.returning import ReturnForm

from .. import cases, keys, mails

EMAIL = "hotcrp_sim.contactinfo.email"


class KeepsConflicts:
    """Mixed into what reveals."""

    def reveal(self, form: Any, unlocked: edna.Unlocked) -> edna.Outcome:
        return keys.persistently(lambda: self._with_conflicts(form, unlocked))

    def _with_conflicts(self, form: Any, unlocked: edna.Unlocked) -> edna.Outcome:
        with transaction.atomic():
            outcome: edna.Outcome = super().reveal(form, unlocked)  # type: ignore[misc]  # of the page
            keys.require_conflicts(outcome)
        return outcome


class AddressForm(returning.BringBackForm):
    """Whoever gives another address types the code that was mailed to it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.is_bound and any(EMAIL in name for name in self.fields):
            hints = {"autocomplete": "one-time-code", "spellcheck": "false"}
            code = forms.CharField(
                label="The code that we mail to it",
                help_text="Leave it empty the first time.",
                required=False,
                max_length=100,
                widget=forms.TextInput(attrs=hints),
            )
            names = list(self.fields)
            place = next(number for number, name in enumerate(names) if EMAIL in name) + 1
            self.fields["mail_code"] = code
            self.order_fields([*names[:place], "mail_code", *names[place:]])


class BringBack(KeepsConflicts, returning.BringBack):
    form_class = AddressForm

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        if problem := _unproved(form):
            form.add_error("mail_code", problem)
            return self.form_invalid(form)
        return super().opened(form, unlocked)


@sensitive_variables()
def _unproved(form: Any) -> str:
    """Whoever has an address of an author becomes the author."""
    address, given = form.overrides().get(EMAIL), form.cleaned_data.get("mail_code", "")
    if not address or mails.is_address_code(address, given):
        return ""
    if given:
        return f"This is not the code that we mailed to {address}. Without any, we mail it again."
    if not mails.send_address_code(address):
        return "The mail could not be sent. Please try again later."
    return f"We have mailed a code to {address}. Type it in, and your password again."


class GiveUp(KeepsConflicts, returning.GiveUp):
    def chosen(self) -> list[edna.Held]:
        # Nobody gives up the conflict that keeps them away.
        return [row for row in super().chosen() if row.model != keys.CONFLICT]


class Return(KeepsConflicts, EdnasReturn):
    pass


class ReclaimForm(ReturnForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        del self.fields["receipt"]

    def clean(self) -> dict[str, Any]:
        return {**super().clean(), "receipt": None}


class Reclaim(EdnasReturn):
    """Put one's name back where the conference's disguise took it off: all that the key leads to, at once."""

    template_name = "hotcrp_sim/reclaim.html"
    title = "Put your name back"
    button = "Reclaim, show my name again"
    form_class = ReclaimForm
    hands = "disguises"
    disguises = keys.ANONYMISATIONS

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        receipts = [entry.receipt for entry in keys.history(unlocked, *keys.ANONYMISATIONS)]
        if receipts and edna.principal(unlocked) is not None:
            # Before: afterwards the key does not lead there any more.
            self.read = cases.uses(unlocked)
            outcome, self.receipt = keys.reveal_all(receipts, unlocked)
            form.cleaned_data["receipt"] = self.receipt
            return self.told(form, unlocked, outcome)
        form.add_error(
            None,
            "Your account is removed. Come back to it first; then take your name back."
            if receipts
            else "There is nothing here that was made anonymous of you.",
        )
        return self.form_invalid(form)

    def read_by(self, receipt: edna.Receipt) -> list[tuple[str, int, str, str]]:
        return self.read
