"""The steps of ``manage.py demo``: what happens, said in sentences, with the evidence beside it."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.contrib.auth import authenticate
from django.core.management import call_command
from django.test import Client

import edna

from . import evidence
from .management.commands.websubmit_seed import DEMO_PASSWORD, DEMO_STUDENT
from .models import Answer, Lecture, User
from .stage import WIDTH, Stage

STUDENTS, LECTURES, QUESTIONS = 40, 5, 4


class Tour:
    """The steps in their order. What one step leaves for a later one is an attribute."""

    def __init__(self, stage: Stage, path: Path) -> None:
        self.stage, self.path = stage, path

    def run(self) -> None:
        self.stage.chapter("A guided tour of edna")
        self.stage.say(
            "edna lets a person leave a web site and come back. In between the site keeps only a sealed bag that nobody but that "
            "person can open. This tour uses WebSubmit, a sample site where students hand in homework. Every line with a ✓ was "
            "checked while you watched."
        )
        self.course()
        self.thief_before()
        self.preview()
        self.leave()
        self.locked_out()
        self.come_back()
        self.anonymise()
        self.edit_under_disguise()
        self.reclaim()
        self.everybody_reclaims()

    # The course

    def course(self) -> None:
        self.stage.chapter("1. A course with students")
        call_command("migrate", verbosity=0)
        call_command(
            "websubmit_seed",
            users=STUDENTS,
            lectures=LECTURES,
            questions=QUESTIONS,
            no_register=True,
            stdout=io.StringIO(),
        )
        self.stage.say(
            f"{STUDENTS} students answered {LECTURES * QUESTIONS} questions each. We watch one of them, Bea. She gets a key pair: "
            "the database keeps the public half, and the secret half only locked away, once with her password and once with a "
            "recovery code that she sees this one time."
        )
        self.bea = User.objects.get(email=DEMO_STUDENT)
        self.bea.set_password(DEMO_PASSWORD)
        self.bea.save()
        self.stage.code("registration = edna.register_principal(bea, password=…)")
        self.registration = edna.register_principal(self.bea, password=DEMO_PASSWORD)
        others = list(User.objects.exclude(pk=self.bea.pk))
        keys = [made.secret_key for made in edna.register_principals(others)]
        self.others = dict(zip((person.pk for person in others), keys, strict=True))
        Client().force_login(self.bea)
        self.stage.show([f"Bea's recovery code: {self.registration.recovery_code}"])
        self.texts = list(self.bea.answers.order_by("pk").values_list("text", flat=True))
        self.before = evidence.application_tables()
        self.counts = self._counts()

    @staticmethod
    def _counts() -> dict[str, int]:
        tables = {
            "accounts": "websubmit_user",
            "answers": "websubmit_answer",
            "sessions": "django_session",
            "sealed bags": "edna_bag",
        }
        counts = evidence.counts(*tables.values())
        return {label: counts[table] for label, table in tables.items()}

    # The thief

    def personal(self) -> dict[str, list[str | bytes]]:
        return {
            "e-mail address": [self.bea.email],
            "API key": [self.bea.apikey],
            "password hash": [self.bea.password],
            "answers": [*self.texts],
        }

    def secrets(self) -> dict[str, list[str | bytes]]:
        code = self.registration.recovery_code
        return {
            "secret key": [self.registration.secret_key.expose(), self.registration.secret_key.expose_text()],
            "recovery code": [str(code), code.expose()],
            "password": [DEMO_PASSWORD],
        }

    def thief(self, needles: Mapping[str, list[str | bytes]]) -> dict[str, tuple[int, int]]:
        """Steal everything and search it; say what was found."""
        evidence.empty_the_log()
        found = evidence.hits(needles, text=evidence.printed(), data=evidence.raw(self.path))
        columns = {"in the dump": {}, "in the file": {}}
        for label, (in_dump, in_file) in found.items():
            columns["in the dump"][label], columns["in the file"][label] = in_dump, in_file
        self.stage.compare(columns)
        return found

    def thief_before(self) -> None:
        self.stage.chapter("2. A thief takes a copy of the database")
        self.stage.say(
            "The thief prints every row of every table, binary columns in hexadecimal, and searches that for what is Bea's. Then "
            f"the thief searches the raw bytes of the database file, {self.path.name}. So often is it found:"
        )
        found = self.thief(self.personal())
        self.stage.check("The thief can read all of it", all(min(count) > 0 for count in found.values()))
        self.stage.say("What opens Bea's key is not there to be stolen, though:")
        found = self.thief(self.secrets())
        self.stage.check("No secret is in the database", not any(map(sum, found.values())))

    # Leaving

    def preview(self) -> None:
        self.stage.chapter("3. Bea wants to leave. What would happen?")
        self.stage.say("Nothing is changed yet: edna says, table by table, which rows are hers.")
        self.stage.code('edna.plan("websubmit.delete-account", bea)')
        plan = edna.plan("websubmit.delete-account", self.bea)
        self.stage.show(f"{table.operation} {table.rows:>3} of {table.model}" for table in plan.tables)
        self.stage.check("Looking changed nothing", evidence.application_tables() == self.before)
        self.planned = Counter({table.model: table.rows for table in plan.tables if table.rows})

    def leave(self) -> None:
        self.stage.chapter("4. Bea deletes her account")
        self.stage.code('receipt = edna.disguise("websubmit.delete-account", bea)')
        self.receipt = edna.disguise("websubmit.delete-account", self.bea)
        self.stage.say(
            "Her rows are gone. Their contents lie in one bag, sealed to her public key. Bea gets a receipt:"
        )
        self.stage.show([str(self.receipt)])
        counts = self._counts()
        self.stage.compare({"before": self.counts, "now": counts})
        expected = {
            **self.counts,
            "accounts": self.counts["accounts"] - 1,
            "answers": self.counts["answers"] - len(self.texts),
            "sessions": 0,
            "sealed bags": 1,
        }
        self.stage.check(
            "Account and answers are gone, and she is logged out wherever she was logged in", counts == expected
        )
        self.stage.say("The thief comes again, and searches the same places for the same things:")
        found = self.thief(self.personal())
        self.stage.check("Nothing of Bea's is left to be read", not any(map(sum, found.values())))
        locator = self.receipt.locator.expose()
        found = self.thief({**self.secrets(), "receipt": [str(self.receipt), locator]})
        self.stage.check("Still no secret is in the database, and no receipt", not any(map(sum, found.values())))
        pointers = evidence.pointers_to("websubmit_user", self.bea.pk)
        entries = evidence.query("SELECT count(*) FROM edna_principalentry WHERE reference = %s", str(self.bea.pk))
        self.stage.check(
            f"No row of any table refers to account {self.bea.pk} any more", pointers == entries[0][0] == 0
        )
        [(sealed,)] = evidence.query("SELECT sealed FROM edna_bag")
        self.stage.say(
            f"This is the bag, the first 64 of {len(sealed):,} bytes: version, cipher suite and number of keys in plain, the rest "
            "like noise. No owner, no date, no name of the disguise."
        )
        digits = sealed[:64].hex(" ")
        self.stage.show([digits[:95], digits[96:]])
        self.stage.check("It is of version 1, suite 1, for one key", sealed[:3] == b"\1\1\1")

    def locked_out(self) -> None:
        self.stage.chapter("5. Others try to open the bag")
        self.stage.say("Each attempt must fail with a sentence that says why, and change nothing.")
        before = evidence.fingerprint(evidence.tables())
        code = str(self.receipt)
        somebody = next(iter(self.others.values()))

        def with_wrong_password() -> None:
            edna.unlock(identifier=DEMO_STUDENT, password="not-her-password")

        def with_truncated_receipt() -> None:
            with edna.unlock(identifier=DEMO_STUDENT, password=DEMO_PASSWORD) as unlocked:
                edna.reveal(code[:-3], unlocked)

        def with_another_students_key() -> None:
            with edna.unlock(secret_key=somebody) as unlocked:
                edna.reveal(self.receipt, unlocked)

        self.refused("a wrong password", with_wrong_password, edna.errors.WrongCredentials)
        self.refused("a truncated receipt", with_truncated_receipt, edna.errors.ReceiptMalformed)
        self.refused("another student's key", with_another_students_key, edna.errors.ReceiptForeign)
        self.stage.check("Not one byte of any table changed", evidence.fingerprint(evidence.tables()) == before)

        def with_changed_bag() -> None:
            [(bag, sealed)] = evidence.query("SELECT id, sealed FROM edna_bag")
            changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
            evidence.query("UPDATE edna_bag SET sealed = %s WHERE id = %s", changed, bag)
            try:
                with edna.unlock(identifier=DEMO_STUDENT, password=DEMO_PASSWORD) as unlocked:
                    edna.reveal(self.receipt, unlocked)
            finally:
                evidence.query("UPDATE edna_bag SET sealed = %s WHERE id = %s", sealed, bag)

        self.refused("one bit of the bag changed by somebody", with_changed_bag, edna.errors.BagCorrupt)

    def refused(self, what: str, attempt: Callable[[], None], expected: type[Exception]) -> None:
        try:
            attempt()
        except edna.errors.EdnaError as error:
            self.stage.show([f"{what}: {type(error).__name__}"])
            for line in textwrap.wrap(f"“{error}”", WIDTH - 8):
                self.stage.show([f"    {line}"])
            self.stage.check(f"Refused: {what}", type(error) is expected)
        else:
            self.stage.check(f"Refused: {what}", False)

    # Returning

    def come_back(self) -> None:
        self.stage.chapter("6. Bea returns")
        self.stage.say("Her e-mail address and password find and open her key, and her key opens the bag.")
        self.stage.code(f'with edna.unlock(identifier="{DEMO_STUDENT}", password=…) as unlocked:')
        self.stage.code("    outcome = edna.reveal(receipt, unlocked)")
        with edna.unlock(identifier=DEMO_STUDENT, password=DEMO_PASSWORD) as unlocked:
            outcome = edna.reveal(self.receipt, unlocked)
            self.stage.show([f"restored: {count:>3} of {label}" for label, count in outcome.restored.items()])
            self.stage.show([f"held back: {len(outcome.held)}"])
            self.stage.check("All that was planned came back", Counter(outcome.restored) == self.planned)
            self.stage.check("Nothing is held back", outcome.complete)
            self.stage.say(
                "Is everything as it was? These are fingerprints (SHA-256) of all tables of the application:"
            )
            after = evidence.application_tables()
            self.stage.show([f"before  {evidence.fingerprint(self.before)}", f"now     {evidence.fingerprint(after)}"])
            self.stage.check("Every table is equal to what it was before, byte by byte", after == self.before)
            self.stage.check("The bag is gone: there is nothing left to open", self._counts()["sealed bags"] == 0)

            def again() -> None:
                edna.reveal(self.receipt, unlocked)

            self.refused("the same receipt a second time", again, edna.errors.ReceiptUnknown)
        known = authenticate(username=DEMO_STUDENT, password=DEMO_PASSWORD)
        self.stage.check("Her password lets her in again", known == self.bea)

    # Anonymous answers

    def _of(self, lecture: Lecture) -> Any:
        return Answer.objects.filter(question__lecture=lecture)

    def anonymise(self) -> None:
        self.lecture = Lecture.objects.order_by("pk").first() or Lecture()
        self.stage.chapter("7. The staff anonymise a lecture")
        self.stage.say(
            f"The course wants to keep the answers to “{self.lecture}”, but not who wrote them. Nobody's password is needed: each "
            "student's way back is sealed to that student's public key."
        )
        texts = sorted(self._of(self.lecture).values_list("pk", "text"))
        sample = self._of(self.lecture).filter(author=self.bea).order_by("pk")[0]
        self.stage.code(f'edna.disguise_all("websubmit.anonymize-lecture", params={{"lecture": {self.lecture.pk}}})')
        receipts = edna.disguise_all("websubmit.anonymize-lecture", params={"lecture": self.lecture.pk})
        named = self._of(self.lecture).filter(author__is_anon=False).count()
        authors = self._of(self.lecture).values("author").distinct().count()
        self.stage.compare(
            {
                "before": {"answers": len(texts), "by somebody with a name": len(texts), "anonymous authors": 0},
                "now": {
                    "answers": self._of(self.lecture).count(),
                    "by somebody with a name": named,
                    "anonymous authors": authors,
                },
            }
        )
        self.stage.check(
            "All answers are still there to be read", sorted(self._of(self.lecture).values_list("pk", "text")) == texts
        )
        self.stage.check("None of them has an author with a name", named == 0)
        self.stage.check("Each student got one anonymous author, and a receipt", authors == len(receipts) == STUDENTS)
        sample.refresh_from_db()
        self.stage.say("One of Bea's answers, as the staff read it now:")
        self.stage.show([textwrap.shorten(sample.text, WIDTH - 8, placeholder="…")])
        self.stage.show([f"by account {sample.author_id}, {sample.author.email}"])
        self.sample = sample

    def edit_under_disguise(self) -> None:
        self.stage.chapter("8. Bea edits an anonymous answer")
        self.stage.say(
            "Only her key knows which anonymous author she speaks for. She proves it, corrects her answer, and stays anonymous."
        )
        self.stage.code("author = edna.speak_as(unlocked, answer)")
        author = self.sample.author_id

        def as_somebody_else() -> None:
            with edna.unlock(secret_key=next(iter(self.others.values()))) as unlocked:
                edna.speak_as(unlocked, self.sample)

        self.refused("somebody else's key", as_somebody_else, edna.errors.NotYours)
        self.old_text = self.sample.text
        self.new_text = self.old_text + " Edited: I know better now."
        with edna.unlock(identifier=DEMO_STUDENT, password=DEMO_PASSWORD) as unlocked:
            mine = self._of(self.lecture).filter(author__in=edna.speaks_for(unlocked, User))
            self.stage.check(f"Bea's key speaks for her {QUESTIONS} answers", mine.count() == QUESTIONS)
            voice = edna.speak_as(unlocked, self.sample)
            Answer.objects.filter(pk=self.sample.pk, author=voice.pk).update(text=self.new_text)
        self.sample.refresh_from_db()
        self.stage.check("Her answer says what she wants now", self.sample.text == self.new_text)
        self.stage.check(
            "Its author is as anonymous as before", self.sample.author_id == author and self.sample.author.is_anon
        )

    def reclaim(self) -> None:
        self.stage.chapter("9. Bea takes her answers back")
        self.stage.say("She kept no receipt of this one; her key finds it.")
        self.stage.code("[entry] = edna.history(unlocked)")
        self.stage.code("edna.reveal(entry.receipt, unlocked)")
        with edna.unlock(recovery_code=self.registration.recovery_code) as unlocked:
            [entry] = edna.history(unlocked)
            outcome = edna.reveal(entry.receipt, unlocked)
        self.stage.show([f"restored: {count:>3} of {label}" for label, count in outcome.restored.items()])
        mine = self._of(self.lecture).filter(author=self.bea)
        self.stage.check(
            "They carry her name again, and none is held back", outcome.complete and mine.count() == QUESTIONS
        )
        self.stage.check("Her edit was not overwritten", mine.filter(text=self.new_text).exists())
        named = self._of(self.lecture).filter(author__is_anon=False).count()
        self.stage.check("All other answers are still anonymous", named == QUESTIONS)

    def everybody_reclaims(self) -> None:
        self.stage.chapter("10. Everybody else does, too")
        for key in self.others.values():
            with edna.unlock(secret_key=key) as unlocked:
                for entry in edna.history(unlocked):
                    edna.reveal(entry.receipt, unlocked)
        self.stage.say("The database is compared with the one of step 1, row by row and table by table:")
        expected = {**self.before, "websubmit_answer": [self._edited(row) for row in self.before["websubmit_answer"]]}
        after = evidence.application_tables()
        changed = Counter(name for name, _ in evidence.changed_rows(self.before, after))
        self.stage.show(f"changed rows in {name}: {count // 2}" for name, count in changed.items())
        self.stage.show(
            [
                f"step 1, with Bea's edit  {evidence.fingerprint(expected)}",
                f"now                      {evidence.fingerprint(after)}",
            ]
        )
        self.stage.check("Nothing differs but the one answer that Bea edited", after == expected)
        self.stage.check("No anonymous author is left over", not User.objects.filter(is_anon=True).exists())
        self.stage.check("No bag is left over", self._counts()["sealed bags"] == 0)

    def _edited(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The row as it was, with the new text if it is that of the answer that Bea edited."""
        if row[0] != self.sample.pk:
            return row
        return tuple(self.new_text if value == self.old_text else value for value in row)
