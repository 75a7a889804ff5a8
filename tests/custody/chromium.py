"""What the stories in Chromium share: a device with passkeys, and what is in base 64 in what was sent."""

from __future__ import annotations

import base64
from typing import Any


def with_passkeys(page: Any) -> None:
    """The browser has an authenticator that has the PRF extension."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2",
        "ctap2Version": "ctap2_1",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
        "hasPrf": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": device})


def bodies(sent: list[bytes]) -> list[bytes]:
    """What is in base 64 in them, decoded."""
    found = []
    for body in sent:
        for word in body.replace(b'"', b" ").replace(b"'", b" ").split():
            try:
                found.append(base64.b64decode(word, validate=True))
            except ValueError:
                continue
    return found
