"""The pages of guardians: who they are, having them keep a way back, and the way back itself for whoever has nothing left.

Keeps: what is asked of guardians is known by a code that only the page has which made it, and those that follow from it; nothing that the
server writes has it. Not there on a site without ``EDNA["GUARDIANS"]``, and where keys stay in browsers, a script does
it all, and the guardians are asked from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.debug import sensitive_variables
from django.views.generic import View

from edna import api, conf
from edna.errors import CustodyError, EdnaError, NotYours, WrongCredentials
from edna.guardians import enrolments, way_back
from edna.guardians.forms import AskForm, EnrollForm, FinishForm, GuardianCodeForm, RequestForm
from edna.guardians.site import configured
from edna.pages import words
from edna.pages.base import FormPage, KeyPage, Page, Shown
from edna.pages.keys.base import require_own, set_password, together


class GuardiansPage(Page):
    """What all of them know: the guardians of this site."""

    #: What the script does with the form where the key stays in the browser; elsewhere the site uses the key.
    browser_hands: ClassVar[str] = ""

    # Guardians are asked between transactions, and what they were asked is on the disk before: in none of the whole request.
    @method_decorator(transaction.non_atomic_requests)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not conf.has_guardians():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if conf.custody() == "browser":
            # Only the script could do it.
            return self.render_to_response(self.get_context_data())
        return super().post(request, *args, **kwargs)  # type: ignore[misc,no-any-return]  # of the page with a form

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        site = configured()
        names = [site.names.get(member.number, "") for member in site.roster.members]
        hands = self.browser_hands if conf.custody() == "browser" else ""
        more = {
            "names": names,
            "count": site.roster.count,
            "needed": site.roster.threshold,
            "waits": (),
            "hands": hands,
        }
        return super().get_context_data(**{**more, **kwargs})


class Enroll(GuardiansPage, KeyPage):
    """Who the guardians are, whether they keep a way back, and the form to have them do so."""

    template_name = "edna/guardians.html"
    title: ClassVar[str | Promise] = gettext_lazy("Ways back: guardians")
    browser_hands = "guardians"
    button = gettext_lazy("Have the guardians help me")
    form_class = EnrollForm

    def get_initial(self) -> dict[str, Any]:
        user: Any = self.request.user
        field = getattr(user, "get_email_field_name", lambda: "email")()
        return {**super().get_initial(), "contact": getattr(user, field, "")}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        user: Any = self.request.user
        more = {"has_key": api.is_registered(user), "is_enrolled": enrolments.is_enrolled(user)}
        return super().get_context_data(**{**more, **kwargs})

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        identifier = self.pages.identifier_of(self.request.user)
        data = form.cleaned_data
        missing = enrolments.enroll(unlocked, identifier=identifier, contact=data["contact"], pin=data["pin"])
        return self.show(
            "edna/guardians_done.html",
            title=gettext_lazy("The guardians help you"),
            done="enrolled",
            heard=configured().roster.count - len(missing),
            has_pin=bool(data["pin"]),
        )


class Withdraw(GuardiansPage, KeyPage):
    """The way back is given up."""

    template_name = "edna/guardians_withdraw.html"
    title: ClassVar[str | Promise] = gettext_lazy("Without guardians")
    browser_hands = "guardians-withdraw"
    button = gettext_lazy("Have the guardians forget me")
    is_grave = True

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        deaf = enrolments.withdraw(unlocked)
        return self.show(
            "edna/guardians_done.html",
            title=gettext_lazy("The guardians do not help you any more"),
            done="withdrawn",
            heard=configured().roster.count - len(deaf),
        )


class Veto(GuardiansPage, KeyPage):
    """The owner refuses what somebody else asks."""

    template_name = "edna/guardians_veto.html"
    title: ClassVar[str | Promise] = gettext_lazy("It was not me")
    browser_hands = "guardians-veto"
    button = gettext_lazy("Refuse it")
    login_required = False

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        deaf = enrolments.veto(unlocked)
        return self.show(
            "edna/guardians_done.html",
            title=gettext_lazy("It is refused"),
            done="refused",
            heard=configured().roster.count - len(deaf),
        )


class _Request(GuardiansPage, FormPage):
    """A page whose answer shows a request, and how far it is."""

    login_required = False

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "pages": self.pages}

    def get_initial(self) -> dict[str, Any]:
        user: Any = self.request.user
        named = {"identifier": self.pages.login_name_of(user)} if user.is_authenticated else {}
        return {**super().get_initial(), **named}

    def explain(self, error: EdnaError) -> str:
        if isinstance(error, WrongCredentials):
            # Nobody has typed anything that opens a key here: the general words for it would mislead.
            return gettext("Nobody of this name has guardians here. Check for typing errors; nobody was asked.")
        return super().explain(error)

    @sensitive_variables()
    def progress(
        self, name: str, code: api.RecoveryCode, progress: way_back.Progress, *, finish: Any = None, **context: Any
    ) -> HttpResponse:
        waits = [
            (answer, GuardianCodeForm(initial={"number": answer.number}, auto_id=f"id_{answer.number}_%s"))
            for answer in progress.answers
        ]
        return self.show(
            "edna/guardians_request.html",
            title=gettext_lazy("Your request to the guardians"),
            name=Shown(name),
            code=code,
            progress=progress,
            waits=waits,
            finish=finish or FinishForm(),
            **{"is_new": False, "problem": "", **context},
        )


class Ask(_Request):
    """Somebody who has lost everything asks for help."""

    template_name = "edna/guardians_ask.html"
    title: ClassVar[str | Promise] = gettext_lazy("You have lost everything?")
    browser_hands = "guardians-ask"
    button = gettext_lazy("Ask the guardians")
    form_class = AskForm

    def submitted(self, form: Any) -> HttpResponse:
        name = form.cleaned_data["identifier"]
        code, progress = way_back.ask(self.pages.identifier(name))
        self.request.edna.mark()  # type: ignore[attr-defined]  # of EdnaMiddleware
        return self.progress(name, code, progress, is_new=True)


class Request(_Request):
    """How far a request is, the codes for it, and its end: a new password."""

    template_name = "edna/guardians_look.html"
    title: ClassVar[str | Promise] = gettext_lazy("Your request to the guardians")
    browser_hands = "guardians-request"
    button = gettext_lazy("Look")
    form_class = RequestForm

    @sensitive_variables()
    def submitted(self, form: Any) -> HttpResponse:
        name, code = form.cleaned_data["identifier"], form.cleaned_data["request_code"]
        self.request.edna.mark()  # type: ignore[attr-defined]  # of EdnaMiddleware
        steps: Mapping[str, Callable[[str, api.RecoveryCode], HttpResponse]] = {
            "confirm": self.confirm,
            "finish": self.finish,
        }
        return steps.get(self.request.POST.get("step", ""), self.looked)(name, code)

    def looked(self, name: str, code: api.RecoveryCode, **context: Any) -> HttpResponse:
        return self.progress(name, code, way_back.look(self.pages.identifier(name), code), **context)

    def confirm(self, name: str, code: api.RecoveryCode) -> HttpResponse:
        form, problem = GuardianCodeForm(self.request.POST), ""
        if form.is_valid():
            said = form.cleaned_data
            try:
                way_back.confirm(self.pages.identifier(name), code, said["number"], said["code"])
            except CustodyError as error:
                problem = words.explain(error)
        return self.looked(name, code, problem=problem)

    @sensitive_variables()
    def finish(self, name: str, code: api.RecoveryCode) -> HttpResponse:
        form = FinishForm(self.request.POST)
        if not form.is_valid():
            return self.looked(name, code, finish=form)
        identifier, password = self.pages.identifier(name), form.cleaned_data["new_password"]
        try:
            unlocked = self.request.edna.keep(  # type: ignore[attr-defined]  # of EdnaMiddleware
                way_back.recover(identifier, code, pin=form.cleaned_data["pin"])
            )
            self.pages.require(unlocked)
            account: Any = api.principal(unlocked)
            if account is None:
                api.change_password(unlocked, identifier=identifier, password=password)
            else:
                self.set_password(account, unlocked, password)
        except ValidationError as error:
            form.add_error(None, error)
            return self.looked(name, code, finish=form)
        except EdnaError as error:
            return self.looked(name, code, problem=words.explain(error))
        return self.show(
            "edna/guardians_done.html",
            title=gettext("Your password is set"),
            done="back" if account is not None else "back-without-account",
            heard=0,
        )

    @sensitive_variables()
    def set_password(self, account: Any, unlocked: api.Unlocked, password: str) -> None:
        require_own(unlocked, self.request.user)
        if not issubclass(type(account), self.pages.model):
            raise NotYours("This key belongs to somebody who does not log in as the users of this site do.")
        with together(account):
            set_password(account, password)
            api.change_password(unlocked, identifier=self.pages.identifier_of(account), password=password)
        if self.request.user.is_authenticated:
            update_session_auth_hash(self.request, account)


def patterns(page: Callable[[str, type[View], str], Any]) -> list[Any]:
    """``page`` makes one, of its route, its view and its name."""
    return [
        page("guardians/", Enroll, "guardians"),
        page("guardians/without/", Withdraw, "guardians-withdraw"),
        page("guardians/refuse/", Veto, "guardians-veto"),
        page("guardians/ask/", Ask, "guardians-ask"),
        page("guardians/request/", Request, "guardians-request"),
    ]
