"""Argon2id in turn: one at a time on a machine, behind everything else that runs there.

Keeps: however many people type their passwords at once, all of them together take one processor at most, and less of it while others need
it. Each process has one thread for this, which gives way to all others; the processes of a system user share a lock file. Does not know:
whose password it is, what is made of it, how costly it should be.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from nacl.bindings import crypto_pwhash_alg, crypto_pwhash_ALG_ARGON2ID13
from nacl.exceptions import CryptoError

if sys.platform != "win32":
    import fcntl

#: How far the thread's priority is below that of others ("nice").
GIVES_WAY_BY = 10
#: Then it goes on beside whoever has the turn: a process that was stopped in the middle shuts nobody out.
WAIT_SECONDS = 10.0
_AGAIN_SECONDS = 0.002


def stretch(size: int, secret: bytes, salt: bytes, *, opslimit: int, memlimit_bytes: int) -> bytes | None:
    """Return ``size`` bytes, by Argon2id (RFC 9106); None if it does not take the parameters or there is not that much memory.

    Never raises about these: PyNaCl's frames hold the secret.
    """

    def work() -> bytes | None:
        with _pool:  # its turn
            try:
                return crypto_pwhash_alg(size, secret, salt, opslimit, memlimit_bytes, crypto_pwhash_ALG_ARGON2ID13)
            except CryptoError:
                return None

    return _pool.thread().submit(work).result()


class _Pool:
    """Whose turn it is among the processes; the process's own thread, which is begun when the first one asks."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._file: int | None = None

    def thread(self) -> ThreadPoolExecutor:
        with self._guard:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "edna-stretching", initializer=_give_way)
                self._file = _lock_file()
            return self._thread

    def __enter__(self) -> None:
        last = time.monotonic() + WAIT_SECONDS
        while self._file is not None and not _locked(self._file) and time.monotonic() < last:
            time.sleep(_AGAIN_SECONDS)

    def __exit__(self, *raised: object) -> None:
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _give_way() -> None:
    thread = threading.get_native_id()
    # Linux alone has a priority for each thread. Where threads are not real ones (gevent), this one is the whole process: it keeps its own.
    if sys.platform == "linux" and thread != os.getpid():
        os.setpriority(os.PRIO_PROCESS, thread, min(19, os.getpriority(os.PRIO_PROCESS, thread) + GIVES_WAY_BY))


def _lock_file() -> int | None:
    """None where there can be no such file: then each process has turns of its own."""
    if sys.platform == "win32":
        return None
    path = os.path.join(tempfile.gettempdir(), f"edna-stretching-{os.geteuid()}.lock")
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    said = os.fstat(file)
    # Whoever else can open it could lock it for good, and nobody would get in any more.
    if said.st_uid == os.geteuid() and not said.st_mode & 0o077:
        return file
    os.close(file)
    return None


def _begin_anew() -> None:
    """A forked process has no thread of its parent's, and a lock file that both had opened would let both in."""
    global _pool
    _pool = _Pool()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
