"""What all pages have in common: who may see them, what they leave behind, and how an error is told.

Keeps: a page is kept by no cache and its fields are in no error report; every variable that a template asks for is there, because
Django's log of what is missing prints all the others. Receipts and recovery codes are in the context as objects whose ``repr`` is redacted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix
from django.utils.decorators import method_decorator
from django.utils.functional import Promise, cached_property
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.generic import FormView
from django.views.generic.base import ContextMixin, TemplateResponseMixin, View

from edna import api, conf, shards
from edna.api_http.proofs import at_home
from edna.errors import EdnaError, NotYours, TooBusy
from edna.middleware import edna_page
from edna.pages import handed, words
from edna.pages.forms import KeyForm
from edna.pages.people import People, Ways
from edna.visitors import is_same, shard_of


class Shown:
    """A text that a template prints, and no log."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "<Shown redacted>"


class ShownFields(dict[str, Any]):
    """What a template prints of one thing, field by field; no log has any of them."""

    def __repr__(self) -> str:
        return "<ShownFields redacted>"


class Page(TemplateResponseMixin, ContextMixin, View):
    """A page. ``login_required = False`` lets in those who have no account any more, or have not logged in."""

    title: ClassVar[str | Promise] = ""
    #: Whose pages this one is among.
    pages: People = People()
    login_required: ClassVar[bool] = True
    #: Whether who is logged in needs a key of their own here; without one they are led to where it is made.
    key_required: ClassVar[bool] = False
    #: What a browser that keeps the key does with the form for it (``js/pages``); nothing: the key is used on the server.
    hands: ClassVar[str] = ""
    #: With ``hands = "disguises"``: all that came of the disguises with these names is handed over, at once.
    disguises: ClassVar[Sequence[str]] = ()
    #: Shown instead, where an error leaves nothing else to show.
    refused_template_name: ClassVar[str] = "edna/refused.html"

    @method_decorator([edna_page, sensitive_post_parameters(), sensitive_variables()])
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not hasattr(request, "edna"):
            raise ImproperlyConfigured("edna's pages need edna.middleware.EdnaMiddleware in MIDDLEWARE.")
        if request.user.is_authenticated:
            if not self.pages.is_for(request.user):
                raise Http404
        elif self.login_required:
            # By GET: what a form held is not sent again by a login.
            return redirect_to_login(request.path, self.pages.login_url)
        request.current_app = self.pages.current_app(request)  # what the templates of Django ask
        try:
            if self.key_required and request.user.is_authenticated and not self.ways.has_key:
                return self.without_key()
            with at_home(request):
                return super().dispatch(request, *args, **kwargs)
        except EdnaError as error:
            return self.refused(error)

    @cached_property
    def ways(self) -> Ways:
        """To the key of who is logged in."""
        return Ways(self.request.user)

    def lacks_code(self) -> bool:
        return self.request.user.is_authenticated and self.ways.lacks_code

    def may_have_passkey(self) -> bool:
        """Of who is not logged in, or opens another account's key, nothing is known."""
        return not self.key_required or not self.request.user.is_authenticated or self.ways.has_passkey

    def next_address(self) -> str:
        """Where somebody was going before they came here for a key or a code; empty, if nowhere on this site."""
        given = self.request.POST.get("next") or self.request.GET.get("next") or ""
        is_here = url_has_allowed_host_and_scheme(
            given, allowed_hosts={self.request.get_host()}, require_https=self.request.is_secure()
        )
        return given if is_here else ""

    def without_key(self) -> HttpResponse:
        """What who is logged in sees in the place of this page, until they have a key."""
        return self.show("edna/no_key.html", title=self.title, description="", next=self.request.path)

    def address_of(self, name: str) -> str:
        """The address of another page, among those of which this one is."""
        return self.pages.reverse(name, self.request)

    def refused(self, error: EdnaError) -> HttpResponse:
        """The page about an error that no form can say."""
        context = self.get_context_data(
            title=gettext_lazy("This did not work"), problem=self.pages.explain(error), form=None
        )
        status = 429 if isinstance(error, TooBusy) else 409
        return self.response_class(self.request, [self.refused_template_name], context, status=status)

    def show(self, template_name: str, **context: Any) -> HttpResponse:
        """Answer with another page: what has been done, say."""
        return self.response_class(self.request, [template_name], self.get_context_data(**{"form": None, **context}))

    def whose_devices(self) -> str:
        """Whose devices a browser keeps: several people may use one, and in another database somebody else has the same primary key."""
        user: Any = self.request.user
        said = f"{self.pages.model._meta.label_lower}.{user.pk or ''}"
        # Not by its name: which databases there are is nobody's business.
        shard = shard_of(user).encode()
        return f"{said}.{hashlib.blake2b(shard, digest_size=4).hexdigest()}" if shard else said

    def identifier(self) -> str:
        user: Any = self.request.user
        return "" if self.pages.asks_for_name(user) else self.pages.identifier_of(user)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(
            **{
                "title": self.title,
                "problem": "",
                "custody": conf.custody(),
                "has_devices": conf.has_devices(),
                "has_guardians": conf.has_guardians(),
                "in_browser": conf.custody() != "server",
                "hybrid": conf.is_hybrid(),
                "hands": self.hands,
                "disguises": " ".join(self.disguises),
                "account_model": self.pages.model._meta.label_lower,
                "whose": self.whose_devices(),
                # What goes with a password, of who is logged in, and of who says their name.
                "identifier": self.identifier(),
                "identifier_of_name": self.pages.identifier("{name}"),
                # Printed by pages with a form for the key alone.
                "sentences": words.sentences if conf.custody() != "server" else {},
                "form": None,
                "reload_address": "",
                "address": self.request.path,
                "login_address": self.pages.login_address(),
                "site_address": get_script_prefix(),
                "make_key_address": self.pages.make_key_address(self.request),
                "next": self.next_address(),
                # Asked by templates that say so, and of no statement before.
                "lacks_code": self.lacks_code,
                "may_have_passkey": self.may_have_passkey,
                "base_template_name": self.pages.base_template_name,
                "logged_in": self.request.user.is_authenticated,
                "username": self.pages.login_name_of(self.request.user),
                **self.pages.context(self.request),
                **kwargs,
            }
        )


