"""How a monitor is served: its store, its socket; until it is asked to stop.

Keeps: asked to stop, it finishes what it is answering. What is changed in its store while it runs (policies, certificates, whom to trust,
the epoch), it reads anew. Does not know: what a monitor answers.
"""

from __future__ import annotations

import os
import signal
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from edna.custody.policies.evidence import Verifier
from edna.custody.policies.process.monitor import CREDENTIAL_LASTS_SECONDS, Monitor
from edna.custody.policies.process.server import Server
from edna.custody.policies.process.store import Store
from edna.custody.sockets.handshake import ServerProfile
from edna.custody.sockets.profiles import ANYBODY, Profile
from edna.errors import ConfigurationError
from edna.policies import files

_STORE = "monitor.sqlite3"
_LOOK_SECONDS = 1.0


def store_in(folder: Path, *, new: bool = False) -> Store:
    """
    Raises: ConfigurationError if there is none, or one although it should be new.
    """
    path = folder / _STORE
    if new:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and Store(path).value("master") is not None:
            raise ConfigurationError(
                f"There are a monitor's keys in {folder} already, and they stay. Name another folder; edna_monitor status --folder "
                f"{folder} prints its public key."
            )
    elif not path.exists():
        raise ConfigurationError(f"There is no monitor's store in {folder}: edna_monitor init makes one.")
    return Store(path)


def monitor_in(
    folder: Path, *, credential_seconds: int = CREDENTIAL_LASTS_SECONDS, verifiers: Sequence[Verifier] = ()
) -> Monitor:
    return Monitor(store_in(folder), clock=time.time, verifiers=verifiers, credential_seconds=credential_seconds)


def tls_of(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """
    Raises: ConfigurationError if the files are no certificate and its key.
    """
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"The file {certificate} is no certificate with its key: {type(error).__name__}."
        ) from error
    return context


def profile_of(name: str | None, peers: Sequence[str], *, monitor: Monitor) -> ServerProfile | None:
    """How it is spoken to, if not by TLS. It answers workers that it has certificates about, and ``peers``: public keys, or ``any``.

    Raises: ConfigurationError if a peer is no key.
    """
    profile = Profile.of_scheme(name or "")
    if profile is None:
        return None
    if ANYBODY in peers:
        return monitor.socket_profile(profile, peers=None)
    keys = frozenset(files.public_key_of(each, given_as="--peer") for each in peers)
    return monitor.socket_profile(profile, peers=keys)


def serve(
    monitor: Monitor,
    folder: Path,
    address: tuple[str, int],
    *,
    tls: ssl.SSLContext | None,
    profile: ServerProfile | None,
    ready: Callable[[int], None],
) -> None:
    """Answer until SIGTERM or SIGINT. ``ready`` is told the port.

    Raises: ConfigurationError if it would listen on the network in clear, or cannot listen there.
    """
    try:
        server = Server(address, monitor, tls=tls, profile=profile)
    except OSError as error:
        raise ConfigurationError(f"Nothing can listen on {address[0]} port {address[1]}: {error.strerror}.") from error
    over = threading.Event()

    def stop(*_: object) -> None:
        over.set()
        # `shutdown` waits for the loop that this very thread runs.
        threading.Thread(target=server.shutdown).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    threading.Thread(target=_watch, args=(monitor, folder / "changed", over), daemon=True).start()
    ready(int(server.server_address[1]))
    with server:
        server.serve_forever(poll_interval=0.1)
    monitor.close()


def tell_change(folder: Path) -> None:
    """A monitor that runs reads its store again."""
    (folder / "changed").touch()


def _watch(monitor: Monitor, mark: Path, over: threading.Event, look_seconds: float = _LOOK_SECONDS) -> None:
    # None yet: what was changed between reading the store and now counts, too.
    known = -1
    while not over.wait(look_seconds):
        if (written := _written(mark)) != known:
            try:
                monitor.reload()
            except Exception as error:  # whom to trust no more has to be read yet: it is tried until it goes
                sys.stderr.write(
                    f"The monitor's store cannot be read again, and is tried anew: {type(error).__name__}\n"
                )
            else:
                known = written


def _written(mark: Path) -> int:
    try:
        return os.stat(mark).st_mtime_ns
    except OSError:
        return 0
