"""What could not come back, row by row, and the pages on which its owner gives it up; the same in all applications.

Keeps: nothing is given up without a page that says that it is final, and without the key, which is asked for there. Which rows are meant
travels in the body of a request, never in an address or a session; what is in them is not sent back at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.apps import apps
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import Truncator, get_text_list
from django.views.decorators.debug import sensitive_variables

import edna

from . import applications
from .friendly import Words, count_each, what
from .keys import Keys

#: Rows that a page lists one by one. Below the number of form fields that Django accepts at once.
LISTED = 100
#: Between the label of a model, a reason and a key, in the name of a row.
_BETWEEN = "/"
#: Most characters of a row's own text.
_QUOTED = 90
#: What may be held of an account that is here.
_OF_ACCOUNTS_HERE = (edna.Reason.CHANGED, edna.Reason.ROW_MISSING)


@dataclass(frozen=True)
class Line:
    """A row as the page lists it. ``name`` says to the server which one is ticked."""

    name: str
    what: str
    #: How its text begins.
    text: str
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
    #: What that one is called.
    listing_called: ClassVar[str] = "What is disguised"
    #: By which column people know a row of theirs, by model.
    quoted: ClassVar[Mapping[str, str]] = {}
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

    def identifier(self, account: Any) -> str:
        """What this account's password opens the key with."""
        return self.keys.identifier(account)

    def key_form(self, request: HttpRequest, data: Any) -> Any:
        """A form that asks for the key, and a `FinalForm`."""
        raise NotImplementedError

    def may_be_given_up(self, row: edna.Held) -> bool:
        return row.reason.can_be_accepted

    def reveal(self, receipt: edna.Receipt, unlocked: edna.Unlocked, *, accept: Any) -> edna.Outcome:
        return edna.reveal(receipt, unlocked, accept=accept)

    # Listing

    def waiting(self, unlocked: edna.Unlocked) -> list[edna.Waiting]:
        """What waits of this application's disguises."""
        return [entry for entry in edna.waiting(unlocked) if entry.name.startswith(f"{self.namespace}.")]

    def about(self, outcome: edna.Outcome, unlocked: edna.Unlocked) -> dict[str, Any]:
        """What a page shows about a reveal."""
        return {**self.words.outcome(outcome), **self.offer(self.waiting(unlocked)), "tried_now": True}

    def offer(self, waiting: Sequence[edna.Waiting]) -> dict[str, Any]:
        """What ``showcase/_held.html`` shows."""
        held = [(row, entry.sealed(row)) for entry in waiting for row in entry.held]
        # Of one row two things may be held: the first counts.
        rows = {(row.model, str(row.pk)): (row, values) for row, values in reversed(held)}
        # What belongs to an account waits for it, and nobody else is in the way.
        account_is_away = any(row.model == self._accounts and row.reason not in _OF_ACCOUNTS_HERE for row, _ in held)
        found = [
            Line(
                _name(row),
                what(row.model),
                Truncator(values.get(self.quoted.get(row.model, "")) or "").chars(_QUOTED),
                self.words.why(row.reason),
                self.may_be_given_up(row) and not account_is_away,
            )
            for row, values in reversed(rows.values())
        ]
        return {
            "lines": found[:LISTED],
            "lines_left_out": max(0, len(found) - LISTED),
            "ready": _ready(waiting),
            "can_give_up": sum(line.can_be_given_up for line in found),
            "held_receipts": [str(entry.receipt) for entry in waiting],
            "give_up_address": reverse(f"{self.namespace}:give-up"),
            "tried_now": False,
        }

    @sensitive_variables()
    def tell(self, request: HttpRequest, account: Any, *, password: str) -> None:
        """After a log-in: say what waits. The password opens the key for this; whoever has none, or another one, is told nothing.

        Where keys may be used so many times a second only, that is left to those who ask for it: their page tells the same.
        """
        if settings.EDNA.get("REQUEST_RATE_PER_SECOND"):
            return
        try:
            waiting = self.waiting(request.edna.unlock(identifier=self.identifier(account), password=password))
        except edna.errors.EdnaError:
            return
        rows = {(row.model, str(row.pk)) for entry in waiting for row in entry.held}
        held = count_each(Counter(model for model, _ in rows))
        for counts, sentence in [(held, "could not come back yet"), (_ready(waiting), "can come back by now")]:
            if counts:
                messages.warning(
                    request,
                    f"Of what is yours, {get_text_list(counts, 'and')} {sentence}. “{self.listing_called}” says why.",
                )

    @property
    def _accounts(self) -> str:
        application = applications.by_key(self.namespace)
        assert application is not None
        return str(application.model._meta.label_lower)

    # Giving up

    @sensitive_variables()
    def give_up(self, request: HttpRequest) -> HttpResponse:
        """The view, for a form that was posted: what is meant is said again, and the key is asked for; then it is done."""
        which = request.POST.get("which", "")
        chosen = list(dict.fromkeys(request.POST.getlist("row"))) if which == "ticked" else []
        rows = [row for row in map(_named, chosen) if row]
        receipts = request.POST.getlist("receipt")
        form = self.key_form(request, request.POST if "confirmed" in request.POST else None)
        if which == "again":
            del form.fields["final"]
        meant = bool(receipts) and (which in ("all", "again") or bool(rows))
        if meant and form.is_valid():
            try:
                unlocked = request.edna.unlock(**form.credentials())
                accept: Any = edna.ALL if which == "all" else rows
                return self._done(request, self._reveal_all(receipts, unlocked, accept=accept), unlocked, which)
            except edna.errors.EdnaError as error:
                form.add_error(None, self.words.explain(error))
        context = {
            "form": form,
            "which": which if meant else "",
            "chosen": chosen,
            "counts": count_each(Counter(row.model for row in rows)),
            "held_receipts": receipts,
            "give_up_address": reverse(f"{self.namespace}:give-up"),
            "listing": reverse(self.listing),
        }
        return self.page(request, "give_up.html", context)

    @sensitive_variables()
    def _reveal_all(self, receipts: Iterable[str], unlocked: edna.Unlocked, *, accept: Any) -> edna.Outcome:
        """All or nothing, one outcome for all."""
        together = edna.Outcome()
        with transaction.atomic():
            for receipt in map(self.own_receipt, receipts):
                try:
                    together.include(self.reveal(receipt, unlocked, accept=accept))
                except edna.errors.ReceiptUnknown:
                    continue  # all of it has come back meanwhile
        return together

    def _done(self, request: HttpRequest, outcome: edna.Outcome, unlocked: edna.Unlocked, which: str) -> HttpResponse:
        context = {
            **self.about(outcome, unlocked),
            "given_up": count_each(outcome.accepted),
            "which": which,
            "listing": reverse(self.listing),
            "start": reverse(self.start),
        }
        return self.page(request, "given_up.html", context)

    def page(self, request: HttpRequest, page: str, context: dict[str, Any]) -> HttpResponse:
        """With what the shared templates ask for: ``folder`` and ``namespace`` lead to the application's own."""
        return self.show(request, page, {**context, "folder": self.folder, "namespace": self.namespace})


def _ready(waiting: Iterable[edna.Waiting]) -> list[str]:
    counts: Counter[str] = Counter()
    for entry in waiting:
        counts.update(entry.ready)
    return count_each(counts)


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
