"""Level "library": calls in this process, over a connection that stays open; the hand-written SQL over another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

import edna
from apps.websubmit.answers import listing, save_answers, texts_by_question
from apps.websubmit.models import Answer, User
from benchmarks.kit.driver import Driver
from benchmarks.parts import drilling, summary
from benchmarks.timing import BESIDE, Clock, Key, interleave
from benchmarks.websubmit import floor, manual
from benchmarks.websubmit.course import PASSWORD, Course, Member

DELETE = "websubmit.delete-account"
ANONYMISE = "websubmit.anonymize-all"


class Library:
    """Measures every operation. ``samples`` of the quick ones, ``slow`` of those with a password derivation."""

    name = "library"

    def __init__(self, course: Course, driver: Driver, *, samples: int, slow: int) -> None:
        self.course, self.driver = course, driver
        self.samples, self.slow = samples, slow
        self.clock = Clock(self._counting, (drilling, summary))
        self.extra: dict[Key, dict[str, Any]] = {}
        self.floor = floor.floor(driver)
        self.at_floor = self.floor.register([member.user.pk for member in course.members])

    @contextmanager
    def _counting(self) -> Iterator[Callable[[], int]]:
        seen = []

        def note(execute: Any, *arguments: Any) -> Any:
            seen.append(arguments[0])
            return execute(*arguments)

        before = self.driver.statements
        with connection.execute_wrapper(note):
            yield lambda: len(seen) + self.driver.statements - before

    def _members(self, *, derivation: bool = False) -> Iterator[tuple[int, Member]]:
        wanted = (self.slow if derivation else self.samples) + BESIDE
        members = self.course.some(wanted, self.course.with_slots if derivation else None)
        yield from enumerate(self.clock.rounds(members))

    # On data that is not disguised

    def plain(self) -> None:
        for derivation in (False, True):
            self._create(derivation)
        self._read_and_edit()
        for derivation in (False, True):
            self._delete_and_restore(derivation)

    def _create(self, derivation: bool) -> None:
        clock, course, driver = self.clock, self.course, self.driver
        password = PASSWORD if derivation else None

        def with_edna(email: str) -> None:
            def work() -> None:
                user = User.objects.create(email=email, password=course.password_hash)
                edna.register_principal(user, password=password)

            clock(Key("create account", "edna", derivation), work, rows=1)

        def by_hand(email: str) -> None:
            clock(
                Key("create account", "manual"),
                lambda: manual.create_account(driver, email, course.password_hash),
                rows=1,
            )

        def at_floor(email: str) -> None:
            clock(
                Key("create account", "floor"),
                lambda: floor.create_account(self.floor, driver, email, course.password_hash),
                rows=1,
            )

        for number, _ in self._members(derivation=derivation):
            works = [lambda n=number: with_edna(f"new-{derivation}-{n}@example.org")]
            if not derivation:
                works.append(lambda n=number: by_hand(f"manual-{n}@example.org"))
                works.append(lambda n=number: at_floor(f"floor-{n}@example.org"))
            interleave(number, *works)

    def _read_and_edit(self) -> None:
        """The application's own code, which edna leaves as it is, beside the same in SQL."""
        clock, course, driver = self.clock, self.course, self.driver

        def student(number: int, user: User) -> None:
            lecture, each = course.random_lecture(), course.scale.questions
            interleave(
                number,
                lambda: clock(Key("list answers", "edna"), lambda: texts_by_question(user, lecture), rows=each),
                lambda: clock(
                    Key("list answers", "manual"),
                    lambda: manual.list_answers(driver, user.pk, lecture.pk),
                    rows=each,
                ),
            )
            driver.connection.commit()

        def staff(number: int) -> None:
            lecture = course.random_lecture()
            everything = course.scale.users * course.scale.questions
            interleave(
                number,
                lambda: clock(Key("list a lecture's answers", "edna"), lambda: list(listing(lecture)), rows=everything),
                lambda: clock(
                    Key("list a lecture's answers", "manual"),
                    lambda: manual.list_lecture(driver, lecture.pk),
                    rows=everything,
                ),
            )
            driver.connection.commit()

        def edit(number: int, user: User) -> None:
            question, text = course.random_question()[1], course.text()
            interleave(
                number,
                lambda: clock(
                    Key("edit an answer", "edna"), lambda: save_answers(user, {question: f"{text}1"}), rows=1
                ),
                lambda: clock(
                    Key("edit an answer", "manual"),
                    lambda: manual.edit_answer(driver, user.pk, question, f"{text}2"),
                    rows=1,
                ),
            )

        for number, member in self._members():
            student(number, member.user)
        for number, _ in self._members(derivation=True):
            staff(number)
        for number, member in self._members():
            edit(number, member.user)

    def _delete_and_restore(self, derivation: bool) -> None:
        rows = self.course.answers_each + 1
        for number, member in self._members(derivation=derivation):
            works = [lambda m=member: self.there_and_back(m, rows, derivation=derivation)]
            if not derivation:
                works.append(lambda m=member: self.delete_by_hand(m, rows))
                works.append(lambda m=member: self.floor_there_and_back(m, rows))
            interleave(number, *works)

    def there_and_back(self, member: Member, rows: int, *, derivation: bool = False, suffix: str = "") -> None:
        """Delete an account with edna, then restore it. The derivation comes with unlocking, before either."""

        def unlock() -> edna.Unlocked:
            if derivation:
                return edna.unlock(identifier=member.user.email, password=PASSWORD)
            return edna.unlock(secret_key=member.secret_key)

        def delete() -> edna.Receipt:
            if not derivation:
                return edna.disguise(DELETE, member.user)
            with unlock() as unlocked:
                return edna.disguise(DELETE, member.user, unlocked=unlocked)

        def restore() -> edna.Outcome:
            with unlock() as unlocked:
                return edna.reveal(receipt, unlocked)

        receipt = self.clock(Key(f"delete account{suffix}", "edna", derivation), delete, rows=rows)
        outcome = self.clock(Key(f"restore account{suffix}", "edna", derivation), restore, rows=rows)
        if not outcome.complete:
            raise AssertionError(f"not everything came back: {outcome}")

    def delete_by_hand(self, member: Member, rows: int, *, suffix: str = "") -> None:
        saved = manual.Saved(self.driver, member.user.pk)
        key = Key(f"delete account{suffix}", "manual")
        self.clock(key, lambda: manual.delete_account(self.driver, member.user.pk), rows=rows)
        saved.put_back()

    def floor_there_and_back(self, member: Member, rows: int, *, after: bool = False) -> None:
        """The same at the floor; ``after`` everybody was anonymised there."""
        there, back = (
            ("delete after anonymise", "restore after anonymise") if after else ("delete account", "restore account")
        )
        known = self.at_floor[member.user.pk]
        locators = self.clock(
            Key(there, "floor"), lambda: self.floor.hide(floor.DELETE, [known], with_key=after), rows=rows
        )
        self.clock(Key(back, "floor"), lambda: self.floor.back(known, locators[known.key]), rows=rows)

    # Anonymised

    def anonymise(self, authors: manual.Authors) -> None:
        """Everybody at once: a single sample, given per user, with the total beside it."""
        users = self.course.scale.users
        rows = users * self.course.answers_each

        def one(variant: str, work: Callable[[], object]) -> None:
            key = Key("anonymise (per user)", variant)
            with self._counting() as statements:
                began = time.perf_counter()
                work()
                total = (time.perf_counter() - began) * 1000
            self.clock.samples[key] = [total / users]
            self.clock.statements[key] = {statements()}
            self.clock.rows[key] = [rows]
            self.extra[key] = {"users": users, "total_ms": round(total, 1)}

        one("manual", lambda: manual.anonymise_all(self.driver))
        authors.put_back()
        self._anonymise_at_floor(authors, one)
        key = Key("anonymise (per user)", "edna")
        with self.clock.drill():
            self.clock(key, lambda: edna.disguise_all(ANONYMISE), rows=rows)
        self.clock.drilled[key] = [spent.shared(users) for spent in self.clock.drilled[key]]
        authors.put_back()
        one("edna", lambda: edna.disguise_all(ANONYMISE))

    def _anonymise_at_floor(self, authors: manual.Authors, one: Callable[[str, Callable[[], object]], None]) -> None:
        """Everybody, and what they do then: before edna's turn, for both cannot have the same answers at once."""
        everybody = list(self.at_floor.values())
        self.floor.ready(len(everybody) * self.course.scale.lectures)
        one("floor", lambda: self.floor.hide(floor.ANONYMISE, everybody))
        rows, samples, self.samples = self.course.answers_each + 1, self.samples, self.samples // 2
        for _, member in self._members():
            known, question, text = self.at_floor[member.user.pk], self.course.random_question()[1], self.course.text()
            self.clock(
                Key("edit an anonymised answer", "floor"),
                lambda k=known, q=question, t=text: floor.edit(self.floor, self.driver, k, q, t),
                rows=1,
            )
        for _, member in self._members():
            self.floor_there_and_back(member, rows, after=True)
        self.samples = samples
        authors.put_back()
        self.floor.forget()

    def under_disguise(self) -> None:
        """What students do while their answers are anonymous: no hand-written counterpart could still find those answers."""
        self.samples //= 2  # these take longer
        for derivation in (False, True):
            self._edit_anonymised(derivation)
            self._delete_after(derivation)

    def _unlock(self, member: Member, derivation: bool) -> edna.Unlocked:
        if derivation:
            return edna.unlock(identifier=member.user.email, password=PASSWORD)
        return edna.unlock(secret_key=member.secret_key)

    def _edit_anonymised(self, derivation: bool) -> None:
        for _, member in self._members(derivation=derivation):
            question, text = self.course.random_question()[1], self.course.text()

            def edit(m: Member = member, q: int = question, t: str = text) -> None:
                with self._unlock(m, derivation) as unlocked:
                    answer = Answer.objects.get(author__in=edna.speaks_for(unlocked, User), question=q)
                    author = edna.speak_as(unlocked, answer)
                    save_answers(author, {q: t})

            self.clock(Key("edit an anonymised answer", "edna", derivation), edit, rows=1)

    def _delete_after(self, derivation: bool) -> None:
        rows = self.course.answers_each + 1
        for _, member in self._members(derivation=derivation):

            def delete(m: Member = member) -> edna.Receipt:
                with self._unlock(m, derivation) as unlocked:
                    return edna.disguise(DELETE, m.user, unlocked=unlocked)

            receipt = self.clock(Key("delete after anonymise", "edna", derivation), delete, rows=rows)

            def restore(m: Member = member, receipt: edna.Receipt = receipt) -> edna.Outcome:
                with self._unlock(m, derivation) as unlocked:
                    return edna.reveal(receipt, unlocked)

            outcome = self.clock(Key("restore after anonymise", "edna", derivation), restore, rows=rows)
            if not outcome.complete:
                raise AssertionError(f"not everything came back: {outcome}")
