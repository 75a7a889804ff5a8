"""What could not come back, row by row, and the pages on which its owner gives it up; the same in all applications.

Keeps: nothing is given up without a page that says that it is final, and without the key, which is asked for there. Which rows are meant
travels in the body of a request, never in an address or a session; what is in them is not sent back at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.apps import apps
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

import edna

from . import applications
from .friendly import Words, count_each, what
from .keys import Keys

#: Rows that a page lists one by one. Below the number of form fields that Django accepts at once.
LISTED = 100
#: Between the label of a model, a reason and a key, in the name of a row.
_BETWEEN = "/"
#: What may be held of an account that is here.
_OF_ACCOUNTS_HERE = (edna.Reason.CHANGED, edna.Reason.ROW_MISSING)


@dataclass(frozen=True)
class Line:
    """A row as the page lists it. ``name`` says to the server which one is ticked."""

    name: str
    what: str
    why: str
    can_be_given_up: bool


class GivingUp:
    """What an application's people do about what is held: the part of its `WaysBack` for those who are back."""

    namespace: ClassVar[str]
    #: Where its templates lie.
    folder: ClassVar[str]
    #: The names of the pages on which who is logged in begins, and of the one that lists what is disguised.
    start: ClassVar[str]
    listing: ClassVar[str]
    keys: ClassVar[Keys]
    words: ClassVar[Words]

    # What an application says

    def show(self, request: HttpRequest, page: str, context: dict[str, Any]) -> HttpResponse:
        return render(request, f"{self.folder}/{page}", context)

    def own_receipt(self, text: str) -> edna.Receipt:
        """
        Raises:
            ReceiptMalformed, ReceiptUnknown: it is no receipt of this application.
        """
        return self.keys.own_receipt(text)

    def key_form(self, request: HttpRequest, data: Any) -> Any:
        """A form that asks for the key, and a `FinalForm`."""
        raise NotImplementedError

    def may_be_given_up(self, row: edna.Held) -> bool:
        return row.reason.can_be_accepted

    def reveal(self, receipt: edna.Receipt, unlocked: edna.Unlocked, *, accept: Any) -> edna.Outcome:
        return edna.reveal(receipt, unlocked, accept=accept)

    # Listing

    def about(self, outcome: edna.Outcome, receipts: Iterable[edna.Receipt]) -> dict[str, Any]:
        """What a page shows about a reveal of these."""
        return {**self.words.outcome(outcome), **self.offer(receipts, outcome.held)}

    def offer(self, receipts: Iterable[edna.Receipt], held: Sequence[edna.Held]) -> dict[str, Any]:
        """What ``showcase/_held.html`` shows about rows that are held after these were revealed."""
        rows = {(row.model, str(row.pk)): row for row in reversed(held)}  # of one row two things may be held: the first
        # What belongs to an account waits for it, and nobody else is in the way.
        account_is_away = any(row.model == self._accounts and row.reason not in _OF_ACCOUNTS_HERE for row in held)
        found = [
            Line(
                _name(row),
                what(row.model),
                self.words.why(row.reason),
                self.may_be_given_up(row) and not account_is_away,
            )
            for row in reversed(rows.values())
        ]
        return {
            "lines": found[:LISTED],
            "lines_left_out": max(0, len(found) - LISTED),
            "can_give_up": any(line.can_be_given_up for line in found),
            "held_receipts": [str(receipt) for receipt in receipts],
            "give_up_address": reverse(f"{self.namespace}:give-up"),
        }

    @property
    def _accounts(self) -> str:
        application = applications.by_key(self.namespace)
        assert application is not None
        return str(application.model._meta.label_lower)

    # Giving up

    @sensitive_variables()
    def give_up(self, request: HttpRequest) -> HttpResponse:
        """The view, for a form that was posted: first it asks whether that is meant, and for the key; then it is done."""
        everything = request.POST.get("which") == "all"
        chosen = [] if everything else list(dict.fromkeys(request.POST.getlist("row")))
        receipts = request.POST.getlist("receipt")
        form = self.key_form(request, request.POST if "confirmed" in request.POST else None)
        if (everything or chosen) and form.is_valid():
            try:
                accept: Any = edna.ALL if everything else [row for row in map(_named, chosen) if row]
                unlocked = request.edna.unlock(**form.credentials())
                return self._done(request, *self._reveal_all(receipts, unlocked, accept=accept))
            except edna.errors.EdnaError as error:
                form.add_error(None, self.words.explain(error))
        context = {
            "form": form,
            "everything": everything,
            "chosen": chosen,
            "counts": count_each(Counter(row.model for row in map(_named, chosen) if row)),
            "held_receipts": receipts,
            "give_up_address": reverse(f"{self.namespace}:give-up"),
            "listing": reverse(self.listing),
        }
        return self.page(request, "give_up.html", context)

    @sensitive_variables()
    def _reveal_all(
        self, receipts: Iterable[str], unlocked: edna.Unlocked, *, accept: Any
    ) -> tuple[edna.Outcome, list[edna.Receipt]]:
        """All or nothing: what happened, and the receipts of which something is still held."""
        together, left = edna.Outcome(), []
        with transaction.atomic():
            for receipt in map(self.own_receipt, receipts):
                try:
                    outcome = self.reveal(receipt, unlocked, accept=accept)
                except edna.errors.ReceiptUnknown:
                    continue  # all of it has come back meanwhile
                together.include(outcome)
                left += [receipt] if outcome.held else []
        return together, left

    def _done(self, request: HttpRequest, outcome: edna.Outcome, left: list[edna.Receipt]) -> HttpResponse:
        context = {
            **self.about(outcome, left),
            "given_up": count_each(outcome.accepted),
            "listing": reverse(self.listing),
            "start": reverse(self.start),
        }
        return self.page(request, "given_up.html", context)

    def page(self, request: HttpRequest, page: str, context: dict[str, Any]) -> HttpResponse:
        """With what the shared templates ask for: ``folder`` and ``namespace`` lead to the application's own."""
        return self.show(request, page, {**context, "folder": self.folder, "namespace": self.namespace})


def _name(row: edna.Held) -> str:
    return _BETWEEN.join((row.model, row.reason, str(row.pk)))


def _named(name: str) -> edna.Held | None:
    """The row, as `edna.reveal` accepts it; None if the browser has sent something else."""
    try:
        model, reason, key = name.split(_BETWEEN, 2)
        apps.get_model(model)
        return edna.Held(model, key, edna.Reason(reason))
    except (ValueError, LookupError):
        return None
