"""Do it: what is offered is shown once more in numbers, confirmed by password, and done; the answer shows the receipt.

Keeps: what is done is what the page has told. If it is not so any more, because of a second click, the back button or somebody else, the
page tells what is so now, and asks again.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import Any, Final

from django import forms
from django.contrib.auth import logout
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from edna import api, conf, inner_door, registry
from edna.errors import EdnaError, WrongCredentials
from edna.offers import Offer
from edna.pages import words
from edna.pages.base import KeyPage
from edna.pages.forms import KeyForm
from edna.pages.receipts import ShowsReceipt
from edna.visitors import has_password

#: After that a large disguise that was cut off may be sent again.
_AT_MOST_SECONDS: Final = 600
#: Behind what says which preview it is: of so much that it may be done in several transactions.
_LARGE: Final = "+"


class ConfirmForm(KeyForm):
    """The password of who is logged in; or, where there is none, the key. ``seen`` says which preview the page has shown."""

    also_earlier = forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("Also what carried my name once, and does not any more"),
        help_text=gettext_lazy("Your key finds it. Without this it stays as it is, without your name."),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, asks: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        if not asks:
            del self.fields["also_earlier"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if password and has_password(self.user) and not self.user.check_password(password):
            raise ValidationError(gettext("This is not your password."))
        return password

    def password_is_right(self) -> bool:
        """Whether the password of the account was given. Without one of their own, people have a password for the key, perhaps."""
        return bool(self.cleaned_data["password"] and has_password(self.user))

    def needs_key(self) -> bool:
        """Whether only the key tells that it is the same person, or finds what is meant."""
        return bool(self.cleaned_data.get("also_earlier") or not self.password_is_right())


class Apply(ShowsReceipt, KeyPage):
    """One offer: preview, confirmation, receipt."""

    form_class = ConfirmForm
    template_name = "edna/apply.html"
    is_asked_anew = True
    #: For a second click, after the account has gone by the first.
    gone_template_name = "edna/gone_already.html"

    def get_offers(self) -> list[Offer]:
        """As `Home.get_offers`."""
        return self.pages.offers(self.request.user)

    #: Why there is no plan.
    problem = ""
    #: While this is done, as `alone` says.
    is_alone = False

    @cached_property
    def offer(self) -> Offer:
        for offer in self.get_offers():
            if offer.name == self.kwargs["name"]:
                return offer
        raise Http404

    @cached_property
    def plan(self) -> api.Plan | None:
        """What it would do now; None if it cannot be done, and `problem` says why."""
        try:
            inner_door.require_audience(self.offer.name, principal=self.request.user)  # type: ignore[arg-type]  # see Page.dispatch
            return api.plan(self.offer.name, self.request.user, params=self.offer.params)  # type: ignore[arg-type]  # see Page.dispatch
        except EdnaError as error:
            self.problem = words.explain(error)
            return None

    @property
    def preview(self) -> list[str]:
        return words.preview(self.plan) if self.plan else []

    @property
    def perhaps_more(self) -> bool:
        if self.request.method != "POST" or "plan" in self.__dict__:
            return bool(self.plan and self.plan.beyond_reach)
        # What was sent is planned for once, under the lock.
        return self._perhaps_more

    @cached_property
    def _perhaps_more(self) -> bool:
        try:
            return bool(inner_door.beyond_reach(self.offer.name, self.request.user))  # type: ignore[arg-type]  # see Page.dispatch
        except EdnaError:
            return False  # told by the plan

    @property
    def removes_account(self) -> bool:
        tables = self.plan.tables if self.plan else []
        return any(table.rows and table.operation == "remove" and words.is_account(table.model) for table in tables)

    @property
    def is_empty(self) -> bool:
        return not self.preview and not self.perhaps_more

    def seen(self) -> str:
        """Which preview this is. In the page it says nothing that the page does not."""
        preview = hashlib.sha256("\n".join([*self.preview, str(self.perhaps_more)]).encode()).hexdigest()[:32]
        return preview + (_LARGE if self.plan and _is_large(self.plan) else "")

    def get_form_kwargs(self) -> dict[str, Any]:
        asks = self.offer.asks_for_key is None and self.perhaps_more
        return {**super().get_form_kwargs(), "asks": asks}

    def get_initial(self) -> dict[str, Any]:
        # Called where the form is shown.
        return {**super().get_initial(), "seen": self.seen}

    def submitted(self, form: Any) -> HttpResponse:
        try:
            return self.confirmed(form)
        except EdnaError:
            if not self.is_still_there():
                return self.gone_already()
            if self.planned_anew() is None:
                return self.form_invalid(form)
            raise

    def confirmed(self, form: Any) -> HttpResponse:
        """Do what the page has told, or tell what is so now.

        Raises:
            EdnaError: nothing was done; perhaps because another request has removed the account meanwhile.
        """
        unlocked = None
        voices = None
        if form.needs_key() or (self.offer.asks_for_key and self.perhaps_more):
            # Before the locks: it takes its time.
            try:
                unlocked = self.unlock(form)
            except WrongCredentials:
                if not form.password_is_right():
                    raise
                problem = gettext(
                    "This is your password, but it does not open your key. Please give your recovery code instead of it."
                )
                form.add_error(None, problem)
                return self.form_invalid(form)
        if form.cleaned_data.get("also_earlier") or (self.offer.asks_for_key and self.perhaps_more):
            voices = unlocked
        outcome = self.done_if_seen(form, voices)
        return outcome if isinstance(outcome, HttpResponse) else self.done(outcome)

    def planned_anew(self) -> api.Plan | None:
        """`plan`, as it is now."""
        self.__dict__.pop("plan", None)
        return self.plan

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether nobody does the same at this moment, as far as the site's cache tells, which may be another one in each process. It saves
        the second click its work; that nothing is done twice, `done_if_seen` sees to."""
        user: Any = self.request.user
        key = (
            "edna:apply:"
            + salted_hmac("edna.pages.applying", f"{user._meta.label_lower} {user.pk} {user._state.db}").hexdigest()
        )
        self.is_alone = bool(cache.add(key, 1, timeout=_AT_MOST_SECONDS))
        try:
            yield self.is_alone
        finally:
            if self.is_alone:
                self.is_alone = False
                cache.delete(key)

    def done_if_seen(self, form: Any, unlocked: api.Unlocked | None) -> api.Receipt | HttpResponse:
        """Do it, if it is still what the page has told, once the account is locked; the receipt, or what the page tells instead.

        The plan that is looked at is the one that is done. In several transactions the first of them looks: no lock lasts longer, but what
        one request has begun is another plan to the next.

        Raises:
            EdnaError: it was refused, or the account is gone.
        """
        user: Any = self.request.user
        sent_already = gettext("You have sent this already, and it is being done. Please look again in a minute.")
        changed = gettext("This has changed since you opened the page. Please look again: nothing was done yet.")
        problem = ""
        with contextlib.ExitStack() as until_done:

            def comes_alone() -> bool:
                nonlocal problem
                is_alone = self.is_alone or until_done.enter_context(self.alone())
                problem = "" if is_alone else sent_already
                return is_alone

            def is_as_told(plan: api.Plan | None) -> bool:
                nonlocal problem
                if not self.is_still_there() or ((plan is None or _is_large(plan)) and not comes_alone()):
                    return False
                if plan is None or unlocked is not None:
                    # The page has told all of it together, and what it is without the key.
                    self.planned_anew()
                else:
                    self.plan = plan
                if self.plan is None or self.is_empty:
                    return False
                problem = "" if form.cleaned_data["seen"] == self.seen() else changed
                return not problem

            receipt = None
            if not form.cleaned_data["seen"].endswith(_LARGE) or comes_alone():
                receipt = inner_door.disguise_if(
                    self.offer.name, user, params=self.offer.params, unlocked=unlocked, condition=is_as_told
                )
            if receipt is not None:
                return receipt
        if not self.is_still_there():
            return self.gone_already()
        return self.form_invalid(form) if self.planned_anew() is None else self.told_anew(problem)

    def told_anew(self, problem: str) -> HttpResponse:
        """The page as it is now, with nothing typed into it."""
        return self.render_to_response(self.get_context_data(form=self.fresh_form(), problem=problem))

    def gone_already(self) -> HttpResponse:
        """The answer to a second click, after the first has removed the account."""
        logout(self.request)
        title = gettext("Your account is gone already")
        return self.show(
            self.gone_template_name,
            title=title,
            only_by_receipt=self.offer.only_by_receipt,
            held=words.who_else_reads(self.offer.name),
        )

    def fresh_form(self) -> Any:
        """Not bound: nothing is typed into it yet."""
        options = self.get_form_kwargs()
        return self.form_class(**{name: value for name, value in options.items() if name not in ("data", "files")})

    def done(self, receipt: api.Receipt) -> HttpResponse:
        """The answer that shows the receipt. Whose account is gone is logged out."""
        return self.show_done(self.offer, receipt, is_gone=not self.is_still_there())

    def without_key(self) -> HttpResponse:
        if not self.is_still_there():
            return self.gone_already()
        description = self.offer.description
        return self.show("edna/no_key.html", title=self.offer.title, description=description, next=self.request.path)

    def is_still_there(self) -> bool:
        """Whether the person can go on with their account."""
        user: Any = self.request.user
        model = user._meta.model
        found = model._base_manager.using(registry.database_of(user, model)).filter(pk=user.pk).first()
        return bool(found is not None and getattr(found, "is_active", True))

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            **{
                "title": self.offer.title,
                "offer": self.offer,
                "held": words.who_else_reads(self.offer.name),
                "preview": self.preview,
                "perhaps_more": self.perhaps_more,
                "asks_for_key": bool(self.offer.asks_for_key and self.perhaps_more),
                "is_empty": self.is_empty,
                "problem": self.problem,
                "hands": "voices" if self.perhaps_more and self.offer.asks_for_key is not False else "proof",
                "button": self.offer.title,
                "is_grave": self.removes_account,
                **kwargs,
            }
        )


def _is_large(plan: api.Plan) -> bool:
    """Whether it is done in several transactions, if nobody opens one around them."""
    return sum(table.rows for table in plan.tables) > conf.chunk_rows()
