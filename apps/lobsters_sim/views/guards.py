"""Who may see a page, where a small button leads back to, and what no page may leave behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from ..models import User
from ..voting import NotAllowed

View = Callable[..., HttpResponse]


def viewer_of(request: HttpRequest) -> User | None:
    """The member who looks at the page, if one is logged in: the accounts of other applications of the site are no members."""
    return request.user if isinstance(request.user, User) else None


def member_of(request: HttpRequest) -> User:
    """The same on a page for members."""
    return cast(User, request.user)


def posted_name(request: HttpRequest, field: str) -> str:
    """What a field says that names a row, to be looked up; empty if nothing can have that name."""
    value: str = request.POST.get(field, "")
    return value if len(value) <= 50 and value.isprintable() else ""


def wanted_next(request: HttpRequest) -> str | None:
    """Where the page says that it leads back to, if that is on this site."""
    address = request.POST.get("next") or request.GET.get("next") or ""
    if not address.startswith("/") or not address.isprintable():
        return None
    allowed = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if allowed else None


def back(request: HttpRequest, fallback: str, anchor: str = "") -> HttpResponseRedirect:
    """Behind a button: to the page that it was on, or to ``fallback``; ``anchor`` is where on that page."""
    address = (wanted_next(request) or fallback).partition("#")[0]
    return HttpResponseRedirect(f"{address}#{anchor}" if anchor else address)


def member(view: View) -> View:
    """Members only; others log in first, and come to this page afterwards, or, from a button, to the page that it was on."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if viewer_of(request) is None:
            address = request.get_full_path() if request.method == "GET" else wanted_next(request)
            query = f"?{urlencode({'next': address})}" if address else ""
            return HttpResponseRedirect(reverse("lobsters:login") + query)
        return view(request, *args, **kwargs)

    return checked


def moderator(view: View) -> View:
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        viewer = viewer_of(request)
        if viewer is not None and not viewer.is_moderator:
            raise PermissionDenied("This is for moderators only.")
        return view(request, *args, **kwargs)

    return member(checked)


def by_the_rules(view: View) -> View:
    """What is against the rules of the site changes nothing, and is explained on the page that follows."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except NotAllowed as refusal:
            messages.error(request, str(refusal))
            return back(request, reverse("lobsters:front"))

    return checked


def confidential(view: View) -> View:
    """A page that takes or shows a secret: out of caches, and out of error reports."""
    return never_cache(sensitive_post_parameters()(view))
