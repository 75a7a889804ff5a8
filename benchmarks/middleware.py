"""What `EdnaMiddleware` costs a request that has nothing to do with edna: ``python -m benchmarks.middleware``.

A hello-world view behind the middleware of a new Django project, with and without edna's, one request of each in turn, another one
first each time, so that whatever else the machine does hits both: through gunicorn, over a connection that stays open, and in the
process, without a server. The aim is less than 1 % of the request as it is served; the last lines say whether that was reached. The two
tables before them are the same view behind nothing but the authentication's two lines, to see the microseconds: there is little else to
measure against.
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
GOAL = 0.01
SERVED = "as gunicorn serves it"
#: Nanoseconds of a request without edna's middleware and of one with it.
Samples = list[tuple[int, int]]
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


def report(title: str, samples: Samples) -> tuple[float, float]:
    """Print the table; what edna's middleware adds, in parts of a request without it: the median of the differences between
    neighbours, and at the 5th percentile."""
    without, with_edna = ([pair[which] for pair in samples] for which in (0, 1))
    print(f"\n{title}, {len(samples):,} requests each, µs")
    print(f"{'':>5}{'without':>12}{'with edna':>12}{'difference':>12}{'ratio':>9}")
    for percent in (5, 50, 95):
        bare, more = percentile(without, percent) / 1000, percentile(with_edna, percent) / 1000
        print(f"{f'p{percent}':>5}{bare:>12.2f}{more:>12.2f}{more - bare:>12.2f}{more / bare:>9.4f}")
    differences = [more - bare for bare, more in samples]
    paired = percentile(differences, 50) / percentile(without, 50)
    undisturbed = percentile(without, 5)
    return paired, (percentile(with_edna, 5) - undisturbed) / undisturbed


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.middleware", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20_000, help="requests of each kind (default 20000)")
    rounds = parser.parse_args(arguments).rounds
    set_up()
    from benchmarks import served

    gc.collect()
    gc.freeze()
    new, bare = "a new project's middleware", "authentication only"
    found = {SERVED: report(f"A view that gunicorn serves, {new}", served.measure(rounds))}
    found["in the process, synchronous"] = report(f"Synchronous view, {new}", measure(NEW_PROJECT, rounds))
    asynchronous_too = asyncio.run(ameasure(NEW_PROJECT, rounds))
    found["in the process, asynchronous"] = report(f"Asynchronous view, {new}", asynchronous_too)
    report(f"Synchronous view, {bare}", measure(BARE, rounds))
    report(f"Asynchronous view, {bare}", asyncio.run(ameasure(BARE, rounds)))
    print(
        f"\nWhat EdnaMiddleware adds to a hello-world view behind {new}; goal: less than {GOAL:.0%} of it as it is served"
    )
    print(f"{'':>30}{'median':>9}{'p5':>9}")
    for where, (median, undisturbed) in found.items():
        verdict = "" if where != SERVED else "  reached" if median < GOAL else "  missed"
        print(f"{where:>30}{median:>9.2%}{undisturbed:>9.2%}{verdict}")


def set_up() -> None:
    """Django, with a site of one view."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings_test")
    django.setup()
    settings.ROOT_URLCONF, settings.ALLOWED_HOSTS = "benchmarks.middleware", ["testserver", "127.0.0.1"]


if __name__ == "__main__":
    main(sys.argv[1:])