class FormPage(Page, FormView):  # type: ignore[type-arg]  # takes none when it runs
    """A page with a form. What `edna` refuses in `submitted` is told with it."""

    #: On the button.
    button: ClassVar[str | Promise] = ""
    #: For what cannot be undone by a click.
    is_grave: ClassVar[bool] = False
    #: Whether the page that is asked for anew has the same form: then a reload of what says that something was wrong sends nothing again.
    is_asked_anew: ClassVar[bool] = False

    def form_valid(self, form: Any) -> Any:
        try:
            return self.submitted(form)
        except EdnaError as error:
            form.add_error(None, self.explain(error))
            return self.form_invalid(form)

    def explain(self, error: EdnaError) -> str:
        """What is told with the form."""
        return self.pages.explain(error)

    def submitted(self, form: Any) -> HttpResponseBase:
        """Do it, and answer.

        Raises:
            EdnaError: shown with the form.
        """
        raise NotImplementedError

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        if "form" not in kwargs:
            kwargs["form"] = self.get_form()
        more = {"button": self.button, "is_grave": self.is_grave}
        if self.is_asked_anew and self.request.method == "POST":
            more["reload_address"] = self.request.get_full_path()
        return super().get_context_data(**{**more, **kwargs})


class KeyPage(FormPage):
    """A page that asks for the key and does something with what it opens, in this one request."""

    form_class: type[forms.Form] = KeyForm
    key_required: ClassVar[bool] = True

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), **self.whose()}

    def takes_brought(self) -> bool:
        """Whether what a browser brings along, to be used on the server, is of use here."""
        return True

    def whose(self) -> dict[str, Any]:
        """What a form is told of who fills it in."""
        said = {"user": self.request.user, "pages": self.pages}
        if not self.takes_brought() or not handed.is_brought(self.request):
            return said
        # Once it is sent, that is said by the refusal.
        waits = self.request.method != "POST" and handed.waits_for_log_in(self.request)
        return {**said, "is_brought": True, "waits_for_log_in": waits}

    def submitted(self, form: Any) -> HttpResponseBase:
        unlocked = self.unlock(form)
        with shards.at(unlocked.using):
            return self.opened(form, unlocked)

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponseBase:
        """Do it with the key, and answer.

        Raises:
            EdnaError: shown with the form.
        """
        raise NotImplementedError

    def unlock(self, form: Any) -> api.Unlocked:
        """
        Raises:
            EdnaError: nothing is opened, or it is the key of another account than the one that is logged in.
        """
        if not self.request.user.is_authenticated:
            return self.unlocked(form)
        unlocked = self.opened_by(form)
        account = api.principal(unlocked)
        self.pages.require_account(account)
        if not is_same(account, self.request.user):
            raise NotYours("This is the key of another account than the one that is logged in.")
        return unlocked

    def unlocked(self, form: Any, *, receipts: Sequence[api.Receipt] = ()) -> api.Unlocked:
        """What the form opens until the end of this request: by what was typed, or by what a browser hands over that keeps the key.

        Raises:
            EdnaError: nothing is opened, or it is the key of somebody whose pages these are not.
        """
        unlocked = self.opened_by(form, receipts=receipts)
        self.pages.require(unlocked)
        return unlocked

    def opened_by(self, form: Any, *, receipts: Sequence[api.Receipt] = ()) -> api.Unlocked:
        """As `unlocked`, whosever key it is.

        Raises:
            EdnaError: nothing is opened.
        """
        given = {**form.credentials(), **({"receipts": receipts} if receipts else {})}
        edna: Any = self.request.edna  # type: ignore[attr-defined]  # of EdnaMiddleware
        unlocked: api.Unlocked
        if form.is_handed():
            unlocked = edna.keep(handed.unlock(self.request, receipts=given.get("receipts", ())))
        elif (brought := handed.brought(self.request, given)) is not None:
            unlocked = edna.keep(brought)
        else:
            unlocked = edna.unlock(**given)
        return unlocked

    def history(self, unlocked: api.Unlocked) -> list[api.HistoryEntry]:
        """What is hidden, of these people."""
        return [entry for entry in api.history(unlocked) if self.pages.concern(entry.name)]

    def waiting(self, unlocked: api.Unlocked) -> list[api.Waiting]:
        """What is not back yet, of these people."""
        return [entry for entry in api.waiting(unlocked) if self.pages.concern(entry.name)]
