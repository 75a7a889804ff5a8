"""One quote for many nonces: they become the leaves of a tree of hashes, the quote is about its root, and each nonce gets its path.

Keeps: docs/format.md, "Policy seals". A quote may take a second, whether one waits for it or five thousand. Does not know: what makes
the quote, whom it is for.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from edna.crypto.keys import fingerprint
from edna.custody.policies.evidence import NONCE_BYTES
from edna.errors import MonitorUnavailable, NonceRefused

MOST_NONCES: Final = 8192
_LEAF: Final = b"edna.policy.leaf"
_NODE: Final = b"edna.policy.node"
_ROOT: Final = b"edna.policy.root"


@dataclass(frozen=True, slots=True)
class Path:
    """From one leaf to the root: ``number`` of how many (``count``) it is, and the neighbours from below."""

    number: int
    count: int
    neighbours: tuple[bytes, ...]


def tree(nonces: Sequence[bytes]) -> tuple[bytes, list[Path]]:
    """Return the root and each nonce's path. The last of an odd level goes up as it is."""
    count = len(nonces)
    level = [fingerprint(nonce, purpose=_LEAF) for nonce in nonces]
    levels = [level]
    while len(level) > 1:
        joined = [_joined(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = [*joined, level[-1]] if len(level) % 2 else joined
        levels.append(level)
    return _whole(count, level[0]), [Path(number, count, _neighbours(levels, number)) for number in range(count)]


def _joined(left: bytes, right: bytes) -> bytes:
    return fingerprint(left + right, purpose=_NODE)


def _whole(count: int, top: bytes) -> bytes:
    return fingerprint(count.to_bytes(4, "big") + top, purpose=_ROOT)


def _neighbours(levels: Sequence[Sequence[bytes]], number: int) -> tuple[bytes, ...]:
    found = []
    for level in levels[:-1]:
        if (beside := number ^ 1) < len(level):
            found.append(level[beside])
        number >>= 1
    return tuple(found)


def root_of(nonce: bytes, path: Path) -> bytes:
    """The root to which a path leads from this nonce.

    Raises: NonceRefused if it is no path.
    """
    number, count, left = path.number, path.count, list(path.neighbours)
    if not 0 <= number < count <= MOST_NONCES:
        raise NonceRefused("This is no path in a batch of nonces.")
    reached, whole = fingerprint(nonce, purpose=_LEAF), count
    while count > 1:
        if number ^ 1 < count:
            if not left:
                raise NonceRefused("The path of this nonce ends too early.")
            neighbour = left.pop(0)
            reached = _joined(neighbour, reached) if number & 1 else _joined(reached, neighbour)
        number, count = number >> 1, (count + 1) >> 1
    if left:
        raise NonceRefused("The path of this nonce goes on behind its root.")
    return _whole(whole, reached)


def check_path(nonce: bytes, path: Path, *, root: bytes) -> None:
    """
    Raises: NonceRefused if the nonce is not in the batch with this root.
    """
    if len(nonce) != NONCE_BYTES or not hmac.compare_digest(root_of(nonce, path), root):
        raise NonceRefused("This quote is not about this nonce: it was made for others, or for one of before.")


class Batches:
    """Collects nonces while a quote is made, and has the next one made for all of them. Takes a thread until `close`."""

    def __init__(self, quote: Callable[[bytes], str], *, most: int = MOST_NONCES) -> None:
        self._quote, self._most = quote, most
        self._waiting: list[tuple[bytes, Future[tuple[str, Path]]]] = []
        self._changed = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, nonce: bytes) -> Future[tuple[str, Path]]:
        """What will be the quote and the path.

        Raises: NonceRefused if it is no nonce; MonitorUnavailable if too many wait.
        """
        if len(nonce) != NONCE_BYTES:
            raise NonceRefused(f"A nonce has {NONCE_BYTES} bytes.")
        future: Future[tuple[str, Path]] = Future()
        with self._changed:
            if self._over or len(self._waiting) >= 4 * self._most:
                raise MonitorUnavailable("The monitor has too much to do, or ends. Ask again.")
            self._waiting.append((nonce, future))
            self._changed.notify()
        return future

    def close(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._over:
                    self._changed.wait()
                if not self._waiting:
                    return
                batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
            self._answer(batch)

    def _answer(self, batch: Sequence[tuple[bytes, Future[tuple[str, Path]]]]) -> None:
        try:
            root, paths = tree([nonce for nonce, _ in batch])
            quote = self._quote(root)
        except Exception as error:  # told to those who wait
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), path in zip(batch, paths, strict=True):
            future.set_result((quote, path))
