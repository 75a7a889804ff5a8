"""`EdnaMiddleware`: what one request may do with an unlocked principal, and what no request may.

Guarantees, synchronous and asynchronous (without a change of thread) alike:

- ``request.edna`` unlocks; what it unlocked is closed when the view's response is there, or its exception. A streamed
  body is produced after that.
- A request that does not use it costs some microseconds and no statement.
- The response to one that does is kept out of caches, and its address out of other sites' logs.
- ``request.user`` is never a pseudoprincipal, except inside ``with request.edna.speak_as(obj)``. See `edna.visitors`
  for what that takes, and `edna.receivers` for `login()`, which is watched without this middleware, too.
- Error reports show no secrets; see `edna.reports`.
- A request that `edna.throttle` has refused is answered with status 429, whether the view says so itself or lets the error go.

Does not know: users whom something sets after this middleware (put it behind all that set ``request.user``; a REST
framework's authenticators ask `edna.is_pseudoprincipal` themselves).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from http import HTTPStatus
from types import TracebackType
from typing import Any, TypeVar, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control
from django.utils.functional import LazyObject
from django.views.decorators.debug import sensitive_variables

from edna import api, reports, views
from edna.api_http import proofs
from edna.errors import CapabilityClosed, TooBusy
from edna.throttle import Asking, current
from edna.visitors import LazyVisitor, Visitor, is_principal

View = TypeVar("View", bound=Callable[..., Any])

_AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"


class EdnaMiddleware:
    """Put it into ``MIDDLEWARE`` behind ``AuthenticationMiddleware``, and behind all else that sets ``request.user``."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        name, names = f"{__name__}.{type(self).__name__}", list(settings.MIDDLEWARE)
        if {name, _AUTHENTICATION} <= set(names) and names.index(name) < names.index(_AUTHENTICATION):
            raise ImproperlyConfigured(f"In MIDDLEWARE, put {name} behind {_AUTHENTICATION}.")
        self.get_response = get_response
        self._filter = reports.exception_reporter_filter()
        self._asynchronous = iscoroutinefunction(get_response)
        if self._asynchronous:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if self._asynchronous:
            return self._acall(request)
        edna = self._attach(request)
        if edna.outsider is not None:
            request.user = edna.offered = edna.admit(edna.outsider)
        outer = current.set(edna)
        try:
            response = self.get_response(request)
        finally:
            current.reset(outer)
            edna.close()
        if edna.is_new_today():
            edna.note()
        if edna.used:
            finish(response, edna)
        return response

    async def _acall(self, request: HttpRequest) -> Any:
        edna = self._attach(request)
        if edna.outsider is not None:
            request.user = edna.offered = await edna.aadmit(edna.outsider)
        outer = current.set(edna)
        try:
            response = await self.get_response(request)
        finally:
            current.reset(outer)
            edna.close()
        if edna.is_new_today():
            await sync_to_async(edna.note)()
        if edna.used:
            finish(response, edna)
        return response

    def _attach(self, request: HttpRequest) -> RequestEdna:
        edna = request.edna = RequestEdna(request)  # type: ignore[attr-defined]
        request.exception_reporter_filter = self._filter  # type: ignore[attr-defined]
        user: Any = getattr(request, "user", None)
        if isinstance(user, LazyObject):
            edna.lazy_user = user
            request.user = edna.offered = LazyVisitor(edna.resolve)  # type: ignore[assignment]
        else:
            edna.outsider = user
        auser = getattr(request, "auser", None)
        if auser is not None:
            edna.auser = auser
            request.auser = edna.aresolve
        return edna

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """A page instead of `TooBusy`. Of all else, what the log and the error page will print shows no secret of this request."""
        if isinstance(exception, TooBusy):
            return views.too_busy(request, exception)
        reports.scrub(exception, request)
        return None


