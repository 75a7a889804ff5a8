"""What `EdnaMiddleware` costs a request that has nothing to do with edna: ``python -m benchmarks.middleware``.

A hello-world view behind the middleware of a new Django project, with and without edna's, one request of each in turn, so that
whatever else the machine does hits both. In the process, without network or server. The second table is the same view behind
nothing but the authentication's two lines, to see the microseconds: there is little else to measure against.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
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

from benchmarks.timing import percentile

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
BARE = ["benchmarks.middleware.Authentication"]


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


def measure(middleware: list[str], rounds: int) -> tuple[list[int], list[int]]:
    without, with_edna = synchronous(middleware), synchronous([*middleware, EDNA])
    samples = [(without(), with_edna()) for _ in range(rounds)]
    return tuple(map(list, zip(*samples[rounds // 10 :], strict=True)))  # type: ignore[return-value]


async def ameasure(middleware: list[str], rounds: int) -> tuple[list[int], list[int]]:
    without, with_edna = asynchronous(middleware), asynchronous([*middleware, EDNA])
    samples = [(await without(), await with_edna()) for _ in range(rounds)]
    return tuple(map(list, zip(*samples[rounds // 10 :], strict=True)))  # type: ignore[return-value]


def report(title: str, without: list[int], with_edna: list[int]) -> None:
    print(f"\n{title}, {len(without):,} requests each, µs")
    print(f"{'':>5}{'without':>12}{'with edna':>12}{'difference':>12}")
    for percent in (5, 50, 95):
        bare, more = percentile(without, percent) / 1000, percentile(with_edna, percent) / 1000
        print(f"{f'p{percent}':>5}{bare:>12.2f}{more:>12.2f}{more - bare:>12.2f}{(more - bare) / bare:>9.1%}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.middleware", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20_000, help="requests of each kind (default 20000)")
    rounds = parser.parse_args(arguments).rounds
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings_test")
    django.setup()
    settings.ROOT_URLCONF, settings.ALLOWED_HOSTS = "benchmarks.middleware", ["testserver"]
    gc.collect()
    gc.freeze()
    for what, middleware in (("a new project's middleware", NEW_PROJECT), ("authentication only", BARE)):
        report(f"Synchronous view, {what}", *measure(middleware, rounds))
        report(f"Asynchronous view, {what}", *asyncio.run(ameasure(middleware, rounds)))


if __name__ == "__main__":
    main(sys.argv[1:])
