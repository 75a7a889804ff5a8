"""What is measured: which site, how busy it is, and who disguises what in the variants beside the baseline.

Pure values. A scenario is one or more sites (the same data under other settings), on each of which baseline and variants take turns:
A B A B A, or A B A C A B A C A, so that the machine's drift falls on both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

#: What part of the machine's processors the baseline takes, all processes together: the number of users is chosen so.
LEVELS: Final = {"low": 0.2, "medium": 0.6, "high": 0.95}
#: How large the sites are: as published, and small ones for a run that only shows that everything works. What a number means an
#: application's ``prepare`` says.
SCALES: Final = {"websubmit": (1.0, 0.05), "lobsters": (2.75, 0.02), "hotcrp": (1.0, 0.1)}


@dataclass(frozen=True)
class Variant:
    """What is done beside the normal requests.

    ``disguisers`` at a time loop over delete and restore without a pause, or begin a pair each ``interval_seconds``, for accounts of
    ``size``. ``what`` is "account" (delete and restore), or another operation of the application's users: "topic", "lecture",
    "conference", "decay". ``once``: there is one turn, and the phase lasts as long as it takes. ``seconds``: how long a phase must last,
    if as long as the others is too short.
    """

    label: str
    disguisers: int = 1
    size: str = "random"
    interval_seconds: float | None = None
    what: str = "account"
    once: bool = False
    seconds: float | None = None


@dataclass(frozen=True)
class Site:
    """The site under load, by what its environment sets; ``{}`` is as shipped."""

    label: str = "as shipped"
    settings: Mapping[str, str] = field(default_factory=dict)
    workers: bool = False
    by_password: bool = False


@dataclass(frozen=True)
class Scenario:
    """``asks`` says in one sentence what a reader learns from it."""

    name: str
    app: str
    asks: str
    levels: tuple[str, ...]
    variants: tuple[Variant, ...]
    sites: tuple[Site, ...] = (Site(),)


def _looping(*counts: int) -> tuple[Variant, ...]:
    return tuple(Variant(f"{count} disguiser{'s' if count > 1 else ''}", disguisers=count) for count in counts)


PAIR_A_SECOND: Final = Variant("a pair a second", disguisers=8, interval_seconds=1.0)
#: Four times a minute, for what is asked is how the site is while it goes on; with one pair a minute that would take all day to measure.
HEAVIEST_PACED: Final = Variant("the heaviest every 15 s", size="heaviest", interval_seconds=15.0, seconds=60.0)
RANDOM: Final = Variant("a random user, looping")
LIGHT: Final = Variant("a light one, looping", size="light")
MEDIAN: Final = Variant("the median, looping", size="median")
HEAVIEST: Final = Variant("the heaviest, looping", size="heaviest")
SHIPPED: Final = Site()
ONE_TRANSACTION: Final = Site("one transaction", {"EDNA_LOAD_CHUNK_ROWS": "10000000"})
LIMITED: Final = Site("rate limit 2/s", {"EDNA_REQUEST_RATE": "2"})
WITH_PASSWORDS: Final = Site("restored with the password", by_password=True)
WITH_WORKERS: Final = Site("with workers", workers=True)
#: So few a second that there is still somebody to put away in the last phase.
WITH_SCHEDULES: Final = Site("with workers and schedules", {"EDNA_LOAD_JOB_RATE": "5"}, workers=True)

_ALL: Final = (
    Scenario(
        "websubmit-paced",
        "websubmit",
        "What a course notices when every second somebody deletes their account and restores it.",
        ("medium", "high"),
        (PAIR_A_SECOND,),
    ),
    Scenario(
        "websubmit-passwords",
        "websubmit",
        "The same with keys that a password opens: what the deliberately slow derivation adds.",
        ("medium",),
        (PAIR_A_SECOND,),
        (SHIPPED, WITH_PASSWORDS),
    ),
    Scenario(
        "websubmit-adversarial",
        "websubmit",
        "Thirty who delete and restore without a pause, where all writes meet in one table, with and without the rate limit.",
        ("medium",),
        (Variant("30 disguisers", disguisers=30),),
        (SHIPPED, LIMITED),
    ),
    Scenario(
        "websubmit-crowd",
        "websubmit",
        "1, 4, 16, 30 and 100 who delete and restore without a pause.",
        ("medium",),
        _looping(1, 4, 16, 30, 100),
    ),
    Scenario(
        "websubmit-lectures",
        "websubmit",
        "Staff anonymise a lecture, and every student reclaims theirs.",
        ("medium",),
        (Variant("a lecture is anonymised", what="lecture", once=True),),
    ),
    Scenario(
        "lobsters-paced",
        "lobsters",
        "What Lobsters' readers notice of one pair a second, and of the heaviest member, now and then.",
        ("medium", "high"),
        (PAIR_A_SECOND, HEAVIEST_PACED),
    ),
    Scenario(
        "lobsters-published",
        "lobsters",
        "The published figure: one disguiser who loops, a random member or the heaviest, in chunks or in one transaction.",
        ("low", "high"),
        (RANDOM, HEAVIEST),
        (SHIPPED, ONE_TRANSACTION),
    ),
    Scenario(
        "lobsters-sizes",
        "lobsters",
        "What a light, the median and the heaviest member cost the others, leaving and coming back without a pause.",
        ("medium",),
        (LIGHT, MEDIAN, HEAVIEST),
    ),
    Scenario(
        "lobsters-topics",
        "lobsters",
        "Members leave a topic and reclaim it, once a second.",
        ("medium",),
        (Variant("a topic a second", disguisers=8, interval_seconds=1.0, size="topic", what="topic"),),
    ),
    Scenario(
        "lobsters-decay",
        "lobsters",
        "The schedule puts dormant members away, with Celery workers, while everybody else goes on.",
        ("medium",),
        (Variant("decay runs", size="dormant", what="decay"),),
        (WITH_SCHEDULES,),
    ),
    Scenario(
        "hotcrp-paced",
        "hotcrp",
        "What a conference notices when every second somebody of the PC removes their account and comes back.",
        ("medium", "high"),
        (PAIR_A_SECOND,),
    ),
    Scenario(
        "hotcrp-conference",
        "hotcrp",
        "The whole conference is anonymised as a job by Celery workers, and reclaimed.",
        ("medium",),
        (Variant("the conference is anonymised", what="conference", once=True),),
        (WITH_WORKERS,),
    ),
)
SCENARIOS: Final[Mapping[str, Scenario]] = {scenario.name: scenario for scenario in _ALL}