class RequestEdna(Visitor, Asking):
    """``request.edna``: unlock, and speak as a pseudoprincipal, for as long as this request lasts."""

    _closed = False
    _unlocked: tuple[api.Unlocked, ...] = ()

    def mark(self) -> None:
        """The response to this request shows a secret, though nothing was unlocked for it."""
        self.used = True

    @sensitive_variables()
    def unlock(
        self,
        *,
        password: str | None = None,
        recovery_code: api.RecoveryCode | str | None = None,
        secret_key: api.SecretKey | str | None = None,
        identifier: str | None = None,
        receipts: Sequence[api.Receipt | str] = (),
    ) -> api.Unlocked:
        """`edna.unlock` until the end of this request. A password goes with the user name of who is logged in.

        Raises:
            WrongCredentials, RecoveryCodeMalformed, KeyMalformed, ReceiptMalformed; CapabilityClosed after the request.
        """
        self.mark()
        if self._closed:
            raise CapabilityClosed(
                "This request has been answered, and all that it unlocked is closed. Unlock in the view."
            )
        user: Any = getattr(self._request, "user", None) if password is not None else None
        if password is not None and identifier is None:
            # Not every principal model has user names; `edna.unlock` says what is missing.
            named = getattr(user, "is_authenticated", False) and hasattr(user, "get_username")
            identifier = user.get_username() if named else None
        unlocked = api.unlock(
            secret_key=api.SecretKey.parse(secret_key) if isinstance(secret_key, str) else secret_key,
            identifier=identifier,
            password=password,
            recovery_code=recovery_code,
            receipts=receipts,
            principal=user if is_principal(user) else None,
        )
        return self.keep(unlocked)

    def keep(self, unlocked: api.Unlocked) -> api.Unlocked:
        """Close it with what was unlocked here: something that a browser has handed over."""
        self.mark()
        self._unlocked += (unlocked,)
        return unlocked

    async def aunlock(self, **credentials: Any) -> api.Unlocked:
        """`unlock` for asynchronous views."""
        return await sync_to_async(self.unlock)(**credentials)

    def speaks_for(self, model: type[Model] | None = None) -> list[Any]:
        """The primary keys of the pseudoprincipals that the unlocked principal speaks for, or whose keys the browser has proved.

        Raises:
            CapabilityClosed: nothing is unlocked, and nothing proved.
            KeyNotProved: what was proved was so too long ago, or in another browser.
        """
        return proofs.speaks_for(self._request, model) if self._is_proved() else api.speaks_for(self._open(), model)

    async def aspeaks_for(self, model: type[Model] | None = None) -> list[Any]:
        """`speaks_for` for asynchronous views."""
        return await sync_to_async(self.speaks_for)(model)

    def speak_as(self, obj: Model, *, owner: str | None = None) -> SpeakingAs:
        """``with request.edna.speak_as(answer):`` makes ``request.user`` the pseudoprincipal that owns ``answer``.

        The block itself raises:
            CapabilityClosed: nothing is unlocked, and the browser has proved nothing.
            KeyNotProved: what it has proved was so too long ago, or in another browser.
            NotYours: the unlocked principal, or what was proved, does not speak for the object's owner.
        """
        return SpeakingAs(self._request, lambda: self._speaker(obj, owner))

    def _speaker(self, obj: Model, owner: str | None) -> Model:
        if self._is_proved():
            return proofs.speak_as(self._request, obj, owner=owner)
        return api.speak_as(self._open(), obj, owner=owner)

    def _is_proved(self) -> bool:
        """Whether the browser, which keeps the key, says for whom it speaks: where nothing is unlocked here."""
        self.mark()
        is_open = any(not unlocked.closed for unlocked in self._unlocked)
        return not self._closed and not is_open and proofs.has_voices(self._request)

    def close(self) -> None:
        self._closed = True
        for unlocked in self._unlocked:
            unlocked.close()

    def _open(self) -> api.Unlocked:
        self.mark()
        for unlocked in reversed(self._unlocked):
            if not unlocked.closed:
                return unlocked
        raise CapabilityClosed("Nothing is unlocked in this request; call request.edna.unlock(...) first.")


class SpeakingAs:
    """A context manager, synchronous and asynchronous, inside which a request comes from a pseudoprincipal."""

    def __init__(self, request: HttpRequest, find: Callable[[], Model]) -> None:
        self._request = request
        self._find = find

    def __enter__(self) -> Model:
        return self._become(self._find())

    async def __aenter__(self) -> Model:
        return self._become(await sync_to_async(self._find)())

    def _become(self, pseudoprincipal: Any) -> Model:
        async def auser() -> Any:
            return pseudoprincipal

        request = self._request
        self._before = getattr(request, "user", None), getattr(request, "auser", None)
        self._inside = pseudoprincipal
        request.user, request.auser = pseudoprincipal, auser
        return cast(Model, pseudoprincipal)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whom a login or a logout inside the block has put there stays.
        if self._request.user is self._inside:
            self._request.user, self._request.auser = self._before  # type: ignore[assignment]

    async def __aexit__(self, *details: Any) -> None:
        self.__exit__(*details)


def edna_page(view: View) -> View:
    """Decorates a view whose page shows a receipt, a key or a recovery code, whether or not it uses ``request.edna``."""
    if iscoroutinefunction(view):

        @wraps(view)
        async def protected(*args: Any, **kwargs: Any) -> Any:
            return protect(await view(*args, **kwargs))
    else:

        @wraps(view)
        def protected(*args: Any, **kwargs: Any) -> Any:
            return protect(view(*args, **kwargs))

    return cast(View, protected)


def protect(response: HttpResponseBase) -> HttpResponseBase:
    """Kept by no cache; its address told to no other site.

    Not ``no-referrer``: a form on such a page is sent with ``Origin: null``, which Django's CSRF protection refuses.
    """
    patch_cache_control(response, no_store=True, private=True)
    if response.headers.get("Referrer-Policy") != "no-referrer":
        response.headers["Referrer-Policy"] = "same-origin"
    return response


def finish(response: HttpResponseBase, asking: Asking) -> None:
    """Protect the response to a request that used edna. If it was refused, say so to programs as the page does to people.

    Only a page gets another status: a redirect, or an error of another kind, says something that the view wants to be heard.
    """
    protect(response)
    if not asking.refused:
        return
    if response.status_code == HTTPStatus.OK:
        response.status_code = HTTPStatus.TOO_MANY_REQUESTS
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        response.headers.setdefault("Retry-After", str(asking.retry_after_seconds))
