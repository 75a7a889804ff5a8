"""Every operation of WebSubmit on one database, in the library and over HTTP."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.kit.driver import Driver
    from benchmarks.timing import Result
    from benchmarks.websubmit.course import Course, Scale

DATABASES = ("mariadb", "postgres", "sqlite")
QUICK = {
    "users": 60,
    "lectures": 5,
    "samples": 15,
    "http_samples": 5,
    "slow_samples": 3,
    "growth": 1000,
    "composition": 50,
}


def add_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--lectures", type=int, default=20)
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--http-samples", type=int, default=25, help="of an operation over HTTP (default: %(default)s)")
    parser.add_argument(
        "--growth",
        type=int,
        default=100_000,
        metavar="ANSWERS",
        help="most answers of one student; 0 for no growth (default: %(default)s)",
    )
    parser.add_argument(
        "--composition",
        type=int,
        default=800,
        metavar="ANSWERS",
        help="of a student whose answers are given to more and more authors; 0 for none (default: %(default)s)",
    )
    parser.add_argument("--levels", default="library,http", help="comma-separated, of: %(default)s")


def run(arguments: argparse.Namespace) -> list[Result]:
    """All measurements on the database of the settings, which must be empty."""
    from benchmarks.kit.driver import Driver
    from benchmarks.timing import BESIDE, say
    from benchmarks.websubmit.course import Course, Scale
    from benchmarks.websubmit.manual import Authors

    levels = arguments.levels.split(",")
    scale = Scale(arguments.users, arguments.lectures, arguments.questions)
    slots = min(scale.users, max(arguments.http_samples if "http" in levels else 0, arguments.slow_samples) + BESIDE)
    with ExitStack() as stack:
        say(f"seeding {scale}")
        course = Course(scale, with_slots=slots, seed=arguments.seed)
        driver = stack.enter_context(closing(Driver()))
        say(driver.server())
        library = http = None
        if "library" in levels:
            from benchmarks.websubmit.in_library import Library

            library = Library(course, driver, samples=arguments.samples, slow=arguments.slow_samples)
        if "http" in levels:
            http = stack.enter_context(closing(_http(arguments, course, driver, stack)))
        chosen = [level for level in (library, http) if level]
        for level in chosen:
            say(f"{level.name}: create, list, edit, delete, restore")
            level.plain()
        if library:
            from benchmarks.websubmit import curves

            say("library: delete and restore with more and more answers")
            curves.growth(library, times=arguments.slow_samples, largest=arguments.growth)
            if arguments.composition:
                say("library: delete and restore with more and more anonymous authors")
                curves.composition(library, answers=arguments.composition, times=arguments.slow_samples)
        authors = Authors(driver)
        for number, level in enumerate(chosen):
            if number:
                authors.put_back()
            say(f"{level.name}: anonymise everybody, by hand and with edna")
            level.anonymise(authors)
        authors.drop()
        for level in chosen:
            say(f"{level.name}: edit, delete and restore under disguise")
            level.under_disguise()
        return [result for level in chosen for result in _results(level, arguments.database, scale)]


def _http(arguments: argparse.Namespace, course: Course, driver: Driver, stack: ExitStack) -> Any:
    from benchmarks.websubmit.over_http import VARIANTS, Http, site

    ports = {variant: stack.enter_context(site(variant)) for variant in VARIANTS}
    return Http(course, driver, ports, samples=arguments.http_samples, slow=arguments.slow_samples)


#: Medians in ms over HTTP: hand-written SQL, and the prototype.
PUBLISHED = {
    "create account": [0.3, 9.0],
    "list answers": [0.7, 0.9],
    "list a lecture's answers": [65.4, 65.3],
    "edit an answer": [1.4, 1.3],
    "delete account": [1.3, 13.1],
    "restore account": [None, 53.2],
    "anonymise (per user)": [10.4, 16.6],
    "edit an anonymised answer": [None, 11.7],
    "delete after anonymise": [None, 31.3],
    "restore after anonymise": [None, 75.0],
}


def _results(level: Any, database: str, scale: Scale) -> list[Result]:
    extra = dict(level.extra)
    for key in level.clock.samples:
        # Over HTTP nobody gets a key without a password to derive.
        plain = not key.derivation or (level.name == "http" and key.operation == "create account")
        if key.operation in PUBLISHED and key.variant == "edna" and plain:
            extra[key] = {**extra.get(key, {}), "published": PUBLISHED[key.operation]}
    found: list[Result] = level.clock.results(
        app="websubmit", level=level.name, database=database, scale=str(scale), extra=extra
    )
    return found
