"""Ports at which a process will listen, and nobody else is let meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager


@contextmanager
def reserved(ports: Sequence[int]) -> Iterator[list[int]]:
    """These ports of the loopback interface; 0 is any that is free.

    Nobody who takes any port gets one of them, neither to listen nor to connect elsewhere. Who asks whether somebody listens there
    does not reach themselves, either: the system may give a connection the very port it goes to.

    Raises: OSError if somebody has one of them.
    """
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in ports]
        for each, port in zip(sockets, ports, strict=True):
            each.bind(("127.0.0.1", port))
            # Whoever asks for this very port, as servers do, gets it beside one that does not listen.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield [each.getsockname()[1] for each in sockets]
