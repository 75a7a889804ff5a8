"""edna's own pages outside of the admin site: the metrics, and what a visitor sees whom the rate limit has refused.

Guarantees of the metrics: whoever has neither the token nor the permission gets the same answer as for a page that does not exist, at the
cost of one comparison, and without a statement for whoever is not logged in.
"""

from __future__ import annotations

from hmac import compare_digest
from importlib.util import find_spec
from typing import Final

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template import TemplateDoesNotExist, loader
from django.utils.html import escape
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from edna import conf
from edna.errors import TooBusy

#: As Django's own pages of errors are, where a project has no template for them.
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
  <title>Too many requests</title>
  <meta name="viewport" content="width=device-width, initial-scale=1">
</head>
<body>
  <h1>Too many requests</h1><p>{}</p>
</body>
</html>
"""


def too_busy(request: HttpRequest, error: TooBusy) -> HttpResponse:
    """The project's ``429.html`` if it has one, with ``retry_after_seconds`` in its context; otherwise a plain page."""
    try:
        page: str = loader.render_to_string("429.html", {"retry_after_seconds": error.retry_after_seconds}, request)
    except TemplateDoesNotExist:
        page = _PAGE.format(escape(error))
    return HttpResponse(page, status=429, headers={"Retry-After": str(error.retry_after_seconds)})


@transaction.non_atomic_requests
@csrf_exempt  # a page that does not exist asks for no token either
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """For Prometheus: ``Authorization: Bearer`` and ``EDNA["METRICS_TOKEN"]``; or for staff who may see edna's health.

    Raises:
        Http404: neither; or there is no token, or no `edna.operations`, so that nothing is counted.
    """
    token = conf.metrics_token()
    if token is None or not conf.has_operations() or not (_has_token(request, token) or _is_operator(request)):
        raise Http404
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    if find_spec("prometheus_client") is None:
        text = "edna's metrics need the extra: pip install 'django-edna[metrics]'.\n"
        return HttpResponse(text, status=503, content_type="text/plain; charset=utf-8")
    from edna import metrics as counted

    return HttpResponse(counted.page(), content_type=counted.CONTENT_TYPE)


def _has_token(request: HttpRequest, token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and compare_digest(given.strip().encode(), token.encode())


def _is_operator(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    return bool(user is not None and user.is_active and user.is_staff and user.has_perm("edna_operations.view_health"))
