"""Keeps secrets out of error reports: the debug page, the mail to the administrators, the traceback in the log.

Guarantees, for a request that has `EdnaMiddleware`, with ``DEBUG`` on and off: a report does not show a field, cookie,
header or frame variable whose *name* looks secret; nor anything that contains the *value* of such a field, cookie or
header, as text, in the usual encodings, or as the key material that it stands for; nor a printed receipt, secret key or
recovery code, wherever it came from; nor the body of the request. It hides too much rather than too little.

Does not know: reporters that read frames by themselves (Sentry's, say; they have scrubbers of their own), and what the
report takes from the query string without asking a filter: a secret does not belong into a URL.
"""

from __future__ import annotations

import base64
import html
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus

from django.conf import settings
from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.module_loading import import_string
from django.views.debug import SafeExceptionReporterFilter

from edna import api
from edna.errors import EdnaError

SUBSTITUTE: Final = SafeExceptionReporterFilter.cleansed_substitute
#: Names of fields, headers, cookies, dictionary keys and variables. "key" and "bag" only as words: not monkey, not baggage.
_SECRET_NAME = re.compile(
    r"passw|passphrase|secret|recovery|receipt|locator|credential|token|cookie|authorization|session_?id"
    r"|api_?key|(^|[^a-z])(pass|keys?|pins?|bags?|sealed)([^a-z]|$)",
    re.IGNORECASE,
)
#: How receipts, secret keys and recovery codes look in print.
_PRINTED = re.compile(
    r"edna1(:|%3a)|edna-secret-key-[12]|(?<![0-9a-z])([0-9a-hjkmnp-tv-z]{4}-){6}[0-9a-hjkmnp-tv-z]{4}(?![0-9a-z])",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[\s\-]+")
#: A shorter value is in everything, so hiding whatever contains it would hide all of the report.
_SHORTEST = 4
#: The name of what marks a request of whose body nothing is reported.
_WITHHELD = "_edna_body_withheld"
_KEY_BYTES = 16
#: Containers in containers in ...: from here on, their repr decides.
_DEEPEST = 5
#: What exceptions that are written in C print besides their ``args``.
_BUILT_IN = ("filename", "filename2", "strerror", "reason", "object", "msg", "text")


def looks_secret(name: object) -> bool:
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None


class Secrets:
    """The values that must not be shown, in every form in which they may turn up."""

    def __init__(self, values: Iterable[str], body: bytes | None = None) -> None:
        self._body = body
        written = {_folded(form) for value in set(values) for form in _forms(value)}
        self._forms = {form for form in written if len(form) >= _SHORTEST}

    @classmethod
    def of(cls, request: HttpRequest | None) -> Secrets:
        """What this request brought along."""
        if request is None:
            return cls(())
        values = [value for value in _submitted(request) if isinstance(value, str)]
        return cls(values, vars(request).get("_body") or None)

    def shown_by(self, text: str) -> bool:
        if _PRINTED.search(text):
            return True
        folded = _folded(text)
        return any(form in folded for form in self._forms)

    def hide(self, value: Any, name: object = "", *, values_only: bool = False, depth: int = 0) -> Any:
        """``value`` itself if all of it may be shown, else a substitute or a copy with substitutes in it.

        Looks into plain containers and judges other objects by their repr. With ``values_only``, no name makes anything
        secret, and other objects stay what they are.
        """
        if not values_only and looks_secret(name):
            return SUBSTITUTE
        if isinstance(value, str):
            return SUBSTITUTE if self.shown_by(value) else value
        if isinstance(value, bytes) and value == self._body:
            return SUBSTITUTE
        if isinstance(value, MultiValueDict):
            return MultiValueDict({key: [self.hide(item, key) for item in items] for key, items in value.lists()})
        if depth < _DEEPEST:
            inside: dict[str, Any] = {"values_only": values_only, "depth": depth + 1}
            if type(value) is dict:
                shown = {key: item for key, item in value.items() if self.hide(key, **inside) is key}
                members = {key: self.hide(item, key, **inside) for key, item in shown.items()}
                return value if _same(members.values(), value.values()) else members
            if type(value) in (list, tuple):
                items = [self.hide(item, **inside) for item in value]
                return value if _same(items, value) else type(value)(items)
        if values_only and not isinstance(value, bytes):
            return value
        try:
            return SUBSTITUTE if self.shown_by(repr(value)) else value
        except Exception:  # a `repr` is anybody's code; what cannot be looked at is not shown
            return SUBSTITUTE


def _same(new: Collection[Any], old: Collection[Any]) -> bool:
    return len(new) == len(old) and all(one is other for one, other in zip(new, old, strict=True))


def scrub(exception: BaseException, request: HttpRequest) -> None:
    """Take secrets out of the texts of an exception, its causes and contexts, in place: logs and error pages print them.

    Raises:
        EdnaError: its text shows a secret and cannot be changed; raised in its stead, so that it is never printed.
    """
    secrets = Secrets.of(request)
    for error in _chain(exception):
        for name in ("args", *vars(error), *_BUILT_IN):
            value = getattr(error, name, None)
            hidden = secrets.hide(value, values_only=True)
            if hidden is not value:
                try:
                    setattr(error, name, hidden)
                except (AttributeError, TypeError):
                    pass
        text = _text(error)
        if text is not SUBSTITUTE and secrets.hide(text) is SUBSTITUTE:
            raise EdnaError(
                f"{type(error).__name__}: withheld, because its text contains a secret of this request"
            ).with_traceback(exception.__traceback__) from None


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a `__str__` is anybody's code; a log that asks it gets no text either
        return ""


def _chain(exception: BaseException) -> Iterator[BaseException]:
    """It, its causes and contexts, and the errors that it is made of."""
    seen = set()
    waiting: list[object] = [exception]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, BaseException):
            members = part.exceptions if isinstance(part, BaseExceptionGroup) else ()
            waiting += [part.__cause__, part.__context__, members, part.args, vars(part)]
            yield part


