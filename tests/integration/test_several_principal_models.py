"""Several principal models in one project: number 7 of the one is somebody else than number 7 of the other, wherever a number stands."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Iterator
from itertools import count, islice, permutations
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY, login
from django.contrib.auth.backends import BaseBackend
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.checks import run_checks
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.core.management.color import no_style
from django.db import connection
from django.db.models import Model
from django.db.models.signals import post_delete
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

import edna
from apps.websubmit.models import User
from edna import errors, receivers
from edna.engine.pseudoprincipals import new_rows, random_keys
from edna.middleware import EdnaMiddleware, RequestEdna
from edna.models import PrincipalEntry
from edna.testing import Person, application_dump
from edna.visitors import attendance, log_out
from tests.databases import first_everywhere
from tests.installed import installed, registered
from tests.integration.inn.models import Guest, Host, Letter, Meal, Regular, Stay
from tests.support import PASSWORD, edna_dump, enrol, execute, nothing_changes, rows_of, statements

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

INN = "tests.integration.inn"
BY_HAND = "inn.by-hand"


def nothing_to_do(revealed: edna.Revealed) -> None:
    """For the disguise by hand."""


@pytest.fixture(scope="module")
def inn_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(INN, principals=["inn.guest", "inn.host"]):
        yield


@pytest.fixture(autouse=True)
def inn(inn_tables: None, db: None) -> Iterator[None]:
    attendance.__init__()  # type: ignore[misc]
    receivers.connect()
    with registered(INN):
        yield
    for label in ("inn.guest", "inn.host"):
        post_delete.disconnect(sender=label, dispatch_uid=f"edna.deleted.{label}")


def registered_person(row: Model, **kwargs: Any) -> Person:
    made = edna.register_principal(row, **kwargs)
    assert made.secret_key is not None
    return Person(row, made.secret_key, str(made.recovery_code))


@pytest.fixture
def gus() -> Person:
    """A guest, number 7."""
    return registered_person(Guest.objects.create(pk=7, name="Gus"))


@pytest.fixture
def hana() -> Person:
    """A host, number 7 too."""
    return registered_person(Host.objects.create(pk=7, name="Hana"))


@pytest.fixture
def ulla() -> Person:
    """A user of `AUTH_USER_MODEL`, number 7 too."""
    return enrol("ulla@example.org", pk=7)


@pytest.fixture
def rows(gus: Person, hana: Person) -> None:
    """Stays of Gus at Hana's with another guest, meals of Hana's, and letters of the two."""
    other = Guest.objects.create(pk=8, name="Gil")
    edna.register_principal(other)
    for number in range(2):
        Stay.objects.create(guest=gus.user, host=hana.user, friend=other, text=f"stay {number}")
        Stay.objects.create(guest=other, host=hana.user, friend=gus.user, text=f"stay of Gil {number}")
        Meal.objects.create(cook=hana.user, text=f"meal {number}")
        Letter.objects.create(guest=gus.user, host=hana.user, text=f"letter {number}")
    for sql in connection.ops.sequence_reset_sql(
        no_style(), [Guest, Host]
    ):  # PostgreSQL does not count what brought its number
        execute(sql)


# Who is who


@pytest.mark.once
def test_the_checks_find_nothing_wrong(inn: None) -> None:
    assert [message for message in run_checks(tags=["edna"]) if "inn" in f"{message.obj} {message.msg}".lower()] == []


def test_everybody_is_registered_by_themselves(gus: Person) -> None:
    host, user = Host.objects.create(pk=7), User.objects.create_user("x@example.org", pk=7)
    assert edna.is_registered(gus.user)
    assert not edna.is_registered(host)
    assert edna.unregistered([user, gus.user, host]) == [user, host]
    assert edna.is_registered(Regular.objects.get(pk=7))


def test_registering_people_of_different_models_at_once() -> None:
    """Each gets the key that stands at their place."""
    people = [Guest.objects.create(pk=7), Host.objects.create(pk=7), Guest.objects.create(pk=8)]
    made = edna.register_principals(people)
    for person, registration in zip(people, made, strict=True):
        assert registration.secret_key is not None
        with edna.unlock(secret_key=registration.secret_key) as unlocked:
            assert edna.principal(unlocked) == person


def test_registering_people_of_different_models_at_once_is_all_or_nothing(hana: Person) -> None:
    guest = Guest.objects.create(pk=9)
    with nothing_changes(), pytest.raises(errors.PrincipalAlreadyRegistered):
        edna.register_principals([guest, hana.user])
    assert not edna.is_registered(guest)


def test_a_deleted_row_detaches_its_own_entry_only(gus: Person, hana: Person, ulla: Person) -> None:
    gus.user.delete()
    attached = PrincipalEntry.objects.exclude(reference=None).values_list("model", flat=True)
    assert sorted(attached) == ["inn.host", "websubmit.user"]


def test_a_pseudoprincipal_of_one_model_is_none_of_the_other(rows: None) -> None:
    edna.disguise_all("inn.hide-guests")
    for guest in Guest.objects.filter(pk__lt=0):
        assert edna.is_pseudoprincipal(guest)
        assert edna.is_pseudoprincipal(Regular.objects.get(pk=guest.pk))
        assert not edna.is_pseudoprincipal(Host.objects.create(pk=guest.pk))


@pytest.mark.once
def test_of_the_same_name_and_password_in_two_applications_it_is_said_whose_key_is_meant(gus: Person) -> None:
    """Refusing the second registration would tell that somebody has this name and password."""
    guest, host = Guest.objects.create(), Host.objects.create()
    first = registered_person(guest, identifier="kim", password=PASSWORD)
    second = registered_person(host, identifier="kim", password=PASSWORD)
    for person in (first, second):
        with edna.unlock(identifier="kim", password=PASSWORD, principal=person.user) as unlocked:
            assert edna.principal(unlocked) == person.user


# Disguises


@pytest.mark.once
@pytest.mark.parametrize("work", [edna.disguise, edna.plan])
def test_a_disguise_of_another_model_is_refused(work: Any, rows: None, gus: Person, hana: Person) -> None:
    """Not applied to whoever has the same number there."""
    with nothing_changes():
        for name, person in (("inn.depart", hana), ("inn.retire", gus)):
            with pytest.raises(errors.PrincipalError, match=rf"{name}.*inn\.(Guest|Host)"):
                work(name, person.user)
            with person.unlock() as unlocked, pytest.raises(errors.PrincipalError):
                work(name, person.user, unlocked=unlocked)


@pytest.mark.once
def test_a_key_of_another_model_is_refused(rows: None, gus: Person, hana: Person) -> None:
    with nothing_changes(), hana.unlock() as unlocked, pytest.raises(errors.NotYours):
        edna.disguise("inn.depart", gus.user, unlocked=unlocked)


ORDERS = [
    (first, second, back)
    for first, second in (("inn.depart", "inn.retire"), ("inn.retire", "inn.depart"))
    for back in (0, 1)
]


@pytest.mark.parametrize(("first", "second", "back"), ORDERS)
def test_both_leave_and_come_back_in_every_order(
    rows: None, gus: Person, hana: Person, first: str, second: str, back: int
) -> None:
    before, tables = application_dump(), edna_dump()
    who = {"inn.depart": gus, "inn.retire": hana}
    receipts = [(who[name], who[name].disguise(name)) for name in (first, second)]
    assert not Guest.objects.filter(pk=7).exists()
    assert not Host.objects.filter(pk=7).exists()
    # What names somebody who is away waits for them.
    for person, receipt in receipts[:: -1 if back else 1]:
        person.reveal(receipt)
    gus.reveal_everything()
    hana.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("first", ["gus", "hana"])
def test_everybody_is_hidden_in_both_models(rows: None, gus: Person, hana: Person, first: str) -> None:
    Stay.objects.filter(guest=8).delete()
    before, tables = application_dump(), edna_dump()
    edna.disguise_all("inn.hide-guests")
    edna.disguise_all("inn.hide-hosts")
    letter = Letter.objects.order_by("pk")[0]
    with gus.unlock() as unlocked:
        assert edna.speaks_for(unlocked, Host) == []
        assert len(edna.speaks_for(unlocked, Guest)) == len(edna.speaks_for(unlocked)) == 4
        assert edna.speak_as(unlocked, letter) == letter.guest
    with hana.unlock() as unlocked:
        assert edna.speaks_for(unlocked, Guest) == []
        assert len(edna.speaks_for(unlocked, Host)) == len(edna.speaks_for(unlocked)) == 6
        assert edna.speak_as(unlocked, letter) == letter.host
    for person in (gus, hana) if first == "gus" else (hana, gus):
        person.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


# Rows that mention somebody of another model


class TestMentions:
    """Pseudoprincipals of two models may have the same key: in columns of 32 bits by chance, with "sequence" as a matter of course."""

    @pytest.fixture
    def gil(self, gus: Person, hana: Person) -> Person:
        return registered_person(Guest.objects.create(pk=8, name="Gil"))

    @pytest.fixture
    def same_keys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(new_rows, "random_keys", lambda field, count, connection: [-77] * count)

    @pytest.fixture(autouse=True)
    def by_hand(self) -> Iterator[None]:
        edna.on_reveal(BY_HAND)(nothing_to_do)
        yield
        edna.unregister(nothing_to_do)

    @pytest.mark.parametrize("name", ["inn.forget-stays", "inn.hush", "inn.unfriend", "inn.depart"])
    @first_everywhere("order", list(permutations(("gus", "hana", "gil"))), ids="-".join)
    @pytest.mark.parametrize("directly", [True, False])
    def test_of_two_pseudoprincipals_with_one_key(
        self, gus: Person, hana: Person, gil: Person, same_keys: None, name: str, order: tuple[str, ...], directly: bool
    ) -> None:
        """A row of Gus's names one of Gil's and one of Hana's, both number -77: written so, or made so by their disguises."""
        stay = Stay.objects.create(guest=gus.user, text="as friends")
        if not directly:
            Stay.objects.update(host=hana.user, friend=gil.user)
        before = application_dump()
        hidden = []
        for person, column in ((gil, "friend"), (hana, "host")):
            with edna.session(person.user, BY_HAND) as session:
                if directly:
                    Stay.objects.update(**{column: session.new_pseudoprincipal()})
                else:
                    session.decorrelate(stay, column)
            hidden.append(session.receipt)
        stay.refresh_from_db()
        assert (stay.host_id, stay.friend_id) == (-77, -77)
        receipts = {"gil": (gil, hidden[0]), "hana": (hana, hidden[1]), "gus": (gus, gus.disguise(name))}
        for who in order:
            person, receipt = receipts[who]
            # Whose name was hidden in a row that is away finds it when the row is back.
            assert person.reveal(receipt).complete or not directly
        for person, _ in receipts.values():
            person.reveal_everything()
        stay.refresh_from_db()
        if directly:
            assert (stay.host_id, stay.friend_id) == (hana.user.pk, gil.user.pk)
            Stay.objects.update(host=None, friend=None)
        assert application_dump() == before

    @pytest.mark.parametrize("gil_first", [True, False])
    def test_of_somebody_whose_number_a_person_of_another_model_has(
        self, gus: Person, gil: Person, settings: Any, gil_first: bool
    ) -> None:
        """With keys in sequence, a pseudoprincipal of Gil's has the number of a host, who is a person."""
        settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": "sequence"}
        with edna.session(gil.user, BY_HAND) as session:
            gils = session.new_pseudoprincipal()
        same = Host.objects.create(pk=gils.pk)
        with_gil = Stay.objects.create(guest=gus.user, friend=gils, text="with Gil")
        other = Stay.objects.create(guest=gus.user, host=same, text="with somebody else")
        forgotten = gus.disguise("inn.forget-stays")
        work = [lambda: gil.reveal(str(session.receipt)), lambda: gus.reveal(forgotten)]
        for reveal in work if gil_first else reversed(work):
            assert reveal().complete
        with_gil.refresh_from_db()
        other.refresh_from_db()
        assert (with_gil.friend, other.host) == (gil.user, same)

    def test_a_pseudoprincipal_of_ones_own_that_goes_is_not_taken_for_the_one_mentioned(
        self, gus: Person, same_keys: None
    ) -> None:
        """Gus lets go of guest -77 while a sealed row of his names host -77, who stands for somebody else."""
        hera = registered_person(Host.objects.create(pk=9, name="Hera"))
        stay = Stay.objects.create(guest=gus.user, host=hera.user, text="at Hera's")
        letter = Letter.objects.create(guest=gus.user, host=hera.user)
        before = application_dump()
        with edna.session(hera.user, BY_HAND) as session:
            session.decorrelate(stay, "host")
        forgotten = gus.disguise("inn.forget-stays")
        shown = gus.disguise("inn.hide-guests")
        letter.refresh_from_db()
        assert letter.guest_id == -77
        assert gus.reveal(shown).complete
        assert gus.reveal(forgotten).complete
        stay.refresh_from_db()
        assert stay.host_id == -77
        assert hera.reveal(str(session.receipt)).complete
        assert application_dump() == before


