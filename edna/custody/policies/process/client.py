"""How a monitor is asked: JSON by HTTP, through TLS with the certificate that is configured, or with a profile.

Keeps: no address is asked in clear but the loopback's; what the monitor does not sign does not count (`sessions`). Does not know:
settings.
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final

import nacl.signing

from edna import errors
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.credentials import Credential
from edna.custody.policies.evidence import NONCE_BYTES, Prover
from edna.custody.policies.process.sessions import Session, base64_of, checked_attestation
from edna.custody.policies.process.store import Store
from edna.custody.sockets.framed import FramedConnection
from edna.custody.sockets.handshake import ClientProfile
from edna.custody.sockets.profiles import Address
from edna.errors import AttestationRefused, MonitorUnavailable, PolicyNotSatisfied, SocketRefused

_MAX_BYTES: Final = 4 * 1024 * 1024


class MonitorClient:
    """Asks one monitor, which is recognised by ``monitor``, its public key. ``key`` says who asks, where the address has a profile.

    Raises: ConfigurationError if the address is none at which one could be asked.
    """

    def __init__(
        self,
        address: str,
        *,
        monitor: bytes,
        certificate: str = "",
        key: nacl.signing.SigningKey | None = None,
        timeout_seconds: float = 10.0,
    ) -> None:
        self._address = Address.parse(address, whose="monitor")
        self._tls = ssl.create_default_context(cadata=certificate or None) if self._address.scheme == "https" else None
        self.monitor, self._timeout = monitor, timeout_seconds
        self._key = key or nacl.signing.SigningKey.generate()

    def clauses(self) -> str:
        """The signed list, as a file. Reading it verifies it."""
        return str(self._ask("GET", "/clauses").get("clauses"))

    def credential(self, prover: Prover, *, clauses: ClauseList) -> Credential:
        """
        Raises:
            MonitorUnavailable: it cannot be reached.
            AttestationRefused: it does not take the evidence, or what answers is not the monitor.
            PolicyNotSatisfied: no policy is satisfied.
        """
        session = self._session()
        return session.credential(self._ask("POST", "/credential", session.request(prover)), clauses=clauses)

    def clone(self, prover: Prover, store: Store, *, check_quote: Callable[[bytes, str], None] | None = None) -> None:
        """Become its clone, after it has shown itself what it is.

        Raises: as `credential`.
        """
        self.check(check_quote=check_quote)
        session = self._session()
        session.become_clone(self._ask("POST", "/clone", session.request(prover)), store)

    def check(self, *, check_quote: Callable[[bytes, str], None] | None = None) -> None:
        """That this very monitor answers, now.

        Raises: MonitorUnavailable; AttestationRefused.
        """
        nonce = secrets.token_bytes(NONCE_BYTES)
        told = self._ask("GET", f"/attest?nonce={nonce.hex()}")
        checked_attestation(told, nonce, monitor=self.monitor, check_quote=check_quote)

    def _session(self) -> Session:
        try:
            nonce = base64_of(self._ask("POST", "/nonce", {}).get("nonce"), NONCE_BYTES)
        except ValueError:
            raise MonitorUnavailable("The monitor answers rubbish.") from None
        return Session(nonce, monitor=self.monitor)

    def _ask(self, method: str, path: str, said: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        body = None if said is None else json.dumps(said).encode()
        connection = self._connection()
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            status, answer = response.status, response.read(_MAX_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            why = type(error).__name__
        except SocketRefused as error:
            why = str(error)
        else:
            return _told(status, answer)
        finally:
            connection.close()
        raise MonitorUnavailable(
            f"The monitor at {self._address.host} port {self._address.port} cannot be reached ({why}). No bag was touched; try again once "
            "it answers."
        )

    def _connection(self) -> http.client.HTTPConnection:
        address, timeout = self._address, self._timeout
        if address.profile is not None:
            asked = ClientProfile(address.profile, self.monitor, self._key)
            return FramedConnection(address.host, address.port, asked=asked, timeout=timeout)
        if self._tls is None:
            return http.client.HTTPConnection(address.host, address.port, timeout=timeout)
        return http.client.HTTPSConnection(address.host, address.port, timeout=timeout, context=self._tls)


def _told(status: int, answer: bytes) -> Mapping[str, Any]:
    try:
        told: Any = json.loads(answer) if len(answer) <= _MAX_BYTES else None
        if status == 200 and isinstance(told, dict):
            return told
        code, message = str(told["error"]["code"]), str(told["error"]["message"])[:500]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise MonitorUnavailable("The monitor answers rubbish.") from None
    kind = getattr(errors, code, None)
    if isinstance(kind, type) and issubclass(kind, (AttestationRefused, PolicyNotSatisfied)):
        raise kind(f"The monitor: {message}")
    raise MonitorUnavailable(f"The monitor: {message}")
