"""Whatever fails, and however: the debug page, the mail to the administrators and the log show no secret in any spelling."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

import pytest
from asgiref.sync import async_to_sync
from django import forms
from django.core import mail
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseServerError
from django.template import engines
from django.test import AsyncClient, Client
from django.urls import path
from django.utils.log import AdminEmailHandler
from django.views.debug import SafeExceptionReporterFilter

import edna
from apps.websubmit.models import User
from edna import reports
from edna.records.locator import Locator
from edna.testing.search import finds
from tests.support import Student, enrol, secrets_of

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.thorough]

# Not a word of English, spaces at the ends, and characters that every encoding writes differently.
PASSWORD = ' zebra&"unicyle" 7% <müde>\\'


STONES = ("granite", "basalt", "obsidian", "pumice", "feldspar")


class Strange(Exception):
    """Its text does not come from its arguments, and cannot be changed."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def __str__(self) -> str:
        return self._text


@dataclass
class Holder:
    content: str


def fail_with_variables(request: HttpRequest) -> HttpResponse:
    """Variables with names that say nothing."""
    e = request.body  # first: once a form is read, its body is gone
    a = request.POST["password"]
    b = {"deep": [{"deeper": (a, request.POST["receipt"])}]}
    c = Holder(request.POST["recovery_code"])
    d = request.POST
    f = [edna.SecretKey.parse(request.POST["secret_key"]).expose(), a.encode()]
    g = base64.b64encode(b"x" + a.encode())
    h = edna.Receipt.parse(request.POST["receipt"]).locator.expose().hex()
    i = edna.RecoveryCode.parse(request.POST["recovery_code"]).expose()
    j = f"password={quote_plus(a)}", json.dumps(a), repr(a), a.strip(), a.encode("unicode_escape")
    k = request.POST["recovery_code"].replace("-", "").lower()
    m = {request.POST["receipt"]: 1}
    harmless = "this may be seen"
    raise RuntimeError("planned", len([a, b, c, d, e, f, g, h, i, j, k, m, harmless]))


def fail_with_names(request: HttpRequest) -> HttpResponse:
    """Secrets that nobody submitted, under names that say what they are."""
    new_password, locator, secret_key, sealed_bag = STONES[:4]  # not spelled out, for the report shows this line
    options = {"api_key": STONES[4], "monkey": "this may be seen"}
    raise RuntimeError(len([new_password, locator, secret_key, sealed_bag, options]))


def fail_with_text(request: HttpRequest) -> HttpResponse:
    raise ValueError(f"bad password {request.POST['password']}", request.POST["receipt"])


def fail_with_chain(request: HttpRequest) -> HttpResponse:
    try:
        raise KeyError(request.POST["recovery_code"])
    except KeyError as error:
        error.add_note(f"tried {request.POST['password']}")
        try:
            int(request.POST["secret_key"])
        except ValueError as second:
            raise ExceptionGroup("both", [second, ValidationError({"x": [request.POST["password"]]})]) from error


def fail_with_validation(request: HttpRequest) -> HttpResponse:
    raise ValidationError([ValidationError("bad %(value)s", params={"value": request.POST["password"]}), "planned"])


def fail_with_form(request: HttpRequest) -> HttpResponse:
    class Form(forms.Form):
        password = forms.CharField(strip=False)
        entered = forms.CharField(required=False)

    form = Form(request.POST)
    form.is_valid()
    values = form.cleaned_data
    raise RuntimeError("planned", len(values))


def fail_with_file(request: HttpRequest) -> HttpResponse:
    with open("/nowhere/" + request.POST["receipt"][:30]) as file:
        return HttpResponse(file.read())


def fail_with_decoding(request: HttpRequest) -> HttpResponse:
    return HttpResponse((request.POST["password"] + "ü").encode("latin-1", "replace").decode("utf-8"))