# Sessions


class Door(BaseBackend):
    """Lets in whom it is asked about."""

    model: type[Model]

    def get_user(self, user_id: Any) -> Any:
        return self.model._base_manager.filter(pk=user_id).first()


class GuestDoor(Door):
    model = Guest


class HostDoor(Door):
    model = Host


class RegularDoor(Door):
    model = Regular


MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"
DOORS = {Guest: f"{__name__}.GuestDoor", Host: f"{__name__}.HostDoor", User: MODEL_BACKEND}


def request_of(user: Any = None) -> HttpRequest:
    """With a session, in which ``user`` is logged in."""
    request = RequestFactory().get("/")
    request.session = SessionStore()
    if user is not None:
        login(request, user, backend=DOORS[type(user)])
        request.session.save()
    return request


@pytest.fixture
def doors(settings: Any) -> None:
    settings.AUTHENTICATION_BACKENDS = [*DOORS.values(), f"{__name__}.RegularDoor"]


def sessions() -> dict[str, str]:
    """Which backends' sessions there are, by key."""
    return {row.session_key: row.get_decoded()[BACKEND_SESSION_KEY] for row in Session.objects.all()}


@pytest.mark.parametrize("leaving", [Guest, Host, User])
def test_removing_somebody_ends_their_own_sessions(
    leaving: type[Model], doors: None, gus: Person, hana: Person, ulla: Person
) -> None:
    people = {Guest: (gus, "inn.depart"), Host: (hana, "inn.retire"), User: (ulla, "websubmit.delete-account")}
    for person, _ in people.values():
        request_of(person.user)
    person, name = people[leaving]
    person.disguise(name)
    assert sorted(sessions().values()) == sorted(door for model, door in DOORS.items() if model is not leaving)


