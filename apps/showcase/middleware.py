"""What holds on the whole site, on every page: UTF-8 only, each application sees only its own people, and no browser keeps their pages."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

from django.contrib.auth import middleware
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.cache import patch_cache_control
from django.utils.functional import SimpleLazyObject

from . import applications


def utf8_only(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Other encodings can write half characters, which neither a database nor a page can hold; browsers send UTF-8."""

    def checked(request: HttpRequest) -> HttpResponse:
        if request.encoding and codecs.lookup(request.encoding).name != "utf-8":
            return HttpResponseBadRequest("Send forms in UTF-8.")
        return get_response(request)

    return checked


def kept_by_no_browser(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """What somebody sees who is logged in is asked for anew each time: once they have logged out, Back shows it to nobody."""

    def answered(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        # A page that has not asked whose session it is shows everybody the same.
        if request.session.accessed and request.user.is_authenticated:
            patch_cache_control(response, no_store=True, private=True)
        return response

    return answered


class AuthenticationMiddleware(middleware.AuthenticationMiddleware):
    """Django's own, for a site with several kinds of users: on the pages of one application, those of another are strangers.

    A session says with its backend which model its user is of. Without this, account 7 of one application would be shown the pages of
    another as far as these ask no more than ``is_authenticated``.
    """

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        application = applications.of_path(request.path_info)
        if application is None:
            return
        everybody = request.auser

        async def auser() -> Any:
            return _own(await everybody(), application.model)

        request.user = SimpleLazyObject(lambda: _own(middleware.get_user(request), application.model))
        request.auser = auser


def _own(user: Any, model: type[Model]) -> Any:
    return user if isinstance(user, model) else AnonymousUser()
