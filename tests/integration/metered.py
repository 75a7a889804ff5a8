"""The sample site as gunicorn serves it, with two pages more: for the test of metrics in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from config.wsgi import application as site


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """``/disguise/<pk>`` disguises a student; that page and ``/process`` say which process has answered."""
    _, page, *rest = environ["PATH_INFO"].split("/")
    if page not in ("disguise", "process"):
        return site(environ, start_response)
    if page == "disguise":
        import edna
        from apps.websubmit.models import User

        edna.disguise("websubmit.delete-account", User.objects.get(pk=int(rest[0])))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