class SecretsFilter(SafeExceptionReporterFilter):
    """Goes in front of the project's own filter, which still hides whatever it hides."""

    def get_safe_request_meta(self, request: HttpRequest) -> Any:
        return Secrets.of(request).hide(super().get_safe_request_meta(request))

    def get_safe_cookies(self, request: HttpRequest) -> Any:
        return Secrets.of(request).hide(super().get_safe_cookies(request))

    def get_post_parameters(self, request: HttpRequest | None) -> Any:
        return Secrets.of(request).hide(super().get_post_parameters(request))

    def get_cleansed_multivaluedict(self, request: HttpRequest, multivaluedict: QueryDict) -> Any:
        return Secrets.of(request).hide(super().get_cleansed_multivaluedict(request, multivaluedict))

    def get_traceback_frame_variables(self, request: Any, tb_frame: Any) -> Any:
        secrets = Secrets.of(request)
        shown = super().get_traceback_frame_variables(request, tb_frame)
        return [(name, secrets.hide(value, name)) for name, value in shown]


def withhold_body(request: HttpRequest) -> None:
    """Let nothing of the body of this request be reported, whatever its fields are called."""
    setattr(request, _WITHHELD, True)
    if not isinstance(getattr(request, "exception_reporter_filter", None), SecretsFilter):
        request.exception_reporter_filter = exception_reporter_filter()  # type: ignore[attr-defined]


def exception_reporter_filter() -> SafeExceptionReporterFilter:
    """A `SecretsFilter` in front of the project's ``DEFAULT_EXCEPTION_REPORTER_FILTER``."""
    own = type(import_string(settings.DEFAULT_EXCEPTION_REPORTER_FILTER)())
    cls = own if issubclass(own, SecretsFilter) else type("ProjectSecretsFilter", (SecretsFilter, own), {})
    combined: SafeExceptionReporterFilter = cls()
    return combined


# What was submitted


def _submitted(request: HttpRequest) -> Iterator[Any]:
    """The values under names that look secret. Reads no part of the body that nobody has read before."""
    for fields in _fields(request):
        for name, values in fields.lists():
            if looks_secret(name):
                yield from values
    if "_body" in vars(request) and request.content_type == "application/json":
        try:
            yield from _secret_members(json.loads(request.body), secret=hasattr(request, _WITHHELD))
        except (ValueError, RecursionError):
            pass
    yield from (value for name, value in request.COOKIES.items() if _is_secret_cookie(name))
    for name, value in request.META.items():
        if name.startswith("HTTP_") and name != "HTTP_COOKIE" and looks_secret(name) and isinstance(value, str):
            yield from (value, value.rpartition(" ")[2])  # "Bearer <token>"


def _fields(request: HttpRequest) -> Iterator[MultiValueDict[str, str]]:
    try:
        yield request.GET
        if "_post" in vars(request) or "_body" in vars(request):
            yield request.POST
    except Exception:
        # A form that cannot be parsed, which may well be what is being reported.
        return


def _is_secret_cookie(name: str) -> bool:
    return name == settings.SESSION_COOKIE_NAME or looks_secret(name)


def _secret_members(document: Any, *, secret: bool = False) -> Iterator[Any]:
    if isinstance(document, Mapping):
        for name, member in document.items():
            yield from _secret_members(member, secret=secret or looks_secret(name))
    elif isinstance(document, list):
        for member in document:
            yield from _secret_members(member, secret=secret)
    elif secret:
        yield str(document)


# How a value may be written


def _folded(text: str) -> str:
    """Without what people and programs change: case, white space, dashes."""
    return _SEPARATORS.sub("", text).casefold()


def _forms(value: str) -> Iterator[str]:
    for text in {value, value.strip(), unicodedata.normalize("NFKC", value)}:
        raw = text.encode("utf-8", "surrogatepass")
        yield from (text, repr(text)[1:-1], ascii(text)[1:-1], json.dumps(text)[1:-1], html.escape(text))
        yield from (quote(raw), quote(raw, safe=""), quote_plus(raw))
        yield from _binary_forms(raw)
    for read in _READERS:
        try:
            raw = read(value)
        except (EdnaError, ValueError):
            continue
        yield from _binary_forms(raw)
        yield str(int.from_bytes(raw, "big"))


def _binary_forms(raw: bytes) -> Iterator[str]:
    yield from (repr(raw)[2:-1], raw.hex(), str(list(raw))[1:-1])
    for encode, bits, group in ((base64.b64encode, 6, 3), (base64.urlsafe_b64encode, 6, 3), (base64.b32encode, 5, 5)):
        for shift in range(group):
            # In the middle of something longer, the first and the last character belong to the neighbours, too.
            encoded = encode(bytes(shift) + raw).decode()
            yield encoded[-(-shift * 8 // bits) : (shift + len(raw)) * 8 // bits]


#: The key material in what people type: a key that was read from its text is as secret as the text.
_READERS: tuple[Callable[[str], bytes], ...] = (
    lambda text: api.SecretKey.parse(text).expose(),
    lambda text: api.RecoveryCode.parse(text).expose(),
    lambda text: api.Receipt.parse(text).locator.expose(),
    lambda text: _binary(text),
)


def _binary(text: str) -> bytes:
    """
    Raises:
        ValueError: this is not base 64 of as much as a key.
    """
    raw = base64.b64decode(text, validate=True)
    if len(raw) < _KEY_BYTES:
        raise ValueError("no key")
    return raw
