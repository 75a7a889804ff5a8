"""To play with: ``locust -f loadtest/locustfile.py --host http://localhost:8000`` beside ``make serve``, then http://localhost:8089.

Which application, how many leave and return, and how often, are options of the command line and fields of Locust's page. Unlike
``python -m loadtest`` it starts nothing and fills nothing: it registers accounts on the site's own pages (`loadtest.newcomers`), unless
a file names them. Nothing is measured but what Locust itself shows. One process: people cannot be shared with Locust's workers.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gevent
from locust import User, events
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.runners import STATE_SPAWNING

from loadtest import hotcrp, lobsters, newcomers, websubmit
from loadtest.browser import Load, Unexpected
from loadtest.crowd import Guided
from loadtest.disguisers import Disguiser
from loadtest.people import People

APPS: Final[dict[str, dict[str, Any]]] = {
    "websubmit": websubmit.USERS,
    "lobsters": lobsters.USERS,
    "hotcrp": hotcrp.USERS,
}
WHAT: Final = "account"
#: How long whoever is in the middle of leaving or returning may take when somebody presses Stop.
END_SECONDS: Final = 60.0
logger = logging.getLogger("loadtest")


def _classes(app: str) -> list[type[User]]:
    return [*APPS[app]["normal"], APPS[app][WHAT]]


# Locust takes what it finds among the names of this module, before it knows which application is meant.
globals().update({one.__name__: one for app in APPS for one in _classes(app)})


def _options(parser: LocustArgumentParser) -> None:
    # Not in a group: Locust's page has no fields for those.
    parser.add_argument("--app", choices=list(APPS), default="websubmit", help="which application")
    parser.add_argument(
        "--people", metavar="FILE", default="", help="as loadtest.prepare writes it; without, accounts are registered"
    )
    parser.add_argument(
        "--accounts",
        type=int,
        default=5,
        help="how many accounts to register for ordinary users",
    )
    parser.add_argument(
        "--disguisers",
        type=int,
        default=1,
        help="how many of the users leave and return, again and again; 0: nobody",
    )
    parser.add_argument(
        "--pair-interval",
        type=float,
        default=5.0,
        help="seconds from one who leaves to the next, all together; 0: without a pause",
    )


def _begin(environment: Environment, **_: Any) -> None:
    """Before the first user: who there is, and which users."""
    options, runner = environment.parsed_options, environment.runner
    assert options is not None
    assert runner is not None
    # Before what takes seconds: the page would take us for ready, and not look again.
    runner.update_state(STATE_SPAWNING)
    environment.user_classes = _chosen(options.app, options.disguisers)
    try:
        load = _load(environment, options)
    except (Unexpected, ValueError, OSError) as error:
        logger.error("The load cannot begin: %s", error)
        environment.process_exit_code = 1
        gevent.spawn(runner.quit if environment.web_ui is None else runner.stop)
        gevent.sleep(END_SECONDS)  # which ends us, too: what comes next would start the users
    environment.load = load  # type: ignore[attr-defined]
    if options.disguisers:
        load.turns[WHAT].open(
            load.people.disguisers["random"],
            disguisers=options.disguisers,
            interval_seconds=options.pair_interval or None,
        )


def _chosen(app: str, disguisers: int) -> list[type[User]]:
    leaves: type[Disguiser] = APPS[app][WHAT]
    leaves.what, leaves.fixed_count = WHAT, disguisers
    return _classes(app) if disguisers else list(APPS[app]["normal"])


def _load(environment: Environment, options: Any) -> Load:
    if options.people:
        people = People.read(Path(options.people))
        if people.app != options.app:
            raise ValueError(f"{options.people} has people of {people.app}")
        return Load(people)
    environment.load = Load(People(options.app, "", {}, {}, {}))  # type: ignore[attr-defined]
    guide = Guided(environment)
    logger.info("Looking for people of %s on the site's own pages", options.app)
    people = newcomers.people(guide, options.app, staying=max(1, options.accounts), leaving=options.disguisers)
    guide.on_stop()
    # Where nobody was shown a recovery code, the password opens the key.
    return Load(people, by_password=any(not account.recovery_code for account in people.all_disguisers()), shared=True)


def _end(environment: Environment, **_: Any) -> None:
    """Nobody is stopped between leaving and returning."""
    load: Load | None = getattr(environment, "load", None)
    if load is not None:
        load.turns[WHAT].close()
        load.turns[WHAT].wait_until_idle(END_SECONDS)


def _is_over(environment: Environment, **_: Any) -> None:
    load: Load | None = getattr(environment, "load", None)
    if load is None:
        return
    if load.away:
        APPS[load.people.app][WHAT](environment).bring_back()
    for what in sorted(set(load.wrong)):
        logger.error("Wrong: %s (%d times)", what, load.wrong.count(what))
    logger.info(
        "%s; %d who left are not back", "Something was wrong" if load.wrong else "Nothing was wrong", len(load.away)
    )
    if load.wrong or load.away:
        environment.process_exit_code = 1


events.init_command_line_parser.add_listener(_options)
events.test_start.add_listener(_begin)
events.test_stopping.add_listener(_end)
events.test_stop.add_listener(_is_over)
