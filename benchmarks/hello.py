"""A hello-world view behind a new project's middleware, with and without edna's, and what a request of it takes in this process.

Knows no server (`benchmarks.served` starts one) and no report (`benchmarks.middleware` makes it).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter_ns
from typing import Any

import django
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.test import AsyncRequestFactory, RequestFactory
from django.urls import path
from django.utils.functional import SimpleLazyObject

EDNA = "edna.middleware.EdnaMiddleware"
NEW_PROJECT = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
#: Nanoseconds of a request without edna's middleware and of one with it.
Samples = list[tuple[int, int]]
BARE = ["benchmarks.hello.Authentication"]


class Authentication:
    """What Django's middleware of that name does for a request, without the change of thread that it takes for it."""

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        from django.contrib.auth.middleware import auser, get_user  # not before Django is set up

        self.get_response, self.auser, self.get_user = get_response, auser, get_user
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        request.user = SimpleLazyObject(lambda: self.get_user(request))  # type: ignore[assignment]
        request.auser = partial(self.auser, request)
        return self.get_response(request)


def hello(request: HttpRequest) -> HttpResponse:
    return HttpResponse("Hello, world")


async def ahello(request: HttpRequest) -> HttpResponse:
    return HttpResponse("Hello, world")


urlpatterns = [path("", hello), path("async/", ahello)]


def synchronous(middleware: list[str]) -> Callable[[], int]:
    """A request, and how many nanoseconds it took."""
    settings.MIDDLEWARE = middleware
    handler = WSGIHandler()
    make = RequestFactory().get

    def request() -> int:
        made = make("/")
        start = perf_counter_ns()
        response = handler.get_response(made)
        taken = perf_counter_ns() - start
        assert response.status_code == 200
        return taken

    return request


def asynchronous(middleware: list[str]) -> Callable[[], Awaitable[int]]:
    settings.MIDDLEWARE = middleware
    handler = ASGIHandler()
    make = AsyncRequestFactory().get

    async def request() -> int:
        made = make("/async/")
        start = perf_counter_ns()
        response = await handler.get_response_async(made)
        taken = perf_counter_ns() - start
        assert response.status_code == 200
        return taken

    return request


def both(without: Callable[[], int], with_edna: Callable[[], int], rounds: int) -> Samples:
    """One of each in turn, another one first each time; the first tenth only warms up."""
    samples = []
    for number in range(rounds):
        if number % 2:
            samples.append((without(), with_edna()))
        else:
            more = with_edna()
            samples.append((without(), more))
    return samples[rounds // 10 :]


def measure(middleware: list[str], rounds: int) -> Samples:
    return both(synchronous(middleware), synchronous([*middleware, EDNA]), rounds)


async def ameasure(middleware: list[str], rounds: int) -> Samples:
    without, with_edna = asynchronous(middleware), asynchronous([*middleware, EDNA])
    samples = []
    for number in range(rounds):
        if number % 2:
            samples.append((await without(), await with_edna()))
        else:
            more = await with_edna()
            samples.append((await without(), more))
    return samples[rounds // 10 :]


def set_up() -> None:
    """Django, with a site of one view."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings_test")
    django.setup()
    settings.ROOT_URLCONF, settings.ALLOWED_HOSTS = "benchmarks.hello", ["testserver", "127.0.0.1"]
