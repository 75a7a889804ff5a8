"""A guardian on a socket: JSON by HTTP, through TLS unless it listens on the loopback interface alone.

Keeps: what only the site may ask is answered to its orders (`orders`). Requests are bounded in number, size and time. Nothing of a request
is logged. Does not know: what is asked and answered (`routes`), nor what guardians do (`guardian`).
"""

from __future__ import annotations

import ipaddress
import json
import ssl
import sys
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from edna.custody.guardians.process.connections import Connections
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.orders import ORDER_HEADER, check_order
from edna.custody.guardians.process.routes import Routes, Said
from edna.errors import ConfigurationError, CustodyError, GuardianRefused, TicketRefused

_MAX_BYTES: Final = 8 * 1024 * 1024
_MAX_OPEN_BYTES: Final = 4096


class Server(ThreadingHTTPServer):
    """Serves one guardian until `shutdown`.

    Raises: ConfigurationError if it would listen on the network without TLS.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        guardian: Guardian,
        *,
        clock: Callable[[], int],
        tls: ssl.SSLContext | None = None,
        connections: Connections | None = None,
    ) -> None:
        if tls is None and not is_loopback(address[0]):
            raise ConfigurationError(
                f"A guardian on {address[0]} needs a certificate: only on the loopback interface it may do without."
            )
        self.guardian, self.routes, self.clock = guardian, Routes(guardian), clock
        super().__init__(address, _Handler)
        self.connections = Connections() if connections is None else connections
        if tls is not None:
            # The handshake is made when a thread of its own reads first: one who never finishes it holds up nobody else.
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.connections.take(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        self.connections.leave(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        self.connections.close()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hangs up or sends rubbish is not worth a trace."""


class _NoRequest(Exception):
    """Who asks has hung up, or took too long."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "edna-guardian"
    sys_version = ""
    disable_nagle_algorithm = True
    # An answer leaves as a whole.
    wbufsize = -1
    server: Server

    def handle_one_request(self) -> None:
        connections = self.server.connections
        try:
            self.rfile.peek(1)  # type: ignore[attr-defined]  # a buffered reader
            connections.read(self.connection)
            super().handle_one_request()
            connections.rest(self.connection)
        except OSError:
            # It took too long, or had to give way.
            self.close_connection = True

    def do_OPTIONS(self) -> None:
        """What the browser of a person asks before its page may ask: anybody may, for a guardian goes by tokens alone."""
        self._send(204, b"")

    def do_POST(self) -> None:
        try:
            status, answer = 200, self._answer()
        except TicketRefused as error:
            status = 403
            answer = {**_refusal(error), "retry_after_seconds": error.retry_after_seconds}
        except CustodyError as error:
            status, answer = 400, _refusal(error)
        except _NoRequest:
            self.close_connection = True
            return
        except Exception as error:
            # Where, and never about what.
            where = "".join(traceback.format_tb(error.__traceback__))
            sys.stderr.write(f"{self.path.partition('?')[0][:40]!r} failed: {type(error).__name__}\n{where}")
            status, answer = (
                500,
                {"error": {"code": "Exception", "message": "The guardian failed; see what it prints."}},
            )
            self.close_connection = True
        self._send(status, json.dumps(answer).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.server.connections.write(self.connection)
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        if status == 204:
            self.send_header("Access-Control-Allow-Methods", "POST")
            self.send_header("Access-Control-Allow-Headers", "Content-Type")
            self.send_header("Access-Control-Max-Age", "3600")
        else:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self) -> Said:
        length = self.headers.get("Content-Length", "")
        # What anybody may ask is short; what is long, the site says that it has ordered it.
        most = (
            _MAX_BYTES
            if self.headers.get(ORDER_HEADER) and self.path in self.server.routes.ordered
            else _MAX_OPEN_BYTES
        )
        if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > most:
            self.close_connection = True
            raise GuardianRefused("A request says its length, which is bounded.")
        body = self._read(int(length))
        self.server.connections.work(self.connection)
        routes = self.server.routes
        route = routes.open.get(self.path)
        if route is None:
            route = routes.ordered.get(self.path)
            if route is None:
                raise GuardianRefused("Guardians have no such address.")
            guardian = self.server.guardian
            header = self.headers.get(ORDER_HEADER, "")
            check_order(header, guardian.number, self.path, body, now=self.server.clock(), key=guardian.roster.site_key)
        try:
            said = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise GuardianRefused("This is not JSON.") from error
        if not isinstance(said, dict):
            raise GuardianRefused("A request is a JSON object.")
        return route(said)

    def _read(self, length: int) -> bytes:
        try:
            body = self.rfile.read(length)
        except OSError as error:
            raise _NoRequest from error
        if len(body) < length:
            raise _NoRequest
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """A guardian's log is its audit log."""


def _refusal(error: CustodyError) -> dict[str, Any]:
    said = {"code": type(error).__name__, "message": str(error)}
    return {"error": said, "guardian": getattr(error, "guardian", None)}


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
