"""Times 900 bytes there and back over loopback, between two processes, in clear (REG) and with each profile of a socket: bare, and as a
whole request to a process that others ask."""

from __future__ import annotations

import json
import multiprocessing
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from typing import Final

import nacl.signing

from benchmarks.timing import Clock, Key, Result
from edna.custody.sockets.framed import FramedConnection, FramedSocket
from edna.custody.sockets.handshake import ClientProfile, ServerProfile
from edna.custody.sockets.profiles import Profile
from edna.custody.sockets.server import Headers, JsonServer, Said
from edna.errors import EdnaError, GuardianRefused

REG: Final = "REG"
NAMES: Final = (REG, *(each.name for each in Profile))
BARE, REQUEST, NEW = "900 bytes there and back", "a request of 900 bytes", "a request on a new connection"
_SIZE: Final = 900
#: Both ends are known: what is measured is no secret.
_SERVER, _CLIENT = nacl.signing.SigningKey(bytes(32)), nacl.signing.SigningKey(b"\x01" * 32)


def sockets(*, samples: int, database: str) -> list[Result]:
    """One exchange of each kind in turn, so that whatever else the machine does meets all of them."""
    clock = Clock(_no_statements)
    said = b"x" * _SIZE
    body = json.dumps({"said": "x" * (_SIZE - 12)}).encode()
    with ExitStack() as stack:
        bare = {name: _bare(stack, name) for name in NAMES}
        kept = {name: _http(stack, name) for name in NAMES}
        for _ in clock.rounds(range(samples * 5)):
            for name in NAMES:
                clock(Key(f"{BARE}, {name}", "edna"), lambda name=name: bare[name](said), rows=1)
            for name in NAMES:
                clock(Key(f"{REQUEST}, {name}", "edna"), lambda name=name: _ask(kept[name], body), rows=1)
            for name in NAMES:
                kept[name].close()
                clock(Key(f"{NEW}, {name}", "edna"), lambda name=name: _ask(kept[name], body), rows=1)
    return clock.results(app="guardians", level="library", database=database, scale="over loopback")


def _ask(connection: HTTPConnection, body: bytes) -> bytes:
    connection.request("POST", "/", body)
    answer = connection.getresponse().read()
    assert len(answer) == _SIZE, len(answer)
    return answer


def _bare(stack: ExitStack, name: str) -> Callable[[bytes], bytes]:
    connected = stack.enter_context(socket.create_connection(("127.0.0.1", stack.enter_context(_process(_echo, name)))))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked = _asked(name)
    framed = None if asked is None else FramedSocket.of_client(connected, asked)
    if framed is not None:
        stack.callback(framed.end)
    sends, into = connected if framed is None else framed, bytearray(_SIZE)

    def exchange(said: bytes) -> bytes:
        sends.sendall(said)
        had = 0
        while had < _SIZE:
            had += sends.recv_into(memoryview(into)[had:])
        return bytes(into)

    return exchange


def _http(stack: ExitStack, name: str) -> HTTPConnection:
    port, asked = stack.enter_context(_process(_serve, name)), _asked(name)
    if asked is None:
        return HTTPConnection("127.0.0.1", port, timeout=60)
    return FramedConnection("127.0.0.1", port, asked=asked, timeout=60)


def _asked(name: str) -> ClientProfile | None:
    return None if name == REG else ClientProfile(Profile[name], bytes(_SERVER.verify_key), _CLIENT)


def _served(name: str) -> ServerProfile | None:
    return None if name == REG else ServerProfile(Profile[name], _SERVER, {bytes(_CLIENT.verify_key)}.__contains__)


@contextmanager
def _process(run: Callable[[str, Connection], None], name: str) -> Iterator[int]:
    """The port at which another process answers."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run, args=(name, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield int(ours.recv())
    finally:
        process.terminate()
        process.join()


def _echo(name: str, told: Connection) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    told.send(listening.getsockname()[1])
    connected, _ = listening.accept()
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    served = _served(name)
    answers = connected if served is None else FramedSocket.of_server(connected, served)
    into = bytearray(_SIZE)
    while True:
        had = 0
        while had < _SIZE:
            if not (more := answers.recv_into(memoryview(into)[had:])):
                return
            had += more
        answers.sendall(into)


def _serve(name: str, told: Connection) -> None:
    server = JsonServer(("127.0.0.1", 0), _Echo(), profile=_served(name))
    told.send(server.server_address[1])
    server.serve_forever()


class _Echo:
    name = "guardian"

    def most_bytes(self, path: str, headers: Headers) -> int:
        return 4096

    def answer(self, method: str, path: str, headers: Headers, body: bytes) -> Said:
        said: Mapping[str, str] = json.loads(body)
        return said

    def refusal(self, error: EdnaError) -> tuple[int, Said]:
        return 400, {}

    def refuse(self, message: str) -> EdnaError:
        return GuardianRefused(message)


def _no_statements() -> AbstractContextManager[Callable[[], int]]:
    return nullcontext(lambda: 0)
