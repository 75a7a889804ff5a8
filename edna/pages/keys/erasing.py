"""Deleting for good: what is hidden, one by one, or everything with the account. Two steps: the key shows what there is, then a phrase and
the key again delete it.

Keeps: nothing goes without the phrase and the key; what each step shows is read with the key, and nothing of it is kept between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib.auth import logout
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from edna import api, conf, registry
from edna.errors import EdnaError, ReceiptMalformed
from edna.offers import Offer
from edna.pages import words
from edna.pages.base import KeyPage, ShownFields
from edna.pages.forms import HANDED, ReceiptsForm
from edna.pages.hidden_data import title_by_name
from edna.pages.keys.forms import PhraseForm
from edna.visitors import is_same

#: Instead of a receipt.
EVERYTHING = "everything"


class ChooseForm(PhraseForm, ReceiptsForm):
    """What is to go, the phrase, and the key once more."""

    what = forms.CharField(
        widget=forms.HiddenInput,
        max_length=10_000,
        error_messages={"required": gettext_lazy("Choose what is to be deleted.")},
    )
    field_order = ("identifier", "phrase", "password", "receipts", "recovery_code", "secret_key")


class DeleteForGood(KeyPage):
    """What is hidden of somebody, to be deleted for good; the account as well, if they want."""

    template_name = "edna/delete.html"
    is_asked_anew = True
    title: ClassVar[str | Promise] = gettext_lazy("Delete for good")
    button = gettext_lazy("Show what there is")
    form_class = ReceiptsForm
    login_required = False

    def get_form_class(self) -> type[Any]:
        # A browser that keeps the key lists what there is by itself; here it is asked about everything.
        return ChooseForm if "phrase" in self.request.POST or conf.custody() == "browser" else ReceiptsForm

    def get_initial(self) -> dict[str, Any]:
        return {**super().get_initial(), **({"what": EVERYTHING} if conf.custody() == "browser" else {})}

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if "what" in request.POST and not {"password", HANDED, "phrase"} & request.POST.keys():
            # From the list of what is hidden: which one is meant is said, and the key is asked for.
            form = ChooseForm(**self.whose(), initial={"what": request.POST["what"]})
            return self.render_to_response(self.get_context_data(form=form))
        return super().post(request, *args, **kwargs)

    def opened(self, form: Any, unlocked: api.Unlocked) -> Any:
        if not isinstance(form, ChooseForm):
            return self.choices(form, unlocked)
        if form.cleaned_data["what"] == EVERYTHING:
            return self.delete_everything(unlocked, form)
        complete = bool(form.cleaned_data.get("receipts"))
        erasure = api.erase(form.cleaned_data["what"], unlocked, receipts_complete=complete)
        return self.deleted(is_account_gone=erasure.forgets)

    def form_invalid(self, form: Any) -> Any:
        if isinstance(form, ChooseForm) and set(form.errors) == {"phrase"}:
            # Only the phrase was wrong, so that the key still tells what would go.
            try:
                with self.unlock(form) as unlocked:
                    return self.render_to_response(
                        self.get_context_data(form=form, preview=self.preview(form, unlocked))
                    )
            except EdnaError as error:
                form.add_error(None, words.explain(error))
        return super().form_invalid(form)

    def preview(self, form: Any, unlocked: api.Unlocked) -> list[str]:
        """What would go of what was chosen."""
        if form.cleaned_data["what"] == EVERYTHING:
            everything = self.everything(self.history(unlocked), api.principal(unlocked), unlocked)
            return list(everything["preview"]) if everything else []
        complete = bool(form.cleaned_data.get("receipts"))
        return words.counts(api.plan_erasure(form.cleaned_data["what"], unlocked, receipts_complete=complete).rows)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(
            **{
                "choices": [],
                "everything": None,
                "chosen": "",
                "preview": [],
                "is_everything": False,
                "is_nothing_there": False,
                "is_account_shut": False,
                **kwargs,
            }
        )
        form = context["form"]
        if isinstance(form, ChooseForm):
            # What was chosen came by a form, which a page that is asked for anew does not have.
            context.update(button=gettext("Delete for good"), is_grave=True, hands="erase", reload_address="")
            if "what" in form.fields:
                what = str(form["what"].value() or "")
                context.update(chosen=self.chosen(what), is_everything=what == EVERYTHING)
            if conf.custody() == "browser" and context["is_everything"] and not context["preview"]:
                context["preview"] = self.preview_without_key()
        return context

    def chosen(self, what: str) -> str:
        """What was chosen, in words; nothing, if nothing was."""
        if what == EVERYTHING:
            return gettext("Everything")
        try:
            return title_by_name(api.Receipt.parse(what).disguise, self.pages)
        except ReceiptMalformed:
            return ""

    def preview_without_key(self) -> list[str]:
        """Of the account that is logged in, what would go with everything, as far as its owner's key does not find more."""
        account: Any = self.request.user if self.request.user.is_authenticated else None
        offer = self.departure(account)
        return words.preview(api.plan(offer.name, account, params=offer.params)) if offer else []

    def choices(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        """What there is, each with what would go."""
        entries, account = self.history(unlocked), api.principal(unlocked)
        initial = {
            "identifier": form.cleaned_data.get("identifier", ""),
            "receipts": "\n".join(map(str, form.cleaned_data.get("receipts", []))),
        }
        asked = ChooseForm(**self.whose(), initial=initial)
        del asked.fields["what"]  # the page has a choice for each
        everything = self.everything(entries, account, unlocked)
        return self.show(
            "edna/delete.html",
            form=asked,
            choices=self.each_choice(entries, unlocked),
            everything=everything,
            is_nothing_there=not entries and everything is None,
            is_account_shut=self.is_shut(account),
        )

    def each_choice(self, entries: Sequence[api.HistoryEntry], unlocked: api.Unlocked) -> list[ShownFields]:
        planned = api.plan_erasures([entry.receipt for entry in entries], unlocked)
        return [self.choice(entry, planned[entry.receipt]) for entry in entries]

    def choice(self, entry: api.HistoryEntry, erasure: api.Erasure | EdnaError) -> ShownFields:
        line = ShownFields(
            what=entry.receipt, title=self.pages.title_of(entry), day=words.day(entry.applied_at), problem=""
        )
        if isinstance(erasure, EdnaError):
            return ShownFields(line, problem=words.explain(erasure), counts=[], stays=False)
        return ShownFields(line, counts=words.counts(erasure.rows), stays=erasure.pseudoprincipals > 0)

    def everything(
        self, entries: Sequence[api.HistoryEntry], account: Any, unlocked: api.Unlocked
    ) -> dict[str, Any] | None:
        """What goes with everything; None if that is no choice of its own."""
        offer = self.departure(account)
        if self.is_shut(account) or (offer is None and len(entries) < 2):
            return None
        preview = words.preview(api.plan(offer.name, account, params=offer.params, unlocked=unlocked)) if offer else []
        return {"what": EVERYTHING, "with_account": offer is not None, "preview": preview}

    def departure(self, account: Any) -> Offer | None:
        """What removes this account, of what its owner may do by themselves."""
        offers = self.pages.offers(account) if account is not None else []
        return next((offer for offer in offers if registry.removes_account(registry.get(offer.name))), None)

    def is_shut(self, account: Any) -> bool:
        """Whether the account would go, and is not logged in: a site that has shut somebody out, or asks for a second factor, means this
        door as well."""
        return not is_same(account, self.request.user) and self.departure(account) is not None

    def delete_everything(self, unlocked: api.Unlocked, form: Any) -> Any:
        account: Any = api.principal(unlocked)
        offer = self.departure(account)
        if self.is_shut(account):
            form.add_error(
                None, gettext("Your account is there. Log in first, and then delete everything. Nothing was changed.")
            )
            return self.form_invalid(form)
        if offer is None:
            with transaction.atomic(using=unlocked.using):
                for entry in self.history(unlocked):
                    api.erase(entry.receipt, unlocked, receipts_complete=bool(form.cleaned_data.get("receipts")))
        else:
            api.disguise(offer.name, account, params=offer.params, unlocked=unlocked, keep_no_way_back=True)
            logout(self.request)
        return self.deleted(is_account_gone=unlocked.closed)

    def deleted(self, *, is_account_gone: bool) -> HttpResponse:
        return self.show(
            "edna/deleted.html", title=gettext_lazy("Deleted for good"), form=None, is_account_gone=is_account_gone
        )