class TestSessionsFromBeforeEdna:
    """Each session says with its backend of which model its user is."""

    def linked(self, path: Path, *options: str) -> int:
        """How many sessions the command links, of which edna knows nothing yet."""
        execute("DELETE FROM edna_sessionlink")
        options = ("--all", "--json", "--keys-file", str(path / "keys"), *options)
        out = io.StringIO()
        call_command("edna_register", *options, stdout=out, stderr=io.StringIO())
        return int(json.loads(out.getvalue())["sessions_linked"])

    @pytest.mark.once
    def test_are_linked_to_whose_they_are(
        self, doors: None, gus: Person, hana: Person, ulla: Person, tmp_path: Path
    ) -> None:
        for person in (gus, hana, ulla):
            request_of(person.user)
        assert self.linked(tmp_path) == 3
        ulla.disguise("websubmit.delete-account")
        assert sorted(sessions().values()) == sorted([DOORS[Guest], DOORS[Host]])
        gus.disguise("inn.depart")
        assert list(sessions().values()) == [DOORS[Host]]

    @pytest.mark.once
    def test_of_the_chosen_model(self, doors: None, gus: Person, hana: Person, ulla: Person, tmp_path: Path) -> None:
        for person in (gus, hana, ulla):
            request_of(person.user)
        assert self.linked(tmp_path, "--model", "inn.host") == 1
        hana.disguise("inn.retire")
        assert sorted(sessions().values()) == sorted([DOORS[Guest], DOORS[User]])

    @pytest.mark.once
    def test_of_a_backend_that_is_gone_are_nobodys(
        self, doors: None, gus: Person, settings: Any, tmp_path: Path
    ) -> None:
        request_of(gus.user)
        settings.AUTHENTICATION_BACKENDS = [MODEL_BACKEND]
        assert self.linked(tmp_path) == 0


