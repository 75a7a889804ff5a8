"""The data that is measured on: a conference, with the keys of everybody at it at hand."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.utils import timezone

import edna
from apps.hotcrp_sim.models import PC, ContactInfo, PaperReview
from benchmarks.disguising import Disguising, Operation, Person
from benchmarks.hotcrp import floor, manual
from benchmarks.kit.driver import Affected, Driver, Snapshot
from benchmarks.kit.percentiles import percentile
from benchmarks.people import owned, with_keys
from benchmarks.space import analyse
from benchmarks.timing import BESIDE, COUNTED, DRILLED, Key, interleave
from benchmarks.watching import stored

REMOVE: Final = Operation(
    "remove account",
    "restore account",
    "hotcrp.remove-account",
    affected=manual.everything_of,
    by_hand=manual.remove_account,
    places=floor.REMOVE,
    published=(19.6, 63.8),
    published_back=(None, 79.6),
)
ANONYMISE: Final = Operation(
    "anonymise",
    "reclaim",
    "hotcrp.anonymize-conference",
    affected=manual.everything_of,
    by_hand=manual.anonymise,
    places=floor.ANONYMISE,
    published=(22.0, 84.6),
)
AFTERWARDS: Final = Operation(
    "remove after anonymise",
    "restore after anonymise",
    REMOVE.disguise,
    affected=manual.everything_of,
    by_hand=manual.remove_account,
    places=floor.REMOVE,
    published=(None, 255.0),
    published_back=(None, 310.0),
)
Work = Callable[[], object]
#: Every table in which a disguise of the conference changes something.
_TABLES: Final = sorted({table for table, _ in manual.OWNERS} | {"ContactInfo"})


@dataclass(frozen=True)
class Scale:
    """How large the conference is."""

    users: int
    pc: int
    papers: int

    def __str__(self) -> str:
        return f"{self.users + self.pc:,} users of whom {self.pc} on the PC, {self.papers} papers"


class Site:
    """A seeded database. ``pc`` are its members in random order."""

    def __init__(self, driver: Driver, scale: Scale, *, seed: int) -> None:
        self.driver = driver
        self.source = random.Random(seed)
        call_command("migrate", verbosity=0)
        call_command("hotcrp_seed", users=scale.users, pc=scale.pc, papers=scale.papers, no_register=True, verbosity=0)
        analyse(driver)
        people = with_keys(list(ContactInfo.objects.filter(is_guise=False)))
        self.pc = [person for person in people if person.user.roles & PC]
        self.source.shuffle(self.pc)
        found = owned(driver, manual.OWNERS)
        self.rows = {person.user.pk: found.get(person.user.pk, 0) + 1 for person in people}
        self.reviews = list(
            PaperReview.objects.filter(contact__in=[p.user.pk for p in self.pc]).values_list("paper_id", "review_id")
        )
        self.measured = Disguising(
            driver,
            people=manual.PEOPLE,
            floor=floor.floor(driver),
            members=people,
            new={"PaperReviewRefused": "contactId"},
        )

    def spread(self) -> str:
        """How many rows a member of the PC owns."""
        sizes = [self.rows[person.user.pk] for person in self.pc]
        named = {"p5": 5, "p50": 50, "p95": 95, "most": 100}
        return ", ".join(f"{name} {percentile(sizes, percent):,.0f}" for name, percent in named.items())

    def plain(self, samples: int) -> None:
        """Accounts, with a key of their own and without; and what edna leaves as it is, beside the same in SQL."""
        clock, password = self.measured.clock, make_password("!")
        rounds = range(min(samples, 100) + BESIDE)

        def create(email: str) -> None:
            edna.register_principal(ContactInfo.objects.create(email=email, password=password))

        def read(paper: int) -> list[PaperReview]:
            return list(PaperReview.objects.filter(paper=paper).select_related("contact").order_by("review_id"))

        def each(name: str, number: int, rows: int, **works: Work) -> None:
            timed = [partial(clock, Key(name, variant), work, rows=rows) for variant, work in works.items()]
            interleave(number, *timed)
            self.driver.connection.commit()

        for number in clock.rounds(rounds):
            each(
                "create account",
                number,
                1,
                edna=lambda n=number: create(f"new-{n}@example.org"),
                manual=lambda n=number: manual.create_account(self.driver, f"by-hand-{n}@example.org", password),
                floor=lambda n=number: floor.create_account(
                    self.measured.floor, self.driver, f"floor-{n}@example.org", password
                ),
            )
        for number in clock.rounds(rounds):
            paper, _ = self.source.choice(self.reviews)
            there = sum(1 for other, _ in self.reviews if other == paper)
            each(
                "read reviews",
                number,
                there,
                edna=lambda p=paper: read(p),
                manual=lambda p=paper: manual.read_reviews(self.driver, p),
            )
        for number in clock.rounds(rounds):
            place = self.source.choice(self.reviews)
            each(
                "edit a review",
                number,
                1,
                edna=lambda p=place: self._edit(*p),
                manual=lambda p=place: manual.edit_review(self.driver, *p, self._text(), int(time.time())),
            )
        for name, published in (
            ("create account", [0.1, 8.8]),
            ("read reviews", [0.2, 0.4]),
            ("edit a review", [0.5, 0.7]),
        ):
            self.measured.more[Key(name, "edna")] = {"published": published}

    def _text(self) -> str:
        return (
            f"{self.source.getrandbits(64):016x} "
            + "The evaluation answers a question that the paper does not ask. " * 8
        )

    def _edit(self, paper: int, review: int) -> None:
        PaperReview.objects.filter(paper=paper, review_id=review).update(
            tfields=self._text(), review_modified=timezone.now()
        )

    def remove(self, *, repeated: int) -> None:
        self._measure(REMOVE, repeated)

    def anonymise(self, *, repeated: int) -> None:
        """One member of the PC after the other, each back before the next."""
        self._measure(ANONYMISE, repeated)

    def _measure(self, operation: Operation, repeated: int) -> None:
        self.measured.many(operation, self.pc)
        for name, person in self._sizes().items():
            self.measured.repeated(operation, person, times=repeated, suffix=f", {name}")

    def _sizes(self) -> dict[str, Person]:
        ordered = sorted(self.pc, key=lambda person: (self.rows[person.user.pk], person.user.pk))
        return {"lightest of the PC": ordered[0], "heaviest of the PC": ordered[-1]}

    def anonymise_all(self) -> None:
        """The whole conference at once: a single sample each, given per member of the PC, with the total beside it."""
        clock, members = self.measured.clock, len(self.pc)
        rows = sum(self.rows[person.user.pk] for person in self.pc)

        def one(key: Key, work: Work) -> None:
            before = self.driver.statements
            began = time.perf_counter()
            work()
            total = (time.perf_counter() - began) * 1000
            clock.samples[key] = [total / members]
            clock.rows[key] = [rows]
            self.measured.more[key] = {"users": members, "total_ms": round(total, 1)}
            if key.variant != "edna":
                clock.statements[key] = {self.driver.statements - before}

        def by_hand() -> None:
            for person in self.pc:
                manual.anonymise(self.driver, person.user.pk)

        everything = Snapshot(self.driver, [Affected(table, "1 = 1", ()) for table in _TABLES])
        table, column = manual.PEOPLE
        least = self.driver.number(f'SELECT MAX("{column}") + 1 FROM "{table}"')
        name = "anonymise all (per member of the PC)"
        one(Key(name, "manual"), by_hand)
        everything.put_back(new={table: (column, least), "PaperReviewRefused": ("contactId", least)})
        everything.assert_unchanged()
        self._anonymise_at_floor(lambda work: one(Key(name, "floor"), work))
        everything.put_back(new={table: (column, least)})
        self.measured.floor.forget()
        then = stored(self.driver)
        key = Key(name, "edna")
        with self.measured.watched(key):
            one(key, lambda: edna.disguise_all(ANONYMISE.disguise))
        made = stored(self.driver) - then
        self.measured.more[key] |= {
            "published": [22.0, 85.0],
            "stored_bytes": made.bytes,
            "pseudoprincipals": made.pseudoprincipals,
        }

    def _anonymise_at_floor(self, one: Callable[[Work], None]) -> None:
        """Everybody, and what they do then: before edna's turn, for both cannot have the same rows at once."""
        measured, clock = self.measured, self.measured.clock
        everybody = list(measured.at_floor.values())
        measured.floor.ready(2 * sum(self.rows.values()))
        one(lambda: measured.floor.hide(floor.ANONYMISE, everybody))
        for person in clock.rounds(self.pc):
            known = measured.at_floor[person.user.pk]
            work = partial(floor.edit, measured.floor, self.driver, known, self._text(), int(time.time()))
            clock(Key("edit an anonymised review", "floor"), work, rows=1)
        for person in clock.rounds(self.pc, counted=max(COUNTED, len(self.pc) // 10)):
            names = measured.floor.voices(measured.at_floor[person.user.pk])
            self.driver.commit()
            before = Snapshot(self.driver, manual.everything_of(person.user.pk, *names))
            measured.floor_there_and_back(AFTERWARDS, person, before, unlock=True)

    def under_disguise(self, *, repeated: int) -> None:
        """What nobody could do who had anonymised by hand: those rows would not be found again."""
        clock = self.measured.clock
        key = Key("edit an anonymised review", "edna")
        self.measured.more[key] = {"published": [None, 31.5]}
        for person in clock.rounds(self.pc):
            self.measured.timed(key, lambda p=person: self._edit_anonymised(p), rows=1)
        for person in clock.rounds(self.pc, counted=max(COUNTED, len(self.pc) // 10)):
            self._there_and_back(person)
        for name, person in self._sizes().items():
            drilled = min(DRILLED, repeated)
            for _ in clock.rounds(range(repeated + drilled + 3), warm_up=1, drilled=drilled):
                self._there_and_back(person, f", {name}")

    def _there_and_back(self, person: Person, suffix: str = "") -> None:
        with edna.unlock(secret_key=person.secret_key) as unlocked:
            names = edna.speaks_for(unlocked, ContactInfo)
        before = Snapshot(self.driver, manual.everything_of(person.user.pk, *names))
        self.measured.there_and_back(AFTERWARDS, person, before, suffix=suffix, unlock=True)

    def _edit_anonymised(self, person: Person) -> None:
        with edna.unlock(secret_key=person.secret_key) as unlocked:
            review = PaperReview.objects.filter(contact__in=edna.speaks_for(unlocked, ContactInfo)).first()
            assert review is not None
            edna.speak_as(unlocked, review, owner="contact")
            self._edit(review.paper_id, review.review_id)