def fail_with_template(request: HttpRequest) -> HttpResponse:
    def explode() -> str:
        raise ValueError(request.POST["password"])

    template = engines["django"].from_string("one\n{{ explode }}\nthree")
    return HttpResponse(template.render({"explode": explode, "shown": request.POST["password"]}, request))


def fail_strangely(request: HttpRequest) -> HttpResponse:
    raise Strange(request.POST["password"])


def fail_as_forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied(request.POST["password"])


def fail_as_missing(request: HttpRequest) -> HttpResponse:
    raise Http404(request.POST["password"])


def fail_as_suspicious(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation(request.POST["password"])


def fail_in_library(request: HttpRequest) -> HttpResponse:
    request.edna.unlock(recovery_code=request.POST["recovery_code"][:-1])  # type: ignore[attr-defined]
    return HttpResponse()


def fail_after_unlocking(request: HttpRequest) -> HttpResponse:
    unlocked = request.edna.unlock(recovery_code=request.POST["recovery_code"])  # type: ignore[attr-defined]
    voices = unlocked.voices()
    raise RuntimeError("planned", len(voices))


def fail_with_fresh_secrets(request: HttpRequest) -> HttpResponse:
    """Made in this request, so that nobody has submitted them."""
    registration = edna.register_principal(User.objects.create_user("fresh@example.org"))
    given = str(registration.recovery_code), registration.secret_key.expose_text()  # type: ignore[union-attr]
    with edna.unlock(secret_key=registration.secret_key):
        shown = (
            f"Your receipt: {edna.disguise('websubmit.delete-account', User.objects.get(email='fresh@example.org'))}"
        )
    fresh.extend([*given, shown.split()[-1]])
    raise RuntimeError(shown, given)


def fail_with_json(request: HttpRequest) -> HttpResponse:
    document = json.loads(request.body)
    values = list(document["credentials"].values())
    raise RuntimeError("planned", values)


def fail_with_body(request: HttpRequest) -> HttpResponse:
    """In a format of the application's own."""
    raw = request.body
    raise RuntimeError("planned", len(raw))


def fail_with_head(request: HttpRequest) -> HttpResponse:
    """Cookies and headers."""
    value = request.headers["X-Recovery-Code"]
    cookies = dict(request.COOKIES)
    scheme, _, rest = request.headers["Authorization"].partition(" ")
    raise RuntimeError("planned", value, len(cookies), scheme, rest)


async def fail_asynchronously(request: HttpRequest) -> HttpResponse:
    a = request.POST["password"]
    raise ValueError(f"planned {a}")


def server_error(request: HttpRequest) -> HttpResponse:
    return HttpResponseServerError("sorry")


fresh: list[str] = []
handler500 = server_error
urlpatterns = [
    path(f"{name.removeprefix('fail_')}/", view)  # type: ignore[arg-type]
    for name, view in list(globals().items())
    if name.startswith("fail_")
]
VIEWS = [str(pattern.pattern).rstrip("/") for pattern in urlpatterns]
WITH_FORM = [name for name in VIEWS if name not in ("with_json", "with_body", "with_head")]

Report = Callable[..., str]


class Mails(AdminEmailHandler):
    """As in production, with the pages of the debug view in it."""

    def __init__(self) -> None:
        super().__init__(include_html=True)


async def _awaited(response: Any) -> Any:
    return await response


@pytest.fixture
def report(settings: Any, caplog: pytest.LogCaptureFixture) -> Iterator[Report]:
    """Everything that anybody gets to read of a request that fails."""
    settings.ROOT_URLCONF = __name__
    settings.ADMINS = [("Ada", "ada@example.org")]
    handler = Mails()
    watched = [logging.getLogger(name) for name in ("django.request", "django.security")]
    for logger in watched:
        logger.addHandler(handler)
        logger.addHandler(caplog.handler)

    def fetch(name: str, data: Any, **options: Any) -> str:
        client = options.pop("client", None) or Client(raise_request_exception=False)
        response = client.post(f"/{name}/", data, **options)
        if isinstance(client, AsyncClient):
            response = async_to_sync(_awaited)(response)
        read = [response.content.decode(), caplog.text]
        for message in mail.outbox:
            read += [message.subject, message.body, *(str(each.content) for each in message.alternatives)]  # type: ignore[attr-defined]
        return "\n".join(read)

    yield fetch
    for logger in watched:
        logger.removeHandler(handler)
        logger.removeHandler(caplog.handler)


@pytest.fixture
def student() -> Student:
    return enrol(password=PASSWORD)


@pytest.fixture
def form(student: Student) -> dict[str, str]:
    return {
        "password": PASSWORD,
        "receipt": str(edna.Receipt("shop.leave", Locator.new())),
        "recovery_code": student.recovery_code,
        "secret_key": student.secret_key.expose_text(),
        "subject": "this may be seen",
    }


def needles(student: Student, form: dict[str, str]) -> dict[str, str | bytes | int]:
    receipt = edna.Receipt.parse(form["receipt"])
    return secrets_of(student, receipt) | {"password": PASSWORD, "stripped password": PASSWORD.strip()}


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
@pytest.mark.parametrize("name", WITH_FORM)
def test_nothing_of_a_form(
    name: str, accept: str, debug: bool, report: Report, form: dict[str, str], student: Student, settings: Any
) -> None:
    settings.DEBUG = debug
    fresh.clear()
    text = report(name, form, HTTP_ACCEPT=accept)
    assert len(text) > 100
    found = needles(student, form) | {f"fresh {number}": value for number, value in enumerate(fresh)}
    assert finds(text.encode(), found) == []
    if name in ("with_variables", "with_names") and (debug or mail.outbox):
        assert "this may be seen" in text
    assert not any(f"{stone}&#x27;" in text or f"{stone}'" in text for stone in STONES)


@pytest.mark.parametrize("debug", [True, False])
def test_nothing_of_a_json_document(
    debug: bool, report: Report, form: dict[str, str], student: Student, settings: Any
) -> None:
    settings.DEBUG = debug
    document = {"credentials": form, "subject": "x"}
    text = report("with_json", json.dumps(document), content_type="application/json")
    assert "planned" in text
    assert finds(text.encode(), needles(student, form)) == []


@pytest.mark.parametrize("debug", [True, False])
def test_nothing_of_a_body_that_nobody_can_parse(debug: bool, report: Report, settings: Any) -> None:
    settings.DEBUG = debug
    text = report("with_body", b"open sesame", content_type="application/x-own")
    assert "planned" in text
    assert "sesame" not in text


@pytest.mark.parametrize("debug", [True, False])
def test_nothing_of_headers_and_cookies(debug: bool, report: Report, student: Student, settings: Any) -> None:
    settings.DEBUG = debug
    client = Client(raise_request_exception=False)
    client.force_login(student.user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    client.cookies["receipt"] = "abracadabra"
    headers = {"HTTP_X_RECOVERY_CODE": student.recovery_code, "HTTP_AUTHORIZATION": "Bearer open-sesame"}
    text = report("with_head", {}, client=client, **headers)
    assert "planned" in text
    secrets = secrets_of(student) | {"session": session, "cookie": "abracadabra", "token": "open-sesame"}
    assert finds(text.encode(), secrets) == []


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("name", ["asynchronously", "with_variables", "with_text"])
def test_nothing_of_an_asynchronous_request(
    name: str, debug: bool, report: Report, form: dict[str, str], student: Student, settings: Any
) -> None:
    settings.DEBUG = debug
    text = report(name, form, client=AsyncClient(raise_request_exception=False))
    assert len(text) > 100
    assert finds(text.encode(), needles(student, form)) == []


def test_nothing_of_the_settings(report: Report, form: dict[str, str], settings: Any) -> None:
    settings.DEBUG = True
    keys = {f"key {number}": key for number, key in enumerate(settings.EDNA["MAC_KEYS"])}
    text = report("with_text", form)
    assert "PSEUDOPRINCIPAL" in text or "ARGON2_OPSLIMIT" in text
    assert finds(text.encode(), keys) == []


def test_an_exception_keeps_its_type_and_the_rest_of_its_text(report: Report, form: dict[str, str]) -> None:
    text = report("with_variables", form)
    assert "RuntimeError: ('planned', 13)" in text


def test_a_text_that_cannot_be_changed_is_withheld(report: Report, form: dict[str, str]) -> None:
    text = report("strangely", form)
    assert "Strange: withheld, because its text contains a secret of this request" in text
    assert "fail_strangely" in text


def test_an_exception_that_was_cleaned_keeps_its_type(rf: Any) -> None:
    """Its text is what stands for a secret then, and no secret."""
    error, request = ValueError(PASSWORD), rf.post("/", {"password": PASSWORD})
    assert request.POST
    reports.scrub(error, request)
    assert error.args == (reports.SUBSTITUTE,)


def test_a_harmless_exception_is_left_alone(rf: Any) -> None:
    error = ValueError("nothing", {"key": "value"}, [1, 2])
    before = error.args
    reports.scrub(error, rf.post("/", {"password": PASSWORD}))
    assert error.args is before


def test_a_body_that_was_not_read_stays_unread(rf: Any) -> None:
    request = rf.post("/", {"password": PASSWORD})
    reports.scrub(ValueError("x"), request)
    assert request.read(8) == b"--BoUnDa"


def test_cycles_end(rf: Any) -> None:
    request = rf.get("/")
    around: list[Any] = []
    around.append(around)
    error = ValueError(around)
    error.__context__ = other = KeyError()
    other.__context__ = error
    reports.scrub(error, request)
    secrets = reports.Secrets(["xyzzy"])
    assert secrets.hide(around) is not None


def test_what_cannot_be_shown_is_hidden() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert reports.Secrets(()).hide(Broken()) == reports.SUBSTITUTE


def test_short_values_do_not_hide_everything() -> None:
    assert reports.Secrets(["abc"]).hide("abcdef") == "abcdef"


@pytest.mark.parametrize(
    "name",
    [
        *("password", "new_password2", "passphrase", "PASS", "secret", "client-secret", "key", "secret_key", "apiKey"),
        *("recovery_code", "receipt", "receipts", "locator", "token", "csrftoken", "bag", "bags", "sealed", "pin"),
        *("HTTP_AUTHORIZATION", "Cookie", "sessionid", "session_id", "credentials", "edna_device_key_0a1b2c3d"),
    ],
)
def test_names_that_look_secret(name: str) -> None:
    assert reports.looks_secret(name)


@pytest.mark.parametrize(
    "name", ["monkey", "keyboard", "baggage", "compass", "bypass", "author", "session", "spinner", "code", "", 7, None]
)
def test_names_that_do_not(name: object) -> None:
    assert not reports.looks_secret(name)


class Own(SafeExceptionReporterFilter):
    """A project's own filter."""

    def get_safe_request_meta(self, request: HttpRequest) -> dict[str, Any]:
        return {**super().get_safe_request_meta(request), "OWN_FILTER": "was here"}

    def get_traceback_frame_variables(self, request: Any, tb_frame: Any) -> Any:
        variables = super().get_traceback_frame_variables(request, tb_frame)
        return [(name, "hidden by the project" if name == "harmless" else value) for name, value in variables]


def test_the_projects_own_filter_goes_on_hiding(report: Report, form: dict[str, str], settings: Any) -> None:
    settings.DEBUG = True
    settings.DEFAULT_EXCEPTION_REPORTER_FILTER = f"{__name__}.Own"
    text = report("with_variables", form)
    assert "was here" in text
    assert "hidden by the project" in text
    assert finds(text.encode(), {"password": PASSWORD}) == []


def test_a_view_may_bring_its_own_filter(rf: Any) -> None:
    """`SecretsFilter` in front of itself would be once too often."""
    assert type(reports.exception_reporter_filter()).__mro__.count(reports.SecretsFilter) == 1