@pytest.mark.once
def test_logging_in_as_somebody_else_of_the_same_number(doors: None, gus: Person, hana: Person) -> None:
    """Django lets them go on with the session, if it has no password to compare; edna knows whose it is now."""
    request = request_of(gus.user)
    login(request, hana.user, backend=DOORS[Host])
    request.session.save()
    assert len(rows_of("edna_sessionlink", ["session_key"])) == len(sessions()) == 1
    gus.disguise("inn.depart")
    assert list(sessions().values()) == [DOORS[Host]]
    hana.disguise("inn.retire")
    assert sessions() == {}


# Whom a request comes from


def seen(user: Any, request: HttpRequest | None = None) -> Any:
    """Whom the pages see, if something has found ``user`` for a request."""
    request = request or RequestFactory().get("/")
    request.user = user
    found: list[Any] = []

    def page(request: HttpRequest) -> HttpResponse:
        found.append(request.user if request.user.is_authenticated else None)
        return HttpResponse()

    EdnaMiddleware(page)(request)
    return found[0]


@pytest.mark.parametrize("keys", ["negative", "random", "sequence"])
@first_everywhere("model", [Guest, Regular, Host])
def test_no_pseudoprincipal_of_any_model_is_the_user_of_a_request(
    rows: None, doors: None, settings: Any, keys: str, model: Any
) -> None:
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": keys}
    natural = set(model.objects.values_list("pk", flat=True))
    for name in ("inn.hide-guests", "inn.hide-hosts"):
        edna.disguise_all(name)
    for person in model.objects.all():
        assert (seen(person) == person) == (person.pk in natural)
        if person.pk not in natural:
            with pytest.raises(PermissionDenied):
                login(request_of(), person, backend=f"{__name__}.GuestDoor")


