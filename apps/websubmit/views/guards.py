"""Who may see a page, and what no page may leave behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

View = Callable[..., HttpResponse]

member = login_required(login_url=reverse_lazy("websubmit:login"))


def staff(view: View) -> View:
    """Staff only: others get a 403 that says so, strangers the login page."""

    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_admin:
            raise PermissionDenied("Pages under “Staff” are for the course staff only.")
        return view(request, *args, **kwargs)

    return member(checked)


def confidential(view: View) -> View:
    """A page that takes or shows a secret: out of caches, and out of error reports."""
    return never_cache(sensitive_post_parameters()(view))
