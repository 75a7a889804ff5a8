"""A form that is filled in and sent, as a browser without scripts does it."""

from __future__ import annotations

from html import unescape
from typing import Any

from django.test import Client


def send(browser: Client, address: str, **fields: Any) -> Any:
    """The answer, with its text as ``answer.text_of_page``, its lines joined."""
    browser.get(address)
    token = browser.cookies["csrftoken"].value
    answer = browser.post(address, {"csrfmiddlewaretoken": token, **fields})
    if not answer.streaming:
        answer.text_of_page = " ".join(unescape(answer.content.decode()).split())
    return answer
