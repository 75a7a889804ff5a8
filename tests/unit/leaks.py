"""How the tests look for secrets in an error: in the variables of its frames, and in the page Django would show of it."""

from __future__ import annotations

import base64
import html
from types import TracebackType
from typing import Any

from django.views.debug import ExceptionReporter

from edna.crypto.keys import Secret


def _contains(value: Any, secret: bytes, depth: int = 6) -> bool:
    """Whether `secret` is anywhere in what a page or a logger could print of `value`; a redacted `Secret` is not looked into."""
    if isinstance(value, bytes | bytearray | memoryview):
        return secret in bytes(value)
    if isinstance(value, str):
        return secret.decode("utf-8", "ignore").strip() in value if secret.isascii() else secret.hex() in value
    if isinstance(value, Secret) or depth == 0:
        return False
    if isinstance(value, dict):
        return any(_contains(item, secret, depth - 1) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(_contains(item, secret, depth - 1) for item in value)
    return _contains(repr(value), secret, depth - 1)


def _spellings(secret: bytes) -> set[str]:
    """Beginnings of the secret as a page could show it: short, because a pretty-printer breaks long bytes into lines."""
    start = secret[:9]
    spelled = {repr(start)[2:-1], start.hex(), base64.b64encode(start).decode(), base64.b32encode(start).decode()[:14]}
    spelled |= {secret.hex(), str(list(start))[1:-1]}
    return spelled | {text.lower() for text in spelled if text.isalnum()} | {html.escape(text) for text in spelled}


def _below_the_tests(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and "/tests/" in traceback.tb_frame.f_code.co_filename:
        traceback = traceback.tb_next
    return traceback


def assert_error_leaks_nothing(error: BaseException, *secrets: bytes) -> None:
    """Fail if a secret is in the error, in a variable of a frame below the test's, or on Django's technical 500 page."""
    assert secrets
    traceback = _below_the_tests(error.__traceback__)
    assert traceback is not None, "the error must come from the library for this to prove anything"
    assert (error.__context__, error.__cause__) == (None, None), "a chained error brings frames of its own"
    frame = traceback
    while frame is not None:
        for name, value in frame.tb_frame.f_locals.items():
            for secret in secrets:
                where = f"{frame.tb_frame.f_code.co_qualname}: {name}"
                assert not _contains(value, secret), f"{where} holds a secret"
        frame = frame.tb_next

    page = ExceptionReporter(None, type(error), error, traceback).get_traceback_html()

    assert type(error).__name__ in page
    assert "Local vars" in page, "the page must show the variables for this to prove anything"
    for secret in secrets:
        for spelling in _spellings(secret):
            assert spelling not in page, f"the error page shows {spelling!r}"
