"""How guardians are reached: JSON by HTTP, through TLS with the certificate that the roster names, or with a profile.

Keeps: a connection is used again, by one thread at a time; an answer comes whole within the
time-out, or not at all. No address of a roster is asked in clear but the loopback's.
Does not know: what is asked.
"""

from __future__ import annotations

import http.client
import io
import json
import socket
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

import nacl.signing

from edna.custody.guardians.process.orders import ORDER_HEADER, order, plain
from edna.custody.guardians.roster import Roster
from edna.custody.sockets.framed import FramedConnection
from edna.custody.sockets.handshake import ClientProfile
from edna.custody.sockets.profiles import Address
from edna.errors import ConfigurationError, GuardianRefused, SocketRefused, TicketRefused

_MAX_BYTES: Final = 16 * 1024 * 1024


class HttpTransport:
    """Asks the guardians of a roster. `site_key` signs what the site orders, and says who asks; without it nothing can be ordered, and
    nobody in particular asks."""

    def __init__(
        self,
        roster: Roster,
        *,
        site_key: nacl.signing.SigningKey | None = None,
        timeout_seconds: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._roster, self._site_key = roster, site_key
        self._timeout_seconds, self._clock = timeout_seconds, clock
        self._lock = threading.Lock()
        #: Connections that nobody uses now.
        self._idle: dict[int, list[http.client.HTTPConnection]] = defaultdict(list)
        self._addresses = {each.number: Address.parse(each.address, whose="guardian") for each in roster.members}

    def ask(self, number: int, path: str, said: Mapping[str, Any], *, ordered: bool = False) -> Mapping[str, Any]:
        """
        Raises: TicketRefused, GuardianRefused as the guardian says; GuardianRefused if it cannot be reached, or answers rubbish.
        """
        body = json.dumps(said).encode()
        headers = {"Content-Type": "application/json"}
        if ordered:
            if self._site_key is None:
                raise ConfigurationError("Guardians take orders of the site alone: the site's key is missing.")
            headers[ORDER_HEADER] = order(number, path, body, at=int(self._clock()), key=self._site_key)
        status, answer = self._exchange(number, path, body, headers)
        try:
            told = json.loads(answer)
            if status == 200 and isinstance(told, dict):
                return told
            message = plain(str(told["error"]["message"]))
            retry, meant = told.get("retry_after_seconds"), told.get("guardian")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise GuardianRefused(f"Guardian {number} answers rubbish.") from error
        if status == 403:
            raise TicketRefused(
                f"Guardian {number}: {message}", retry_after_seconds=retry if type(retry) is int else None
            )
        raise GuardianRefused(f"Guardian {number}: {message}", guardian=meant if type(meant) is int else None)

    def _exchange(self, number: int, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        while True:
            kept = self._kept(number)
            connection = kept or self._connection(number)
            try:
                status, answer = _posted(connection, path, body, headers, by=time.monotonic() + self._timeout_seconds)
            except (OSError, http.client.HTTPException, SocketRefused) as error:
                connection.close()
                # One that was kept may have been closed meanwhile; what is asked twice changes nothing twice, or is counted twice.
                if kept is None:
                    why = str(error) if isinstance(error, SocketRefused) else type(error).__name__
                    raise GuardianRefused(f"Guardian {number} cannot be reached ({why}).") from error
                continue
            if len(answer) > _MAX_BYTES:
                connection.close()
                raise GuardianRefused(f"Guardian {number} answers too much.")
            with self._lock:
                self._idle[number].append(connection)
            return status, answer

    def _kept(self, number: int) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle[number].pop() if self._idle[number] else None

    def _connection(self, number: int) -> http.client.HTTPConnection:
        member, timeout = self._roster.member(number), self._timeout_seconds
        address = self._addresses[number]
        if address.profile is not None:
            key = self._site_key or nacl.signing.SigningKey.generate()
            asked = ClientProfile(address.profile, member.verify_key, key)
            return FramedConnection(address.host, address.port, asked=asked, timeout=timeout)
        if address.scheme == "http":
            return http.client.HTTPConnection(address.host, address.port, timeout=timeout)
        context = ssl.create_default_context(cadata=member.certificate or None)
        return http.client.HTTPSConnection(address.host, address.port, timeout=timeout, context=context)


class _Answer(io.RawIOBase):
    """What a socket says until then: one that drips its answer ends, too."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._connected, self._deadline = connected, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the whole answer took too long")
        self._connected.settimeout(left)
        return self._connected.recv_into(into)


class _Reading:
    """As much of a socket as a response of HTTP reads from."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._raw = _Answer(connected, deadline)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self._raw)


def _posted(
    connection: http.client.HTTPConnection, path: str, body: bytes, headers: Mapping[str, str], *, by: float
) -> tuple[int, bytes]:
    """What is answered until then. A request leaves as a whole: `http.client` sends what it is about apart, and wakes who reads twice."""
    if connection.sock is None:
        connection.connect()
    said = {"Host": host_of(connection), **headers, "Content-Length": str(len(body))}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items())]
    connection.sock.sendall("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body)
    # It reads from a socket, and does nothing else with it.
    response = http.client.HTTPResponse(_Reading(connection.sock, by), method="POST")  # type: ignore[arg-type]
    response.begin()
    answer = response.read(_MAX_BYTES + 1)
    if response.will_close:
        connection.close()
    return response.status, answer


def host_of(connection: http.client.HTTPConnection) -> str:
    """As a request names whom it is for: what is before a guardian may go by it."""
    name = f"[{connection.host}]" if ":" in connection.host else connection.host.encode("idna").decode("ascii")
    return f"{name}:{connection.port}"
