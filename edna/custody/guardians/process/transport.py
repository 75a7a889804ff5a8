"""How guardians are reached: JSON by HTTP, through TLS with the certificate that the roster names.

Keeps: a connection is used again, by one thread at a time; an answer comes whole within the
time-out, or not at all. No address of a roster is asked without TLS but the loopback's.
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
from urllib.parse import urlsplit

import nacl.signing

from edna.custody.guardians.process.orders import ORDER_HEADER, order, plain
from edna.custody.guardians.roster import Roster
from edna.custody.sockets.server import is_loopback
from edna.errors import ConfigurationError, GuardianRefused, TicketRefused

_MAX_BYTES: Final = 16 * 1024 * 1024


class HttpTransport:
    """Asks the guardians of a roster. `site_key` signs what the site orders; without it nothing can be ordered."""

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
        for member in roster.members:
            check_address(member.address)

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
                _answers_until(connection, time.monotonic() + self._timeout_seconds)
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                answer = response.read(_MAX_BYTES + 1)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # One that was kept may have been closed meanwhile; what is asked twice changes nothing twice, or is counted twice.
                if kept is None:
                    raise GuardianRefused(f"Guardian {number} cannot be reached ({type(error).__name__}).") from error
                continue
            if len(answer) > _MAX_BYTES:
                connection.close()
                raise GuardianRefused(f"Guardian {number} answers too much.")
            with self._lock:
                self._idle[number].append(connection)
            return response.status, answer

    def _kept(self, number: int) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle[number].pop() if self._idle[number] else None

    def _connection(self, number: int) -> http.client.HTTPConnection:
        member = self._roster.member(number)
        is_tls, host, port = _address(member.address)
        if not is_tls:
            return http.client.HTTPConnection(host, port, timeout=self._timeout_seconds)
        context = ssl.create_default_context(cadata=member.certificate or None)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout_seconds, context=context)


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


def _answers_until(connection: http.client.HTTPConnection, deadline: float) -> None:
    """A time-out of a socket counts anew for each byte; this one does not."""

    def response(connected: socket.socket, *args: Any, **kwargs: Any) -> http.client.HTTPResponse:
        return http.client.HTTPResponse(_Reading(connected, deadline), *args, **kwargs)  # type: ignore[arg-type]  # it reads, and nothing else

    connection.response_class = response  # type: ignore[assignment]  # called as the class is


def check_address(address: str) -> None:
    """
    Raises: ConfigurationError if a guardian cannot be asked there.
    """
    _address(address)


def _address(address: str) -> tuple[bool, str, int]:
    parts = urlsplit(address)
    is_tls, host = parts.scheme == "https", parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host or parts.path not in ("", "/"):
        raise ConfigurationError(
            f"The address of a guardian looks like https://guardian.example:8443, and not like {address}."
        )
    if not is_tls and not is_loopback(host):
        raise ConfigurationError(f"{address} has no TLS: only on the loopback interface a guardian may do without.")
    return is_tls, host, parts.port or (443 if is_tls else 80)
