"""A process on a socket: JSON by HTTP, through TLS or with a profile, unless it listens on the loopback interface alone.

Keeps: requests are bounded in number, size and time. Nothing of a request is logged. Does not know: what is asked and answered
(`Answering`).
"""

from __future__ import annotations

import json
import ssl
import sys
import traceback
from collections.abc import Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol

from edna.custody.sockets.connections import Connections
from edna.custody.sockets.framed import FramedSocket
from edna.custody.sockets.handshake import ServerProfile
from edna.custody.sockets.profiles import is_loopback
from edna.errors import ConfigurationError, EdnaError, SocketRefused

Said = Mapping[str, Any]
#: Found by their names, however these are written.
Headers = Message
NO_LENGTH: Final = "A request says its length, which is bounded."


class Answering(Protocol):
    """What a process answers. ``name`` is what it is called in messages: guardian."""

    name: str

    def most_bytes(self, path: str, headers: Headers) -> int: ...

    def answer(self, method: str, path: str, headers: Headers, body: bytes) -> Said:
        """
        Raises: EdnaError, which is refused as `refusal` says.
        """
        ...

    def refusal(self, error: EdnaError) -> tuple[int, Said]: ...

    def refuse(self, message: str) -> EdnaError:
        """The error of a request that is none."""
        ...


class JsonServer(ThreadingHTTPServer):
    """Serves until `shutdown`.

    Raises: ConfigurationError if it would listen on the network without TLS and without a profile.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        answering: Answering,
        *,
        tls: ssl.SSLContext | None = None,
        profile: ServerProfile | None = None,
        connections: Connections | None = None,
    ) -> None:
        if tls is not None and profile is not None:
            raise ConfigurationError(f"A {answering.name} speaks TLS or {profile.profile.name}, and not both.")
        if tls is None and profile is None and not is_loopback(address[0]):
            raise ConfigurationError(
                f"A {answering.name} on {address[0]} needs a certificate, or the profile secure: only on the loopback interface it may do "
                "without."
            )
        self.answering, self.profile = answering, profile
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
    server_version = "edna"
    sys_version = ""
    disable_nagle_algorithm = True
    # An answer leaves as a whole.
    wbufsize = -1
    server: JsonServer
    _framed: FramedSocket | None = None

    def setup(self) -> None:
        super().setup()
        if self.server.profile is not None:
            self.rfile.close()
            # As with TLS, the handshake is made when this thread reads first.
            self._framed = FramedSocket.of_server(self.connection, self.server.profile)
            self.rfile, self.wfile = self._framed.makefile("rb"), self._framed.makefile("wb")

    def finish(self) -> None:
        super().finish()
        if self._framed is not None:
            self._framed.end()

    def handle_one_request(self) -> None:
        connections = self.server.connections
        try:
            self.rfile.peek(1)  # type: ignore[attr-defined]  # a buffered reader
            connections.read(self.connection)
            super().handle_one_request()
            connections.rest(self.connection)
        except (OSError, SocketRefused):
            # It took too long, or had to give way; or its frames are not as they have to be.
            self.close_connection = True

    def do_OPTIONS(self) -> None:
        """What a browser asks before its page may ask: anybody may, for nothing here goes by cookies."""
        self._send(204, b"")

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def _do(self, method: str) -> None:
        answering = self.server.answering
        try:
            status, answer = 200, self._answer(method)
        except EdnaError as error:
            status, answer = answering.refusal(error)
        except _NoRequest:
            self.close_connection = True
            return
        except Exception as error:  # a process that others need goes on, whatever one request meets
            # Where, and never about what.
            where = "".join(traceback.format_tb(error.__traceback__))
            sys.stderr.write(f"{self.path.partition('?')[0][:40]!r} failed: {type(error).__name__}\n{where}")
            message = f"The {answering.name} failed; see what it prints."
            status, answer = 500, {"error": {"code": "Exception", "message": message}}
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

    def _answer(self, method: str) -> Said:
        length = self.headers.get("Content-Length", "0" if method == "GET" else "")
        answering, headers = self.server.answering, self.headers
        most = answering.most_bytes(self.path, headers)
        if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > most:
            self.close_connection = True
            raise answering.refuse(NO_LENGTH)
        body = self._read(int(length))
        self.server.connections.work(self.connection)
        return answering.answer(method, self.path, headers, body)

    def _read(self, length: int) -> bytes:
        try:
            body = self.rfile.read(length)
        except (OSError, SocketRefused) as error:
            raise _NoRequest from error
        if len(body) < length:
            raise _NoRequest
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """The log of such a process is its audit log."""
