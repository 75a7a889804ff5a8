"""A monitor on a socket: a nonce, a credential for whoever attests, a clone, and the proof of what it is itself.

Keeps: what is sent is what only the asker can read, signed. Asked for ``/attest?nonce=``, it waits for the next batch. Does not know: what
a monitor does (`monitor`), nor sockets (`edna.custody.sockets`).
"""

from __future__ import annotations

import json
import ssl
from typing import Final
from urllib.parse import parse_qs

from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.signing import from_base64, to_base64
from edna.custody.sockets.connections import Connections
from edna.custody.sockets.handshake import ServerProfile
from edna.custody.sockets.server import Headers, JsonServer, Said
from edna.errors import EdnaError, EvidenceForged, NonceRefused

_MAX_BYTES: Final = 64 * 1024


class Server(JsonServer):
    """Serves one monitor until `shutdown`.

    Raises: ConfigurationError if it would listen on the network without TLS and without a profile.
    """

    def __init__(
        self,
        address: tuple[str, int],
        monitor: Monitor,
        *,
        tls: ssl.SSLContext | None = None,
        profile: ServerProfile | None = None,
        connections: Connections | None = None,
    ) -> None:
        super().__init__(address, _Answering(monitor), tls=tls, profile=profile, connections=connections)


class _Answering:
    name = "monitor"

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def most_bytes(self, path: str, headers: Headers) -> int:
        return _MAX_BYTES

    def answer(self, method: str, path: str, headers: Headers, body: bytes) -> Said:
        # Not as an address is taken apart, which refuses some in its own way.
        place, _, query = path.partition("?")
        monitor = self._monitor
        match method, place:
            case "GET", "/attest":
                asked = parse_qs(query).get("nonce", [""])[0]
                return monitor.attest(_nonce(asked))
            case "GET", "/clauses":
                return {"clauses": monitor.clauses()}
            case "POST", "/nonce":
                return {"nonce": to_base64(monitor.nonce())}
            case "POST", "/credential":
                return monitor.credential(*_request(body))
            case "POST", "/clone":
                return monitor.clone(*_request(body))
        raise self.refuse("Monitors have no such address.")

    def refusal(self, error: EdnaError) -> tuple[int, Said]:
        return 400, {"error": {"code": type(error).__name__, "message": str(error)}}

    def refuse(self, message: str) -> EdnaError:
        return EvidenceForged(message)


def _nonce(text: str) -> bytes:
    """As hexadecimal digits: base 64 does not stay what it is in an address."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise NonceRefused("A nonce is written in hexadecimal digits.") from None


def _request(body: bytes) -> tuple[bytes, bytes, Said]:
    try:
        said = json.loads(body)
        nonce, key = from_base64(said["nonce"], size=32), from_base64(said["session_key"], size=32)
        shown = said["evidence"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EvidenceForged("A request is a JSON object with nonce, session_key and evidence.") from None
    if nonce is None or key is None or not isinstance(shown, dict):
        raise EvidenceForged("A request is a JSON object with nonce, session_key and evidence.")
    return nonce, key, shown
