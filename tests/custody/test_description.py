"""The description of the HTTP interface: it is what the routes say of themselves, and what they answer, to whatever is sent."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edna
from apps.websubmit.models import User
from edna.api_http import description
from edna.devices.http import routes
from edna.guardians import http
from tests.custody.browser import Browser

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]

PAGE = Path(django_settings.BASE_DIR) / "docs" / "openapi-1.json"
EXAMPLES = int(os.environ.get("EDNA_HTTP_EXAMPLES", "2"))


@functools.cache
def handler() -> WSGIHandler:
    return WSGIHandler()


def site(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    """Django, and the description beside it."""
    if environ["PATH_INFO"] == "/openapi.json":
        start_response("200 OK", [("Content-Type", "application/json")])
        return [PAGE.read_bytes()]
    # As Django's test client does, which connects them again: a request is not to close the connection whose transaction the test is.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    return handler()(environ, start_response)


@pytest.fixture(autouse=True)
def browser_custody() -> Iterator[None]:
    configured = {**django_settings.EDNA, "CUSTODY": "both"}
    with override_settings(EDNA=configured, ROOT_URLCONF="edna.urls", ALLOWED_HOSTS=["*"]):
        yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_the_file_is_what_the_routes_say() -> None:
    """Write it anew with `python .ci/openapi.py`."""
    assert PAGE.read_text() == description.text([*http.urlpatterns, *routes.urlpatterns])


@pytest.mark.thorough
def test_whatever_is_sent_gets_an_answer_that_is_described() -> None:
    """By somebody who has proved a key, and by somebody who has not; what fits the description, and what does not. A long run:
    ``EDNA_HTTP_EXAMPLES=1000``."""
    # Here, so that whoever runs other tests does not wait for it: it takes a second.
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as conformance

    checks = [not_a_server_error]
    checks += [
        getattr(conformance, f"{what}_conformance") for what in ("status_code", "content_type", "response_schema")
    ]
    registration = edna.register_principal(User.objects.create_user("bea@example.org"))
    token = Browser().prove(registration.secret_key)
    schema = schemathesis.openapi.from_wsgi("/openapi.json", site)
    met: set[tuple[str, int]] = set()

    def asks(case: Any, proved: bool) -> None:
        case.cookies = {"csrftoken": "t" * 32}
        case.headers = {"X-CSRFToken": "t" * 32, **({"X-Edna-Key-Session": token} if proved else {})}
        response = case.call()
        case.validate_response(response, checks=checks)
        met.add((case.operation.path, response.status_code))

    operations = [each.ok() for each in schema.get_all_operations()]
    for operation in operations:
        strategy = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode))
        tried = given(case=strategy, proved=st.sampled_from([True, True, True, False]))(asks)
        settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))(tried)()
    assert {path for path, _ in met} == {operation.path for operation in operations}
    print(json.dumps(sorted(met)))
