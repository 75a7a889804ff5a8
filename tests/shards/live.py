"""The site with two databases, as a browser meets it: `python -m tests.shards.live` makes it and serves it. In both databases the first
member has the same primary key and the same name.

`log-in/ALIAS` logs in the member of that database, and `look` answers with digests of all rows of each, and of those of the application.
With `django.contrib.admin` there are operators' pages, `log-in/default` is for them, and each database has an audience of its own. With
`edna.guardians` among the applications there are five guardians: `mails/NUMBER` are the codes that one of them has mailed last, by
address, and `later` lets two hours pass for them.
"""

from __future__ import annotations

import hashlib
import sys
from contextlib import ExitStack

import django

django.setup()

from django.apps import apps  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib import admin  # noqa: E402
from django.contrib.auth import login  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402
from django.shortcuts import redirect  # noqa: E402
from django.test import override_settings  # noqa: E402
from django.urls import include, path  # noqa: E402

import edna  # noqa: E402
from edna import Disguise, registry  # noqa: E402
from tests.shards.run import SHARDS, both, everything, migrate  # noqa: E402


@edna.register
class Go(Disguise):
    """Your notes and messages go with you, and come back with you."""

    name = "club.go"
    title = "Leave the club"
    self_service = True
    transformations = [*registry.get("club.leave").steps()]


def log_in(request: HttpRequest, alias: str) -> HttpResponse:
    if alias == "default":
        login(request, User.objects.using(alias).get(username="olga"), backend="tests.shards.backends.Operators")
        return redirect("admin:index")
    person = User.objects.using(alias).get(username="bea")
    login(request, person, backend=f"tests.shards.backends.{alias.capitalize()}")
    return redirect("edna:home")


def look(request: HttpRequest) -> HttpResponse:
    return JsonResponse({alias: {"all": _digest(alias, ""), "own": _digest(alias, "edna")} for alias in SHARDS})


def _digest(alias: str, without: str) -> str:
    rows = everything(alias, without=without)
    return hashlib.sha256(repr(sorted(rows.items())).encode()).hexdigest()


def mails(_: HttpRequest, number: int) -> HttpResponse:
    return JsonResponse({contact: five.code(number, contact) for mailed, contact, _ in five.mails if mailed == number})


def later(_: HttpRequest) -> HttpResponse:
    five.now += 7201
    return HttpResponse()


urlpatterns = [
    path("privacy/", include("edna.urls")),
    path("log-in/<str:alias>", log_in),
    path("look", look),
    path("mails/<int:number>", mails),
    path("later", later),
    *([path("admin/", admin.site.urls)] if apps.is_installed("django.contrib.admin") else []),
]


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def serve() -> None:
    server = ThreadedWSGIServer(("127.0.0.1", 0), Quiet)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    made = settings.SCRATCH / "address.new"
    made.write_text(f"http://localhost:{server.server_port}")
    made.rename(settings.SCRATCH / "address")
    server.serve_forever()


if __name__ == "__main__":
    migrate()
    both()
    if apps.is_installed("django.contrib.admin"):
        from tests.shards.audiences import Stewards

        Stewards("ada", "bob").found("north")
        Stewards("cyd", "dan", "eve").found("south")
        User.objects.db_manager("default").create_superuser("olga", password="login", pk=5)
    with ExitStack() as stack:
        if apps.is_installed("edna.guardians"):
            from tests.guardians.parties import parties

            five = stack.enter_context(parties(settings.SCRATCH))
        stack.enter_context(override_settings(ROOT_URLCONF=sys.modules[__name__]))
        serve()
