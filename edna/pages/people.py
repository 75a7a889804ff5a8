"""Whose pages they are, where they lie, and in which frame: `People`, which every view has as ``pages``.

Keeps: pages for some people show, open and bring back nothing of others. Does not know: the views.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Model
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, reverse
from django.utils.functional import cached_property

from edna import api, inner_door, registry
from edna.errors import EdnaError, SpecError, WrongCredentials
from edna.offers import Offer, offers_for
from edna.pages import words
from edna.visitors import is_principal


class Ways:
    """What the server knows, without any secret, of the ways to somebody's key: one statement, and one more for which they are."""

    def __init__(self, user: Any) -> None:
        self._ask = inner_door.kinds_of_slots(user)

    @property
    def has_key(self) -> bool:
        return self._ask is not None

    @cached_property
    def _kinds(self) -> frozenset[str]:
        return self._ask() if self._ask is not None else frozenset()

    @property
    def lacks_code(self) -> bool:
        """Nobody can bring their key back once its password is forgotten. False, too, where an earlier release has made the key."""
        return bool(self._kinds) and "recovery" not in self._kinds

    @property
    def has_passkey(self) -> bool:
        return "passkey" in self._kinds


class People:
    """One kind of account. Subclass `edna.urls.Pages`, which has the addresses, for other answers than these."""

    #: The namespace of the addresses: ``members:home``. On the pages themselves ``edna:home`` means their own.
    name: str = "edna"
    #: Who logs in here; None: `AUTH_USER_MODEL`, and whoever else is a principal.
    user_model: type[Model] | str | None = None
    #: An address, or the name of one; None: `LOGIN_URL`.
    login_url: str | None = None
    #: The column by which people log in: ``"email"``. Empty: the `USERNAME_FIELD` of their model.
    login_field: str = ""
    #: Where who has disowned a row changes it: by the label of its model, the name of an address that takes its ``pk`` (`EditDisowned`).
    edits: Mapping[str, str] = {}
    #: The frame, with the blocks ``title`` and ``edna``.
    base_template_name: str = "edna/base.html"

    def __init__(self, **options: Any) -> None:
        for option, value in options.items():
            if not hasattr(type(self), option):
                raise TypeError(f"{type(self).__name__} has no {option}.")
            setattr(self, option, value)

    def reverse(self, name: str, request: HttpRequest | None = None) -> str:
        """The address of the page of that name: among those to which ``request`` belongs, if it is about one of them."""
        return reverse(f"edna:{name}", current_app=self.current_app(request))

    def current_app(self, request: HttpRequest | None) -> str:
        """What ``edna:home`` means on a page: what was included with it; these pages, where a view of theirs lies elsewhere."""
        match = request.resolver_match if request is not None else None
        return match.namespace if match and "edna" in match.app_names else self.name

    def make_key_address(self, request: HttpRequest | None = None) -> str:
        """Where somebody makes their key; empty, where these pages leave that to the site."""
        try:
            return self.reverse("make-key", request)
        except NoReverseMatch:
            return ""

    def login_address(self) -> str:
        """Empty, where the name is that of no page of this site."""
        try:
            return resolve_url(self.login_url or settings.LOGIN_URL)
        except Exception:
            return ""

    # Whose they are

    @property
    def model(self) -> type[Model]:
        """Who logs in here."""
        if self.user_model is None:
            return get_user_model()
        return apps.get_model(self.user_model) if isinstance(self.user_model, str) else self.user_model

    def is_for(self, user: Any) -> bool:
        return is_principal(user) and (self.user_model is None or isinstance(user, self.model))

    def concern(self, name: str) -> bool:
        """Whether a disguise of that name is about these people. One whose code is gone may be."""
        found = registry.find(name)
        if self.user_model is None or found is None:
            return True
        try:
            return issubclass(self.model, registry.principal_model_for(found))
        except SpecError:
            return True

    def require(self, unlocked: api.Unlocked) -> None:
        """
        Raises:
            WrongCredentials: it is the key of somebody who does not log in here.
        """
        if self.user_model is not None:
            self.require_account(api.principal(unlocked))

    def require_account(self, account: Model | None) -> None:
        """As `require`, where it is known whose key it is; None while the account is removed.

        Raises:
            WrongCredentials
        """
        if self.user_model is not None and account is not None and not self.is_for(account):
            raise WrongCredentials("This key is of somebody whose pages these are not.")

    # What a site may say otherwise

    def identifier(self, username: str) -> str:
        """What goes with a password, for who logs in with this name. Where people of several kinds may have the same name, put a word of
        their own before it; `register_principal` and `unlock` take the same as ``identifier``."""
        return username

    def identifier_of(self, account: Any) -> str:
        return self.identifier(self.login_name_of(account))

    def login_name_of(self, account: Any) -> str:
        """What somebody types to log in; empty for who is not logged in."""
        if self.login_field and account.is_authenticated:
            return str(getattr(account, self.login_field))
        return str(account.get_username())

    def asks_for_name(self, user: Any) -> bool:
        """Whether somebody types what they log in with, beside a password."""
        return not user.is_authenticated

    def context(self, request: HttpRequest) -> Mapping[str, Any]:
        """What the frame wants to know, on every page."""
        return {}

    def others_read(self) -> bool:
        """Whether anything that these pages may be about can be read by others, too."""
        return any(found.audience and self.concern(name) for name, found in registry.disguises().items())

    def explain(self, error: EdnaError) -> str:
        """A sentence that says what to do about it."""
        return words.explain(error)

    def offers(self, user: Any) -> list[Offer]:
        """What these pages offer to somebody."""
        return offers_for(user)

    def why(self, row: api.Held) -> str:
        """Why this row could not come back, in a sentence."""
        return words.why(row.reason)

    def titles_of(self, name: str) -> Iterable[tuple[Mapping[str, Any], str]]:
        """What a list calls a disguise of that name, by its parameters, where `title_of` looks them up. For a browser that keeps the key:
        it gets all of them, and does not say which one it uses."""
        return ()

    def edit_addresses(self) -> dict[str, str]:
        """Of each model in `edits`, the address with ``{key}`` or ``{uuid}`` in it."""
        return {label.lower(): _with_place_for_key(name) for label, name in self.edits.items()}

    def title_of(self, entry: api.HistoryEntry | api.Waiting) -> str:
        """What a list calls something that was done."""
        return words.called(entry.name)


def _with_place_for_key(name: str) -> str:
    """
    Raises:
        NoReverseMatch: no address of that name takes a ``pk``.
    """
    for key, place in ((987_654_321, "{key}"), (uuid.UUID(int=987_654_321), "{uuid}")):
        with suppress(NoReverseMatch):
            return reverse(name, kwargs={"pk": key}).replace(str(key), place)
    return reverse(name, kwargs={"pk": "edna-key"}).replace("edna-key", "{key}")
