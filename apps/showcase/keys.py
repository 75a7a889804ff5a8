"""What a key leads to in one application. It may be of another application of the site, whose receipts and history are none of ours.

Does not know what an application's disguises do: it says which of them take an account away, and under which column its name lies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

import edna

from .passwords import set_password


@dataclass(frozen=True, kw_only=True)
class Keys:
    """The keys of the people of one application."""

    #: What the names of its disguises begin with.
    application: str
    #: Whose accounts its people have.
    model: type[Any]
    #: The column that nobody else may have the value of, as `edna.reveal` takes it among its overrides.
    name_column: str
    #: The disguises after which there is no account.
    away: tuple[str, ...]
    #: What a password of an account goes with.
    identifier: Callable[[Any], str]

    def own_receipt(self, text: str) -> edna.Receipt:
        """A receipt of this application.

        Raises:
            ReceiptMalformed, ReceiptUnknown.
        """
        receipt = edna.Receipt.parse(text)
        if not receipt.disguise.startswith(f"{self.application}."):
            raise edna.errors.ReceiptUnknown("This receipt is of another application.")
        return receipt

    def own_history(self, unlocked: edna.Unlocked) -> list[edna.HistoryEntry]:
        return [entry for entry in edna.history(unlocked) if entry.name.startswith(f"{self.application}.")]

    def departure(self, unlocked: edna.Unlocked) -> edna.Receipt | None:
        """The receipt of what took this key's account away, if something did.

        Raises:
            BagError: there may be one, but it cannot be opened.
            WrongCredentials: the key is of another application.
        """
        for entry in self.own_history(unlocked):
            if entry.name in self.away:
                return entry.receipt
        for error in unlocked.damaged:
            raise error
        if not isinstance(edna.principal(unlocked), self.model):
            raise edna.errors.WrongCredentials("This key is of another application.")
        return None

    @sensitive_variables()
    def bring_back(
        self, receipt: edna.Receipt, unlocked: edna.Unlocked, *, name: str = "", password: str = ""
    ) -> edna.Outcome:
        """Reveal, under another name if one is given and needed; the password then holds for the login and for the key.

        Raises:
            ValidationError: the password is too like the account. Nothing was changed then, as for edna's own errors.
        """
        if not password:
            return edna.reveal(receipt, unlocked)
        with transaction.atomic():
            outcome = edna.reveal(receipt, unlocked, overrides={self.name_column: name} if name else None)
            account = edna.principal(unlocked)
            if isinstance(account, self.model):
                # The name that it has now: its own may have been free after all.
                set_password(account, unlocked, identifier=self.identifier(account), password=password)
        return outcome
