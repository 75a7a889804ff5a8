"""A browser in Python: asks the HTTP interface as the modules do, and keeps its key to itself."""

from __future__ import annotations

import base64
import json
from importlib import import_module
from typing import Any

import nacl.utils
from django.test import Client
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt

from edna import SecretKey
from edna.api_http import urls
from edna.crypto.keys import derive
from edna.crypto.sealing import open_small
from edna.custody import base
from edna.custody.base import SlotSecret
from edna.pages.urls import http_beside


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decoded(text: str) -> bytes:
    return base64.b64decode(text)


class Browser(Client):
    """Asks as the modules do."""

    def __init__(self, **options: Any) -> None:
        super().__init__(enforce_csrf_checks=True, **options)
        self.cookies["csrftoken"] = "t" * 32

    def ask(self, path: str, content: Any, **headers: str) -> Any:
        """The response; its `.json()` is what was answered."""
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        sent = {"X-CSRFToken": self.cookies["csrftoken"].value, "Sec-Fetch-Site": "same-origin", **headers}
        response = self.post(f"/api/1/{path}", text, content_type="application/json", headers=sent)
        if response.status_code == 200:
            require_described(path, response.json())
        return response

    def prove(self, key: SecretKey) -> str:
        """The token of a proved key."""
        public = encoded(bytes(key.public_key))
        sealed = decoded(self.ask("keys/challenge", {"public_key": public}).json()["challenge"])
        opened = open_small(sealed, secret_key=key)
        token: str = self.ask("keys/session", {"public_key": public, "opened": encoded(opened)}).json()["token"]
        return token

    def act(self, path: str, content: Any, key: SecretKey) -> Any:
        """`ask`, for a key that is proved before."""
        return self.ask(path, content, **{"X-Edna-Key-Session": self.prove(key)})

    def slot(self, key: SecretKey, secret: SlotSecret, *, kind: str) -> dict[str, str]:
        lookup = base.lookup(secret)
        ((part, *_),) = self.ask("slots/open", {"lookups": [encoded(lookup)]}).json()["slots"]
        wrapping_key = derive(secret.expose(), purpose=b"edna.slot.wrap.2", data=decoded(part["share"]))
        nonce = nacl.utils.random(24)
        associated = b"\2" + decoded(part["id"])
        box = crypto_aead_xchacha20poly1305_ietf_encrypt(key.expose(), associated, nonce, wrapping_key)
        return {
            "lookup": encoded(lookup),
            "kind": kind,
            "wrapped": encoded(b"\2" + nonce + box),
        }


def require_described(path: str, answer: dict[str, Any]) -> None:
    """That an answer is what docs/openapi-1.json says, and nothing more."""
    patterns = [*urls.urlpatterns, *(each for name in http_beside for each in import_module(name).urlpatterns)]
    [declared] = [each.callback.declared for each in patterns if str(each.pattern) == path]
    declared.answers.read(answer, "")
    assert answer.keys() == declared.answers.fields.keys(), path


def refused_as(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]
