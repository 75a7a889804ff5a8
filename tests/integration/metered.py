"""The sample site as gunicorn serves it, with one page more: for the test of metrics in several processes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from config.wsgi import application as site


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """``/disguise/<pk>`` disguises a student, and says which process did it."""
    _, page, *rest = environ["PATH_INFO"].split("/")
    if page != "disguise":
        return site(environ, start_response)
    import edna
    from apps.websubmit.models import User

    edna.disguise("websubmit.delete-account", User.objects.get(pk=int(rest[0])))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(os.getpid()).encode()]
