"""The steps of ``manage.py demo websubmit``: what happens, said in sentences, with the evidence beside it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import edna
from apps.showcase import evidence
from apps.showcase.stage import WIDTH
from apps.showcase.tour import Needles
from apps.showcase.tour import Tour as SharedTour

from .management.commands.websubmit_seed import DEMO_PASSWORD, DEMO_STUDENT
from .models import Answer, Lecture, User

STUDENTS, LECTURES, QUESTIONS = 40, 5, 4


class Tour(SharedTour):
    """A student leaves and returns; the staff anonymise a lecture; its authors edit and reclaim their answers."""

    about = "This tour uses WebSubmit, a sample site where students hand in homework."
    name = "Bea"
    login = {"username": DEMO_STUDENT}
    identifier = DEMO_STUDENT
    password = DEMO_PASSWORD
    leaving = "websubmit.delete-account"
    people = "websubmit_user"
    tables = {"accounts": "websubmit_user", "answers": "websubmit_answer"}
    owned = {"accounts": ("websubmit.User", "pk"), "answers": ("websubmit.Answer", "author")}

    def steps(self) -> Mapping[str, Callable[[], None]]:
        return {
            "A course with students": self.course,
            "A thief takes a copy of the database": self.thief_before,
            "Bea wants to leave. What would happen?": self.preview,
            "Bea deletes her account": self.leave,
            "Others try to open the bag": self.locked_out,
            "Bea returns": self.come_back,
            "The staff anonymise a lecture": self.anonymise,
            "Bea edits an anonymous answer": self.edit_under_disguise,
            "Bea takes her answers back": self.reclaim,
            "Everybody else does, too": self.everybody_reclaims,
        }

    # The course

    def course(self) -> None:
        self.seed("websubmit_seed", users=STUDENTS, lectures=LECTURES, questions=QUESTIONS, no_register=True)
        self.stage.say(
            f"{STUDENTS} students answered {LECTURES * QUESTIONS} questions each. We watch one of them, Bea. She gets a key pair: "
            "the database keeps the public half, and the secret half only locked away, once with her password and once with a "
            "recovery code that she sees this one time."
        )
        bea = User.objects.get(email=DEMO_STUDENT)
        bea.set_password(DEMO_PASSWORD)  # with a salt of her own: the seed hashes one password for all
        bea.save()
        self.texts = list(bea.answers.order_by("pk").values_list("text", flat=True))
        self.register(bea, User.objects.exclude(pk=bea.pk))

    def personal(self) -> Needles:
        return {
            "e-mail address": [self.person.email],
            "API key": [self.person.apikey],
            "password hash": [self.person.password],
            "answers": [*self.texts],
        }

    # Leaving and returning, where it is more than what all tours share

    def leave(self) -> None:
        super().leave()
        self.show_bag()

    def locked_out(self) -> None:
        super().locked_out()

        def with_changed_bag() -> None:
            [(bag, sealed)] = evidence.query("SELECT id, sealed FROM edna_bag")
            changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
            evidence.query("UPDATE edna_bag SET sealed = %s WHERE id = %s", changed, bag)
            try:
                with self.unlock() as unlocked:
                    edna.reveal(self.receipt, unlocked)
            finally:
                evidence.query("UPDATE edna_bag SET sealed = %s WHERE id = %s", sealed, bag)

        self.refused("one bit of the bag changed by somebody", with_changed_bag, edna.errors.BagCorrupt)

    # Anonymous answers

    def _of(self, lecture: Lecture) -> Any:
        return Answer.objects.filter(question__lecture=lecture)

    def anonymise(self) -> None:
        self.lecture = Lecture.objects.order_by("pk").first() or Lecture()
        self.stage.say(
            f"The course wants to keep the answers to “{self.lecture}”, but not who wrote them. Nobody's password is needed: each "
            "student's way back is sealed to that student's public key."
        )
        texts = sorted(self._of(self.lecture).values_list("pk", "text"))
        sample = self._of(self.lecture).filter(author=self.person).order_by("pk")[0]
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
        self.new_text = self.sample.text + " Edited: I know better now."
        author = self.sample.author_id
        with self.speaking_as(self.sample, "author") as (unlocked, voice):
            mine = self._of(self.lecture).filter(author__in=edna.speaks_for(unlocked, User))
            self.stage.check(f"Bea's key speaks for her {QUESTIONS} answers", mine.count() == QUESTIONS)
            Answer.objects.filter(pk=self.sample.pk, author=voice.pk).update(text=self.new_text)
        self.sample.refresh_from_db()
        self.stage.check("Her answer says what she wants now", self.sample.text == self.new_text)
        self.stage.check(
            "Its author is as anonymous as before", self.sample.author_id == author and self.sample.author.is_anon
        )

    def reclaim(self) -> None:
        outcome = self.take_back("websubmit.anonymize-lecture")
        mine = self._of(self.lecture).filter(author=self.person)
        self.stage.check(
            "They carry her name again, and none is held back", outcome.complete and mine.count() == QUESTIONS
        )
        self.stage.check("Her edit was not overwritten", mine.filter(text=self.new_text).exists())
        named = self._of(self.lecture).filter(author__is_anon=False).count()
        self.stage.check("All other answers are still anonymous", named == QUESTIONS)

    def everybody_reclaims(self) -> None:
        super().everybody_reclaims()
        self.stage.say("The database is compared with the one of step 1, row by row and table by table:")
        expected = self.but_for(self.sample, "text")
        changed = Counter(name for name, _ in evidence.changed_rows(self.before, evidence.application_tables()))
        self.stage.show(f"changed rows in {name}: {count // 2}" for name, count in changed.items())
        same = self.equals(expected, called="step 1, with Bea's edit")
        self.stage.check("Nothing differs but the one answer that Bea edited", same)
        self.stage.check("No anonymous author is left over", not User.objects.filter(is_anon=True).exists())
        self.stage.check("No bag is left over", self.count()["sealed bags"] == 0)
