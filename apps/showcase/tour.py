"""What the guided tours of the applications share: somebody leaves, a thief searches, others try to open the bag, they come back.

A tour is a class with the story of one application, a list of its steps, and the shared steps among them. Knows `evidence` and a
`Stage`; of the application it knows what the attributes say, and nothing of its tables.
"""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.db.models import Model
from django.test import Client

import edna

from . import evidence
from .stage import WIDTH, Stage

Needles = Mapping[str, list[str | bytes]]


class Tour:
    """The steps in their order. What one step leaves for a later one is an attribute."""

    #: The application in a sentence, and its parts in the words of the tour.
    about: str
    #: The one who leaves and returns, as the tour speaks of them.
    name: str
    #: What Django's `authenticate` takes besides the password, and what edna's key slots are found by.
    login: Mapping[str, str]
    identifier: str
    password: str
    #: The disguise that removes the account.
    leaving: str
    #: What is counted in all tables: label and table.
    tables: Mapping[str, str]
    #: Rows of the one person: label, model and the column that says whose they are.
    owned: Mapping[str, tuple[str, str]]
    #: Which table has the people.
    people: str

    def __init__(self, stage: Stage, path: Path) -> None:
        self.stage, self.path = stage, path
        self.person: Any = None
        self.registration: Any = None
        #: What edna has written into the site's log since the last attempt that was to fail.
        self.log: list[str] = []
        #: The keys of everybody else, by primary key. In a real site each is only in its owner's hands.
        self.others: dict[Any, edna.SecretKey] = {}

    def steps(self) -> Mapping[str, Callable[[], None]]:
        """The chapters: heading and step."""
        raise NotImplementedError

    def personal(self) -> Needles:
        """What must not be found while the person is away."""
        raise NotImplementedError

    def run(self) -> None:
        self.stage.chapter("A guided tour of edna")
        self.stage.say(
            "edna lets a person leave a web site and come back. In between the site keeps only a sealed bag that nobody but that "
            f"person can open. {self.about} Every line with a ✓ was checked while you watched."
        )
        with evidence.log_kept() as self.log:
            for number, (heading, step) in enumerate(self.steps().items(), start=1):
                self.stage.chapter(f"{number}. {heading}")
                step()

    # Preparing

    @staticmethod
    def seed(command: str, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        call_command(command, stdout=io.StringIO(), stderr=io.StringIO(), **options)

    def register(self, person: Any, others: Iterable[Any]) -> None:
        """Keys for everybody, and one of them with a password; then everything is noted as it is before the first disguise."""
        self.person = person
        self.stage.code(f"registration = edna.register_principal({self.name.lower()}, password=…)")
        self.registration = edna.register_principal(person, identifier=self.identifier, password=self.password)
        others = list(others)
        made = edna.register_principals(others)
        self.others = {other.pk: each.secret_key for other, each in zip(others, made, strict=True)}
        Client().force_login(person, backend=self.backend())
        self.stage.show([f"{self.name}'s recovery code: {self.registration.recovery_code}"])
        self.before = evidence.application_tables()
        self.counts, self.mine = self.count(), self.count_mine()

    def backend(self) -> str:
        """The authentication backend that knows the person: the application's own, or else the first."""
        package = f"{apps.get_app_config(self.person._meta.app_label).name}."
        known = settings.AUTHENTICATION_BACKENDS
        return next((path for path in known if path.startswith(package)), known[0])

    def unlock(self) -> edna.Unlocked:
        return edna.unlock(identifier=self.identifier, password=self.password)

    def count(self) -> dict[str, int]:
        tables = {**self.tables, "sessions": "django_session", "sealed bags": "edna_bag"}
        counts = evidence.counts(*tables.values())
        return {label: counts[table] for label, table in tables.items()}

    def count_mine(self) -> dict[str, int]:
        """Rows that say that they are the person's."""
        return {
            label: apps.get_model(model)._base_manager.filter(**{column: self.person.pk}).count()
            for label, (model, column) in self.owned.items()
        }

    # The thief

    def secrets(self) -> Needles:
        code, key = self.registration.recovery_code, self.registration.secret_key
        return {
            "secret key": [key.expose(), key.expose_text()],
            "recovery code": [str(code), code.expose()],
            "password": [self.password],
        }

    def thief(self, needles: Needles) -> dict[str, tuple[int, int]]:
        """Steal everything and search it; say what was found."""
        evidence.empty_the_log()
        found = evidence.hits(needles, text=evidence.printed(), data=evidence.raw(self.path))
        columns: dict[str, dict[str, int]] = {"in the dump": {}, "in the file": {}}
        for label, (in_dump, in_file) in found.items():
            columns["in the dump"][label], columns["in the file"][label] = in_dump, in_file
        self.stage.compare(columns)
        return found

    def finds_nothing(self, claim: str, needles: Needles) -> None:
        self.stage.check(claim, not any(map(sum, self.thief(needles).values())))

    def thief_before(self) -> None:
        self.stage.say(
            f"The thief prints every row of every table, binary columns in hexadecimal, and searches that for what is {self.name}'s. "
            f"Then the thief searches the raw bytes of the database file, {self.path.name}. So often is it found:"
        )
        found = self.thief(self.personal())
        self.stage.check("The thief can read all of it", all(min(count) > 0 for count in found.values()))
        self.stage.say(f"What opens {self.name}'s key is not there to be stolen, though:")
        self.finds_nothing("No secret is in the database", self.secrets())

    # Leaving

    def preview(self) -> None:
        self.stage.say("Nothing is changed yet: edna says, table by table, which rows are meant.")
        self.stage.code(f'edna.plan("{self.leaving}", {self.name.lower()})')
        plan = edna.plan(self.leaving, self.person)
        rows = Counter[tuple[str, str]]()
        for table in plan.tables:
            rows[table.operation, table.model] += table.rows
        self.planned = plan.counts
        for (operation, model), number in (+rows).items():
            self.stage.show([f"{operation:<11} {number:>3} of {model}"])
        self.stage.check("Looking changed nothing", evidence.application_tables() == self.before)

    def leave(self) -> None:
        self.stage.code(f'receipt = edna.disguise("{self.leaving}", {self.name.lower()})')
        self.receipt = edna.disguise(self.leaving, self.person)
        self.stage.say(f"The contents of all these rows lie in bags, sealed to {self.name}'s public key. The receipt:")
        self.stage.show([str(self.receipt)])
        now, mine = self.count(), self.count_mine()
        self.stage.compare({"before": self.counts, "now": now})
        self.stage.say(f"Of these, {self.name}'s:")
        self.stage.compare({"before": self.mine, "now": mine})
        self.stage.check(f"No row says any more that it is {self.name}'s", not any(mine.values()))
        self.stage.check(
            "The account is gone, and logged out wherever it was logged in",
            not type(self.person)._base_manager.filter(pk=self.person.pk).exists() and now["sessions"] == 0,
        )
        self.stage.check("There is something to come back to", now["sealed bags"] > 0)
        self.stage.say("The thief comes again, and searches the same places for the same things:")
        self.finds_nothing(f"Nothing of {self.name}'s is left to be read", self.personal())
        locator = self.receipt.locator.expose()
        self.finds_nothing(
            "Still no secret is in the database, and no receipt",
            {**self.secrets(), "receipt": [str(self.receipt), locator]},
        )
        pointers = evidence.pointers_to(self.people, self.person.pk)
        label = self.person._meta.label_lower
        # A principal of another application may have the same number.
        entries = apps.get_model("edna.PrincipalEntry").objects.filter(model=label, reference=str(self.person.pk))
        self.stage.check(
            f"No row of any table refers to account {self.person.pk} any more", pointers == entries.count() == 0
        )

    def show_bag(self) -> None:
        sealed = [row[0] for row in evidence.query("SELECT sealed FROM edna_bag ORDER BY id")]
        self.stage.say(
            f"This is a bag, the first 64 of {len(sealed[0]):,} bytes: version, cipher suite and number of keys in plain, the rest "
            "like noise. No owner, no date, no name of the disguise."
        )
        digits = sealed[0][:64].hex(" ")
        self.stage.show([digits[:95], digits[96:]])
        self.stage.check("It is of version 1, suite 1, for one key", all(bag[:3] == b"\1\1\1" for bag in sealed))

    # Others

    def locked_out(self) -> None:
        self.stage.say("Each attempt must fail with a sentence that says why, and change nothing.")
        before = evidence.fingerprint(evidence.tables())
        code = str(self.receipt)

        def with_wrong_password() -> None:
            edna.unlock(identifier=self.identifier, password="not-the-password")

        def with_truncated_receipt() -> None:
            with self.unlock() as unlocked:
                edna.reveal(code[:-3], unlocked)

        def with_another_key() -> None:
            with edna.unlock(secret_key=self.somebody()) as unlocked:
                edna.reveal(self.receipt, unlocked)

        self.refused("a wrong password", with_wrong_password, edna.errors.WrongCredentials)
        self.refused("a truncated receipt", with_truncated_receipt, edna.errors.ReceiptMalformed)
        self.refused("another person's key", with_another_key, edna.errors.ReceiptForeign)
        self.stage.check("Not one byte of any table changed", evidence.fingerprint(evidence.tables()) == before)

    def somebody(self) -> edna.SecretKey:
        """Somebody else's key."""
        return next(iter(self.others.values()))

    def refused(self, what: str, attempt: Callable[[], None], expected: type[Exception]) -> None:
        self.log.clear()
        try:
            attempt()
        except edna.errors.EdnaError as error:
            self.stage.show([f"{what}: {type(error).__name__}"])
            for line in textwrap.wrap(f"“{error}”", WIDTH - 8):
                self.stage.show([f"    {line}"])
            for line in self.log:
                self.stage.show(["The site's log tells its operator:"])
                self.stage.show(f"    {part}" for part in textwrap.wrap(line, WIDTH - 8))
            self.stage.check(f"Refused: {what}", type(error) is expected)
        else:
            self.stage.check(f"Refused: {what}", False)

    # Returning

    def come_back(self) -> None:
        self.stage.say("Name and password find and open the key, and the key opens the bags.")
        self.stage.code(f'with edna.unlock(identifier="{self.identifier}", password=…) as unlocked:')
        self.stage.code("    outcome = edna.reveal(receipt, unlocked)")
        with self.unlock() as unlocked:
            outcome = edna.reveal(self.receipt, unlocked)
            self.show_outcome(outcome)
            self.stage.check("All that was planned came back", outcome.restored == self.planned)
            self.stage.check("Nothing is held back", outcome.complete)
            self.stage.say(
                "Is everything as it was? These are fingerprints (SHA-256) of all tables of the applications:"
            )
            self.stage.check("Every table is equal to what it was before, byte by byte", self.equals(self.before))
            self.stage.check("No bag is left: there is nothing to open", self.count()["sealed bags"] == 0)

            def again() -> None:
                edna.reveal(self.receipt, unlocked)

            self.refused("the same receipt a second time", again, edna.errors.ReceiptUnknown)
        known = authenticate(**self.login, password=self.password)
        self.stage.check(f"{self.name}'s password opens the site again", known == self.person)

    def show_outcome(self, outcome: edna.Outcome) -> None:
        self.stage.show([f"restored: {count:>3} of {label}" for label, count in outcome.restored.items()])
        self.stage.show([f"held back: {len(outcome.held)}"])

    def equals(self, expected: Mapping[str, evidence.Rows], *, called: str = "before") -> bool:
        """Print both fingerprints, and whether they are of the same rows."""
        after = evidence.application_tables()
        width = max(len(called), len("now"))
        self.stage.show(
            [
                f"{called:<{width}}  {evidence.fingerprint(expected)}",
                f"{'now':<{width}}  {evidence.fingerprint(after)}",
            ]
        )
        return after == expected

    # Under disguise

    @contextmanager
    def speaking_as(self, obj: Model, owner: str) -> Iterator[tuple[edna.Unlocked, Any]]:
        """Inside, the person's key is open and speaks for whom ``owner`` of the object names; another key does not."""
        self.stage.say(
            f"Only {self.name}'s key knows which pseudoprincipals it speaks for. It proves that, and the one who edits stays anonymous."
        )
        self.stage.code(f'author = edna.speak_as(unlocked, {obj._meta.model_name}, owner="{owner}")')

        def as_somebody_else() -> None:
            with edna.unlock(secret_key=self.somebody()) as unlocked:
                edna.speak_as(unlocked, obj, owner=owner)

        self.refused("somebody else's key", as_somebody_else, edna.errors.NotYours)
        with self.unlock() as unlocked:
            yield unlocked, edna.speak_as(unlocked, obj, owner=owner)

    def take_back(self, name: str) -> edna.Outcome:
        """Reveal the one disguise of that name, with the recovery code and without a receipt."""
        self.stage.say(
            f"{self.name} kept no receipt of this one; the key finds it, and the recovery code opens the key."
        )
        self.stage.code("[entry] = edna.history(unlocked)")
        self.stage.code("edna.reveal(entry.receipt, unlocked)")
        with edna.unlock(recovery_code=self.registration.recovery_code) as unlocked:
            [entry] = (entry for entry in edna.history(unlocked) if entry.name == name)
            outcome = edna.reveal(entry.receipt, unlocked)
        self.show_outcome(outcome)
        return outcome

    def everybody_reclaims(self) -> None:
        """All others, each with their own key, take back what is still disguised."""
        for key in self.others.values():
            with edna.unlock(secret_key=key) as unlocked:
                for entry in edna.history(unlocked):
                    edna.reveal(entry.receipt, unlocked)

    def but_for(self, obj: Model, *names: str) -> dict[str, evidence.Rows]:
        """The tables before the first disguise, but for these columns of one row, which are as they are now."""
        table, key = obj._meta.db_table, tuple(getattr(obj, field.attname) for field in obj._meta.pk_fields)
        columns = evidence.columns(table)
        places = [columns.index(field.column) for field in obj._meta.pk_fields]
        edited = {columns.index(obj._meta.get_field(name).column) for name in names}

        def is_it(row: tuple[Any, ...]) -> bool:
            return tuple(row[place] for place in places) == key

        now = next(filter(is_it, evidence.tables()[table]))
        mixed = [
            tuple(now[place] if place in edited else value for place, value in enumerate(row)) if is_it(row) else row
            for row in self.before[table]
        ]
        return {**self.before, table: mixed}
