"""How many requests a second may ask edna for work: ``EDNA["REQUEST_RATE_PER_SECOND"]``, over all processes of the site.

Requests are counted in Django's cache, in windows of time: one key for each window, which says when, and nothing about anybody. A
window lets in its share of the rate, and what the window before it has left. So it is never more than two shares in one window,
and in the long run never more than the rate; whoever was refused takes nothing from those who come later. A window lasts a second,
or as long as it takes until one request may enter.

Guarantees: a request is counted once, however much it asks for; one that was refused stays refused. What runs outside of a request
(commands, tasks, jobs) is never limited. Without a limit, or once a request is in, all this costs is a look at a variable.

A cache that does not count lets everybody in: to leave is a right, and the limit a comfort. The log says so, and the cache has some
seconds to recover before it is asked again. Knows no principals, no disguises and no HTTP.

`admit_of` counts what one person does, whatever the rate is: under a name that says nothing to who reads the cache.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, Literal

from django.core.cache import BaseCache, caches

from edna import conf, logs, signals
from edna.errors import TooBusy

Result = Literal["admitted", "refused", "uncounted"]

#: How long a cache that has failed is left alone: each question may cost as long as its client waits.
_REST_SECONDS: Final = 5.0
#: Nobody is told to come back later than so, or than the next window, whatever crowd, or attack, there is before them.
_LONGEST_WAIT_SECONDS: Final = 60.0
#: Keys outlive their window and the next one for so long: a machine whose clock is further behind counts for itself.
_SPARE_SECONDS: Final = 60

_now = time.time
_ask_again_at = 0.0


class Asking:
    """A request, as far as it asks edna for work. `current` is the one that is being answered."""

    #: Whether the response must be kept out of caches.
    used = False
    admitted = False
    #: In how many seconds it should be tried again, if it was refused.
    retry_after_seconds: int | None = None

    @property
    def refused(self) -> bool:
        return self.retry_after_seconds is not None and not self.admitted


current: Final[ContextVar[Asking | None]] = ContextVar("edna_asking", default=None)


def admit() -> None:
    """Called first by whatever is expensive, and before it has read or locked anything.

    Raises:
        TooBusy: the request that is being answered is one too many.
    """
    asking = current.get()
    if asking is None or asking.admitted:
        return
    if asking.retry_after_seconds is None:
        asking.retry_after_seconds = _seconds_to_wait()
        asking.admitted = asking.retry_after_seconds is None
    if asking.retry_after_seconds is not None:
        asking.used = True
        seconds = asking.retry_after_seconds
        raise TooBusy(
            "Too many visitors have asked for their keys, or to leave or to return, at the same time. "
            f"Nothing was changed; try again in {seconds} second{'' if seconds == 1 else 's'}.",
            retry_after_seconds=seconds,
        )


def admit_of(name: str, *, most: int, in_seconds: int) -> None:
    """Called before something is done that leaves something behind; ``name`` says what, and by whom, to nobody who reads the cache.

    Raises:
        TooBusy: it was done ``most`` times in this window of time.
    """
    now = _now()
    window = math.floor(now / in_seconds)
    place = _asked(lambda cache: _count(cache, f"edna:done:{window}:{name}", kept_seconds=in_seconds))
    if place is None or place <= most:
        return
    seconds = max(1, math.ceil((window + 1) * in_seconds - now))
    logs.event("request_refused", area="requests", retry_after_seconds=seconds)
    raise TooBusy(
        f"This was done {most} times in a short while. Nothing was changed; try again in {seconds} seconds.",
        retry_after_seconds=seconds,
    )


def _seconds_to_wait() -> int | None:
    """None: go on."""
    rate = conf.request_rate_per_second()
    if rate is None:
        return None
    now = _now()
    window_seconds, per_window = max(1.0, 1 / rate), max(rate, 1.0)
    window = math.floor(now / window_seconds)
    beyond = _asked(lambda cache: _beyond(cache, window, per_window=per_window, window_seconds=window_seconds))
    result: Result = "uncounted" if beyond is None else "refused" if beyond > 0 else "admitted"
    signals.request_counted.send_robust(sender=None, result=result)
    if beyond is None or beyond <= 0:
        return None
    # Those who were refused before have their turn first. Told the same moment, all would come back at once, and most in vain.
    following = window + 1
    its_turn = min(window + math.ceil(beyond / per_window), following + _LONGEST_WAIT_SECONDS // window_seconds)
    seconds = max(1, math.ceil(its_turn * window_seconds - now))
    logs.event("request_refused", area="requests", retry_after_seconds=seconds)
    return seconds


def _asked(ask: Callable[[BaseCache], int]) -> int | None:
    """What the cache says; None if nobody counts."""
    global _ask_again_at
    alias = conf.request_rate_cache()
    if time.monotonic() < _ask_again_at:
        return None
    try:
        return ask(caches[alias])
    except Exception as error:  # whatever the cache's client raises, or what it answers leads to
        _ask_again_at = time.monotonic() + _REST_SECONDS
        logs.event("requests_not_counted", level=logging.WARNING, area="requests", error=type(error).__name__)
        return None


def _count(cache: BaseCache, key: str, *, kept_seconds: int) -> int:
    """Counts one more; how many there are."""
    cache.add(key, 0, timeout=kept_seconds + _SPARE_SECONDS)
    return cache.incr(key) + 0  # what is no number fails here, and not where it is compared


def _beyond(cache: BaseCache, window: int, *, per_window: float, window_seconds: float) -> int:
    """Counts one more in the window; how many places behind the last that is let in, 0 or less if it is let in."""
    share = _share(window, per_window)
    place = _count(cache, _key(window), kept_seconds=math.ceil(2 * window_seconds))
    # Asked only where it matters: what nobody has taken of the window before.
    if place > share:
        share += max(0, _share(window - 1, per_window) - cache.get(_key(window - 1), 0))
    return int(place - share)


def _key(window: int) -> str:
    return f"edna:requests:{window}"


def _share(window: int, per_window: float) -> int:
    """Of 2.5 a window, 2 and 3 in turn."""
    return math.floor((window + 1) * per_window) - math.floor(window * per_window)
