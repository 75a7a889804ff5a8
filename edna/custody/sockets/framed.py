"""A socket with frames, for those who read and write one: HTTP goes through it as through any other.

Keeps: whoever reads gets what the other side has said, in its order, and nothing any more after a frame that is refused. A time-out is for
the whole of what one call waits for, however it drips in. Does not know: what is said.
"""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from edna.custody.sockets.frames import LENGTH_BYTES, MOST_BODY, frames, opener_of, sealer_of
from edna.custody.sockets.handshake import (
    HELLO_BYTES,
    REPLY_BYTES,
    Agreed,
    Answering,
    Asking,
    ClientProfile,
    ServerProfile,
)
from edna.errors import SocketRefused

_PIECE_BYTES: Final = 32 * 1024


class _Wire:
    """The bytes of a connected socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._connected, self._received = connected, b""
        self.timeout = self._set_timeout = connected.gettimeout()

    def end(self) -> float | None:
        """When what is asked for now has to be there."""
        return None if self.timeout is None else time.monotonic() + self.timeout

    def take(self, count: int, end: float | None) -> bytes:
        """
        Raises: SocketRefused if it ends before; OSError, of which one is TimeoutError.
        """
        while len(self._received) < count:
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError("what the other side says took too long")
                self._expect(left)
            try:
                more = self._connected.recv(_PIECE_BYTES)
            except ConnectionError:
                more = b""
            if not more:
                raise _ended()
            self._received += more
        received = self._received
        self._received = received[count:]
        return received[:count]

    def put(self, written: bytes) -> None:
        self._expect(self.timeout)
        try:
            self._connected.sendall(written)
        except ConnectionError:
            raise _ended() from None

    def _expect(self, seconds: float | None) -> None:
        if seconds != self._set_timeout:
            self._connected.settimeout(seconds)
            self._set_timeout = seconds

    def close(self) -> None:
        self._connected.close()


def _ended() -> SocketRefused:
    return SocketRefused(
        "The other side has ended this without saying so: somebody has cut it off on the way, or it does not answer the key that was "
        "shown, or not with this profile."
    )


class _Frames:
    """Both directions, after the handshake."""

    def __init__(self, wire: _Wire, agreed: Agreed) -> None:
        self._wire, self._sealer, self._opener = wire, sealer_of(agreed), opener_of(agreed)
        self._unread, self._unsaid = self._opener.beginning_bytes, self._sealer.beginning

    def read(self, end: float | None) -> tuple[bytes, bool]:
        if self._unread:
            self._opener.begin(self._wire.take(self._unread, end))
            self._unread = 0
        length = int.from_bytes(self._wire.take(LENGTH_BYTES, end), "big")
        if length > MOST_BODY:
            raise SocketRefused("A frame is longer than frames are: it was changed on the way.")
        said, is_last = self._opener.open(self._wire.take(length, end))
        if not said and not is_last:
            raise SocketRefused("A frame that says nothing is none.")
        return said, is_last

    def write(self, said: bytes | memoryview, *, is_last: bool = False) -> None:
        beginning, self._unsaid = self._unsaid, b""
        self._wire.put(beginning + frames(self._sealer, said, is_last=is_last))


def _greeted(wire: _Wire, asked: ClientProfile) -> _Frames:
    asking = Asking(asked)
    wire.put(asking.hello)
    agreed = asking.agree(wire.take(REPLY_BYTES, wire.end()))
    made = _Frames(wire, agreed)
    made.write(asking.proof(agreed))
    return made


def _answered(wire: _Wire, served: ServerProfile) -> _Frames:
    answering = Answering(served, wire.take(HELLO_BYTES, wire.end()))
    wire.put(answering.reply)
    made = _Frames(wire, answering.agreed)
    answering.check(made.read(wire.end())[0])
    return made


class FramedSocket:
    """As much of a socket as HTTP uses.

    Raises, in all that reads: SocketRefused; and OSError, as a socket does.
    """

    def __init__(self, wire: _Wire, greet: Callable[[], _Frames]) -> None:
        """``greet`` makes the handshake, when something is read or written first."""
        self._wire, self._greet = wire, greet
        self._frames: _Frames | None = None
        self._said = memoryview(b"")
        self._is_over = self._is_broken = self._is_closed = False
        self._files = 0

    @classmethod
    def of_client(cls, connected: socket.socket, asked: ClientProfile) -> FramedSocket:
        """The side that has connected. Makes the handshake at once."""
        wire = _Wire(connected)
        made = cls(wire, lambda: _greeted(wire, asked))
        made._begun()
        return made

    @classmethod
    def of_server(cls, connected: socket.socket, served: ServerProfile) -> FramedSocket:
        """The side that was connected to. Waits for nothing yet."""
        wire = _Wire(connected)
        return cls(wire, lambda: _answered(wire, served))

    def recv_into(self, into: Any) -> int:
        if not self._said and not self._is_over:
            said, self._is_over = self._unbroken().read(self._wire.end())
            self._said, self._is_broken = memoryview(said), False
        count = min(len(into), len(self._said))
        into[:count] = self._said[:count]
        self._said = self._said[count:]
        return count

    def sendall(self, said: Any) -> None:
        if len(said):
            self._unbroken().write(memoryview(said).cast("B"))
            self._is_broken = False

    def settimeout(self, seconds: float | None) -> None:
        self._wire.timeout = seconds

    def makefile(self, mode: str, buffering: int = -1) -> Any:
        """A buffered reader ("rb") or writer ("wb")."""
        self._files += 1
        file = _File(self)
        return io.BufferedReader(file) if "r" in mode else io.BufferedWriter(file)

    def end(self) -> None:
        """Say that this was the last, if the other side still listens; then nothing is said any more."""
        if self._frames is not None and not self._is_broken:
            with suppress(OSError, SocketRefused):
                self._frames.write(b"", is_last=True)
        self._is_broken = True

    def close(self) -> None:
        """What `makefile` gave goes on, as with any socket."""
        self._is_closed = True
        if self._files == 0:
            self.end()
            self._wire.close()

    def close_file(self) -> None:
        """One that `makefile` gave is closed."""
        self._files -= 1
        if self._is_closed:
            self.close()

    def _begun(self) -> _Frames:
        if self._frames is None:
            self._frames = self._greet()
        return self._frames

    def _unbroken(self) -> _Frames:
        """Takes it for broken until what is done now is done (`_is_broken` is unset by who did it): what comes behind a refused frame does
        not count.
        """
        if self._is_broken:
            raise BrokenPipeError("nothing goes through this socket any more")
        self._is_broken = True
        return self._begun()


class _File(io.RawIOBase):
    def __init__(self, framed: FramedSocket) -> None:
        self._framed = framed

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        return self._framed.recv_into(into)

    def write(self, said: Any) -> int:
        self._framed.sendall(said)
        return len(said)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._framed.close_file()


class FramedConnection(http.client.HTTPConnection):
    """HTTP by frames."""

    def __init__(self, host: str, port: int, *, asked: ClientProfile, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._asked = asked

    def connect(self) -> None:
        super().connect()
        connected = self.sock
        try:
            self.sock = FramedSocket.of_client(connected, self._asked)
        except BaseException:
            connected.close()
            raise
