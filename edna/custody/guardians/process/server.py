"""A guardian on a socket.

Keeps: what only the site may ask is answered to its orders (`orders`). Does not know: what is asked and answered (`routes`), nor what
guardians do (`guardian`), nor sockets (`edna.custody.sockets`).
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from typing import Final

from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.orders import ORDER_HEADER, check_order
from edna.custody.guardians.process.routes import Routes, Said
from edna.custody.sockets.connections import Connections
from edna.custody.sockets.handshake import ServerProfile
from edna.custody.sockets.server import Headers, JsonServer
from edna.errors import EdnaError, GuardianRefused, TicketRefused

_MAX_BYTES: Final = 8 * 1024 * 1024
_MAX_OPEN_BYTES: Final = 4096


class Server(JsonServer):
    """Serves one guardian until `shutdown`.

    Raises: ConfigurationError if it would listen on the network without TLS and without a profile.
    """

    def __init__(
        self,
        address: tuple[str, int],
        guardian: Guardian,
        *,
        clock: Callable[[], int],
        tls: ssl.SSLContext | None = None,
        profile: ServerProfile | None = None,
        connections: Connections | None = None,
    ) -> None:
        super().__init__(address, _Answering(guardian, clock), tls=tls, profile=profile, connections=connections)


class _Answering:
    name = "guardian"

    def __init__(self, guardian: Guardian, clock: Callable[[], int]) -> None:
        self._guardian, self._routes, self._clock = guardian, Routes(guardian), clock

    def most_bytes(self, path: str, headers: Headers) -> int:
        # What anybody may ask is short; what is long, the site says that it has ordered it.
        return _MAX_BYTES if headers.get(ORDER_HEADER) and path in self._routes.ordered else _MAX_OPEN_BYTES

    def answer(self, method: str, path: str, headers: Headers, body: bytes) -> Said:
        if method != "POST":
            raise GuardianRefused("Guardians are asked by POST.")
        route = self._routes.open.get(path)
        if route is None:
            route = self._routes.ordered.get(path)
            if route is None:
                raise GuardianRefused("Guardians have no such address.")
            guardian = self._guardian
            header = headers.get(ORDER_HEADER, "")
            check_order(header, guardian.number, path, body, now=self._clock(), key=guardian.roster.site_key)
        try:
            said = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise GuardianRefused("This is not JSON.") from error
        if not isinstance(said, dict):
            raise GuardianRefused("A request is a JSON object.")
        return route(said)

    def refusal(self, error: EdnaError) -> tuple[int, Said]:
        told = {"code": type(error).__name__, "message": str(error)}
        said = {"error": told, "guardian": getattr(error, "guardian", None)}
        if isinstance(error, TicketRefused):
            return 403, {**said, "retry_after_seconds": error.retry_after_seconds}
        return 400, said

    def refuse(self, message: str) -> EdnaError:
        return GuardianRefused(message)
