"""How the people of the conference come back: what the shared pages have to know of this application's accounts."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.debug import sensitive_variables

import edna
from apps.showcase import waysback
from apps.showcase.friendly import is_taken
from apps.showcase.waysback import NeedsField

from .. import keys, mails
from ..auth import identifier
from ..forms import GiveUpForm, NewPasswordByCodeForm, ReturnForm
from ..words import FOREIGN, TAKEN, WORDS
from .guards import BACKEND, show


@sensitive_variables()
def prove_address(form: Any) -> None:
    """Whoever has an address of an author becomes the author. So another address to come back with is proved, as that of a new account is.

    Raises:
        NeedsField: a code was mailed to it, and is to be typed in.
    """
    address, given = form.name(), form.cleaned_data.get("mail_code", "")
    if not address or mails.is_address_code(address, given):
        return
    if given:
        raise NeedsField(
            "mail_code", f"This is not the code that we mailed to {address}. Without any, we mail it again."
        )
    if not mails.send_address_code(address):
        raise ValidationError("The mail could not be sent. Please try again later.")
    raise NeedsField("mail_code", f"We have mailed a code to {address}. Type it in, and your passwords again.")


class WaysBack(waysback.WaysBack):
    namespace = "hotcrp"
    folder, called = "hotcrp_sim", "this conference"
    start = "hotcrp:papers"
    listing = "hotcrp:disguised"
    backend = BACKEND
    words = WORDS
    return_form, recover_form = ReturnForm, NewPasswordByCodeForm
    taken = TAKEN
    already_here = (
        "Your key is right, but no removed account belongs to it: it is here already. Just log in; if you have forgotten the "
        "password, set a new one with your recovery code. If the account has lost its name because the conference was "
        "anonymised, look at “What is disguised”."
    )

    def show(self, request: HttpRequest, page: str, context: dict[str, Any]) -> HttpResponse:
        return show(request, page, context)

    def own_receipt(self, text: str) -> edna.Receipt:
        receipt = edna.Receipt.parse(text)
        if not keys.belongs_here(receipt):
            raise edna.errors.ReceiptUnknown("This receipt is of another application.")
        return receipt

    def key_form(self, request: HttpRequest, data: Any) -> GiveUpForm:
        return GiveUpForm(data)

    def reveal(self, receipt: edna.Receipt, unlocked: edna.Unlocked, *, accept: Any) -> edna.Outcome:
        return keys.reveal_all([receipt], unlocked, accept=accept)

    def departure(self, unlocked: edna.Unlocked, given: str) -> edna.Receipt | None:
        if given:
            receipt = edna.Receipt.parse(given)
            if receipt.disguise != keys.REMOVE:
                raise ValidationError(FOREIGN)
            return receipt
        if keys.account_of(unlocked) is not None:
            return None
        return keys.history(unlocked, keys.REMOVE)[0].receipt

    @sensitive_variables()
    def bring_back(
        self, receipt: edna.Receipt, unlocked: edna.Unlocked, *, name: str, password: str, form: Any
    ) -> edna.Outcome:
        prove_address(form)
        address = form.cleaned_data.get("email", "")
        return keys.reveal_all([receipt], unlocked, new_email=name, password=password, address=address)

    @sensitive_variables()
    def set_password(self, account: Any, unlocked: edna.Unlocked, *, password: str, form: Any) -> None:
        keys.set_password(account, unlocked, password=password, address=form.cleaned_data.get("email", ""))

    def identifier(self, account: Any) -> str:
        return identifier(account.email)

    def name_is_taken(self, outcome: edna.Outcome) -> bool:
        return is_taken(outcome.held, "hotcrp_sim.contactinfo", "email")

    def why_not_logged_in(self, account: Any) -> str:
        if account.disabled:
            return "You are not logged in: the chairs have closed this account. Please ask them."
        if account.is_chair:
            return "You are not logged in yet: chairs can do more than others, so log in with your password."
        return ""


WAYS_BACK = WaysBack()
