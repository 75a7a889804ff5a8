"""Who may open a page, what every page is given, and what no page may leave behind.

Every view behind `member` gets the `Viewer` as its second argument: the roles that count now, which are not always those of the account.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from ..names import name_of
from ..policy import Viewer

View = Callable[..., HttpResponse]
#: What `login` must be told about somebody who was not authenticated by a backend just now.
BACKEND = "apps.hotcrp_sim.auth.HotcrpBackend"


def show(request: HttpRequest, template: str, context: dict[str, Any] | None = None) -> HttpResponse:
    """A page, with who looks at it."""
    return render(request, f"hotcrp_sim/{template}", {**(context or {}), "me": me(request)})


def me(request: HttpRequest) -> dict[str, Any] | None:
    """Who looks at a page."""
    viewer = Viewer.of(request)
    return None if viewer is None else {"viewer": viewer, "name": name_of(viewer.user, "Your account")}


def member(view: View) -> View:
    """People with an account here. Strangers, such as people of another application of the site, get the login page."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        viewer = Viewer.of(request)
        if viewer is None:
            return redirect_to_login(request.get_full_path(), reverse("hotcrp:login"))
        return view(request, viewer, *args, **kwargs)

    return checked


def committee(view: View) -> View:
    """Members of the programme committee, and chairs; others get a 403 that says so."""

    @wraps(view)
    def checked(request: HttpRequest, viewer: Viewer, *args: Any, **kwargs: Any) -> HttpResponse:
        if not viewer.pc:
            raise PermissionDenied("This page is for the programme committee.")
        return view(request, viewer, *args, **kwargs)

    return member(checked)


def chair(view: View) -> View:
    """Chairs only; others get a 403 that says so."""

    @wraps(view)
    def checked(request: HttpRequest, viewer: Viewer, *args: Any, **kwargs: Any) -> HttpResponse:
        if not viewer.chair:
            raise PermissionDenied("This page is for the chairs.")
        return view(request, viewer, *args, **kwargs)

    return member(checked)


def confidential(view: View) -> View:
    """A page that takes or shows a secret: out of caches, and out of error reports."""
    return never_cache(sensitive_post_parameters()(view))