def test_ordinary_people_cost_no_statement_because_of_another_models_generator(
    settings: Any, hana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pseudoprincipals of guests are not marked as inactive; those of hosts are."""
    from tests.integration.inn import specs

    monkeypatch.setattr(specs.HideGuests, "pseudoprincipal", specs.AnonymousGuest)
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": "random"}
    seen(hana.user)
    assert statements(lambda: seen(hana.user)) == []


@pytest.mark.once
def test_a_disguise_by_hand_may_leave_its_pseudoprincipals_active(settings: Any, hana: Person) -> None:
    class Busy(edna.Pseudoprincipal):
        model = Host
        values = {"name": "busy"}

    edna.on_reveal("inn.busy", pseudoprincipal=Busy)(nothing_to_do)
    try:
        settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": "random"}
        with edna.session(hana.user, "inn.busy") as session:
            made = session.new_pseudoprincipal()
        assert Host.objects.get(pk=made.pk).is_active
        assert seen(Host.objects.get(pk=made.pk)) is None
    finally:
        edna.unregister(nothing_to_do)


@pytest.mark.once
def test_refusing_a_pseudoprincipal_leaves_the_session_of_another_models_user(
    rows: None, doors: None, hana: Person
) -> None:
    """A token names guest -77; the browser is logged in as host -77, who is a person."""
    edna.disguise_all("inn.hide-guests")
    placeholder = Guest.objects.filter(pk__lt=0)[0]
    host = Host.objects.create(pk=placeholder.pk)
    request = request_of(host)
    log_out(placeholder, request)
    assert request.session.get(SESSION_KEY) == str(host.pk)
    assert seen(placeholder, request_of(host)) is None


@pytest.mark.once
def test_a_user_without_a_user_name_needs_an_identifier(gus: Person) -> None:
    """Said in a sentence, not by an AttributeError."""
    request = request_of()
    request.user = gus.user
    with pytest.raises(TypeError, match="identifier"):
        RequestEdna(request).unlock(password=PASSWORD)


# Stories


class Inn:
    """Two guests and two hosts, who come and go; all of their pseudoprincipals are counted alike, from -1 down."""

    GUESTS = ("inn.depart", "inn.forget-stays", "inn.hush", "inn.unfriend", "inn.hide-guests")
    HOSTS = ("inn.retire", "inn.hide-hosts")

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.guests = [registered_person(Guest.objects.create(pk=pk)) for pk in (7, 8)]
        self.hosts = [registered_person(Host.objects.create(pk=pk)) for pk in (8, 7)]
        self.everybody = [*self.guests, *self.hosts]
        for number in range(chance.randint(1, 3)):
            guest, friend, host = (chance.choice(people).user for people in (self.guests, self.guests, self.hosts))
            Stay.objects.create(guest=guest, host=host, friend=chance.choice([None, friend]), text=f"stay {number}")
            Meal.objects.create(cook=host)
            Letter.objects.create(guest=guest, host=host)
        #: Stays from under disguise, and whose names they have in the end.
        self.new: dict[int, tuple[Any, ...]] = {}

    def goes_on(self) -> None:
        what, person = self.chance.random(), self.chance.choice(self.everybody)
        with contextlib.suppress(errors.PrincipalNotRegistered, errors.UnregisteredOwners):  # somebody is away
            if what < 0.1:
                edna.disguise_all(self.chance.choice(("inn.hide-guests", "inn.hide-hosts")))
            elif what < 0.35:
                self.somebody_new()
            elif what < 0.7:
                names = self.GUESTS if person in self.guests else self.HOSTS
                person.disguise(self.chance.choice(names), with_key=self.chance.random() < 0.5)
            elif history := person.history():
                person.reveal(self.chance.choice(history).receipt)

    def somebody_new(self) -> None:
        """A guest writes down a stay with a friend and a host of the same number, if there are such: people or pseudoprincipals."""
        people: dict[Any, Model] = {person.user: person.user for person in self.everybody}
        for person in self.everybody:
            with person.unlock() as unlocked:
                model = type(person.user)
                people |= dict.fromkeys(model._base_manager.in_bulk(edna.speaks_for(unlocked)).values(), person.user)
        guests = [guest for guest in Guest.objects.order_by("pk") if guest in people and guest.pk > 0]
        if guests:
            guest, friend = self.chance.choice(guests), self.chance.choice(Guest.objects.order_by("pk"))
            host = Host.objects.filter(pk=friend.pk).first()
            stay = Stay.objects.create(guest=guest, host=host, friend=friend, text="new")
            self.new[stay.pk] = (guest.pk, people[friend].pk, host and people[host].pk)

    def ends(self) -> None:
        """Everybody takes back everything, in whatever order, until nothing waits for anybody."""
        self.chance.shuffle(self.everybody)
        for _ in range(8):
            for person in self.everybody:
                for entry in person.history():
                    person.reveal(entry.receipt)
        assert [entry for person in self.everybody for entry in person.history()] == []


@first_everywhere("seed", [*range(10), 59], count=4)
def test_a_story_of_guests_and_hosts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the end every row is as it was, and what was written under disguise names those who were meant."""
    counters: dict[type[Model], Iterator[int]] = {}

    def counted(field: Any, number: int, connection: Any) -> list[int]:
        return list(islice(counters.setdefault(field.model, count(-1, -1)), number))

    monkeypatch.setattr(random_keys, "random_keys", counted)
    monkeypatch.setattr(new_rows, "random_keys", counted)
    chance = random.Random(seed)
    story = Inn(chance)
    before, tables = application_dump(), edna_dump()
    for _ in range(chance.randint(6, 14)):
        story.goes_on()
    story.ends()
    new = Stay.objects.filter(pk__in=story.new).values_list("pk", "guest", "friend", "host")
    assert {pk: names for pk, *names in new} == {pk: list(names) for pk, names in story.new.items()}
    Stay.objects.filter(pk__in=story.new).delete()
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.once
def test_who_is_somebody_in_several_models_is_asked_for(tmp_path: Path) -> None:
    """A number alone is nobody's name: the key of one of them would be given to the other."""
    Guest.objects.create(pk=7, name="Gus")
    host = Host.objects.create(pk=7, name="Hana")
    with nothing_changes(), pytest.raises(CommandError, match=r"inn\.Guest, inn\.Host"):
        call_command("edna_register", "7", stdout=io.StringIO())

    call_command("edna_register", "7", model="inn.host", stdout=io.StringIO())

    assert edna.is_registered(host)
    assert not edna.is_registered(Guest.objects.get(pk=7))


@pytest.mark.once
def test_who_is_somebody_in_one_model_is_found_there() -> None:
    host = Host.objects.create(pk=9, name="Hana")
    call_command("edna_register", "9", stdout=io.StringIO())
    assert edna.is_registered(host)
