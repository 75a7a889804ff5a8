"""Somebody on the way between two who speak through framed sockets: hands on what each says, or something else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import nacl.signing

from edna.custody.sockets.framed import FramedSocket
from edna.custody.sockets.handshake import ClientProfile, ServerProfile
from edna.custody.sockets.profiles import Profile
from edna.errors import SocketRefused

ONE, TWO, ANSWER = b"first question", b"second question", b"what is answered"
WAIT_SECONDS = 60
#: Head of a stream, and what a frame has beside its length and what it says.
HEAD, MORE = {Profile.AUTH: 0, Profile.SECURE: 24}, {Profile.AUTH: 33, Profile.SECURE: 17}

Change = Callable[[str, bytes], bytes]


def messages(profile: Profile) -> dict[str, tuple[bool, int]]:
    """In their order: whether the client says it, and how long it is."""
    frame = 4 + MORE[profile]
    return {
        "hello": (True, 46),
        "reply": (False, 110),
        "proof": (True, HEAD[profile] + frame + 96),
        "one": (True, frame + len(ONE)),
        "two": (True, frame + len(TWO)),
        "answer": (False, HEAD[profile] + frame + len(ANSWER)),
        "last": (False, frame),
    }


@dataclass
class Talk:
    """What each heard, and by what it was refused."""

    server: bytes = b""
    client: bytes = b""
    refused: dict[str, SocketRefused] = field(default_factory=dict)
    wire: dict[str, bytes] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        return (self.server, self.client, self.refused) == (ONE + TWO, ANSWER, {})


@dataclass
class Pair:
    """Two who talk with each other. `asks` and `wants` may differ from what is answered."""

    profile: Profile
    wants: Profile | None = None
    server: nacl.signing.SigningKey = field(default_factory=nacl.signing.SigningKey.generate)
    expected: bytes | None = None
    client: nacl.signing.SigningKey = field(default_factory=nacl.signing.SigningKey.generate)
    is_peer: Callable[[bytes], bool] | None = lambda key: True

    def talk(self, change: Change = lambda name, said: said, *, until: str = "last") -> Talk:
        """Have it all said through ``change``, which is told what each message is called; behind ``until`` the wire is cut."""
        talk = Talk()
        client, near = socket.socketpair()
        far, server = socket.socketpair()
        for each in (client, near, far, server):
            each.settimeout(WAIT_SECONDS)
        asking = threading.Thread(target=self._ask, args=(client, talk))
        answering = threading.Thread(target=self._answer, args=(server, talk))
        asking.start()
        answering.start()
        with near, far:
            for name, (is_clients, size) in messages(self.profile).items():
                source, target = (near, far) if is_clients else (far, near)
                said = _whole(source, size)
                talk.wire[name] = said
                try:
                    target.sendall(change(name, said))
                except OSError:
                    break
                if len(said) < size or name == until:
                    break
        asking.join()
        answering.join()
        return talk

    def _ask(self, connected: socket.socket, talk: Talk) -> None:
        expected = bytes(self.server.verify_key) if self.expected is None else self.expected
        with connected:
            try:
                framed = FramedSocket.of_client(
                    connected, ClientProfile(self.wants or self.profile, expected, self.client)
                )
                framed.sendall(ONE)
                framed.sendall(TWO)
                with framed.makefile("rb") as answer:
                    while more := answer.read1():
                        talk.client += more
            except SocketRefused as error:
                talk.refused["client"] = error
            except OSError:
                pass

    def _answer(self, connected: socket.socket, talk: Talk) -> None:
        with connected:
            framed = FramedSocket.of_server(connected, ServerProfile(self.profile, self.server, self.is_peer))
            try:
                with framed.makefile("rb") as asked:
                    while len(talk.server) < len(ONE + TWO):
                        talk.server += asked.read1(len(ONE + TWO) - len(talk.server))
                    framed.sendall(ANSWER)
                    framed.end()
            except SocketRefused as error:
                talk.refused["server"] = error
            except OSError:
                pass


def _whole(source: socket.socket, size: int) -> bytes:
    """So many bytes, or what there are."""
    said = b""
    while len(said) < size:
        try:
            more = source.recv(size - len(said))
        except ConnectionResetError:
            break
        if not more:
            break
        said += more
    return said
