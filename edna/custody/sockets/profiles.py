"""The profiles of a socket, and where one is: an address says by its scheme how it is spoken to.

REG says everything in clear, on the loopback interface alone. AUTH says it in clear, and both sides know who has said it. SECURE says it
to the other side alone. `https` is TLS, which has a module of its own in Python.

Keeps: no address is asked in clear but the loopback's. Does not know: what is said, and how (`handshake`, `frames`).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Self
from urllib.parse import urlsplit

from edna.errors import ConfigurationError

#: In the place of a public key: whoever comes is answered.
ANYBODY: Final = "any"
_PORTS: Final = {"http": 80, "https": 443}


class Profile(IntEnum):
    """Those that have frames; the numbers are in the bytes of the handshake."""

    AUTH = 1
    SECURE = 2

    @property
    def scheme(self) -> str:
        return self.name.lower()

    @classmethod
    def of_scheme(cls, scheme: str) -> Self | None:
        """None for one without frames."""
        return next((each for each in cls if each.scheme == scheme), None)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a process is asked, and in which way."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str, *, whose: str) -> Self:
        """``whose`` is what the process is called: guardian.

        Raises: ConfigurationError if nobody could be asked there, or it would be in clear over the network.
        """
        parts = urlsplit(text)
        scheme, host = parts.scheme, parts.hostname or ""
        profile = Profile.of_scheme(scheme)
        try:
            port = parts.port or _PORTS.get(scheme)
        except ValueError:
            port = None
        if not host or parts.path not in ("", "/") or parts.username or (scheme not in _PORTS and profile is None):
            port = None
        if port is None:
            raise ConfigurationError(
                f"The address of a {whose} looks like https://{whose}.example:8443, or secure://{whose}.example:8443 with its port, and "
                f"not like {text}."
            )
        if scheme == "http" and not is_loopback(host):
            raise ConfigurationError(
                f"{text} has no TLS: only on the loopback interface a {whose} may do without, or with secure://."
            )
        return cls(scheme, host, port)

    @property
    def profile(self) -> Profile | None:
        return Profile.of_scheme(self.scheme)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
