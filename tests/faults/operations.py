"""What is interrupted: one line for each operation, and how to see that nothing is lost, whichever side of it one is on.

An operation starts from a scene. Interrupted, it must leave the scene to the byte, or be done; when it is done, everybody
reveals everything and the tables and files must be what they were before the first disguise.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection

import edna
from apps.websubmit.models import Answer, Question, User
from edna import errors
from edna.testing import Person
from tests import support
from tests.faults.post.models import Citizen, Letter
from tests.faults.states import State
from tests.faults.steps import AFTER_COMMIT, killed_at
from tests.support import ANONYMISE_ALL, DELETE

OLD, NEW = "four zebras on a unicycle", "five zebras on a tandem"

# Scenes


@dataclass
class Scene:
    """People, what there was before anything was disguised, and what the operation is about."""

    people: list[Any]
    origin: State
    receipt: edna.Receipt | None = None
    newcomer: User | None = None
    #: Takes away what keeps records from being revealed.
    repair: Callable[[], object] = lambda: None

    @property
    def actor(self) -> Any:
        return self.people[0]


def lecture() -> Scene:
    """Two students with answers; one question only the first of them has answered."""
    support.make_course(1, questions=3)
    people = [support.enrol("bea@example.org", password=OLD), support.enrol("carl@example.org")]
    support.answer_everything(*people, text="An answer " + "of some length " * 20)
    Answer.objects.filter(author=people[1].user, question__number=1).delete()
    return Scene(people, State.now())


def with_newcomer() -> Scene:
    scene = lecture()
    scene.newcomer = User.objects.create_user("new@example.org")
    scene.origin = State.now()
    return scene


def deleted() -> Scene:
    scene = lecture()
    scene.receipt = scene.actor.disguise(DELETE)
    return scene


def deleted_and_blocked() -> Scene:
    """A question is gone, so that its answer cannot come back."""
    scene = deleted()
    question = Question.objects.filter(number=1).values().get()
    Question.objects.filter(number=1).delete()
    scene.repair = lambda: Question.objects.get_or_create(pk=question["id"], defaults=question)
    return scene


def anonymised() -> Scene:
    scene = lecture()
    edna.disguise_all(ANONYMISE_ALL)
    scene.receipt = scene.actor.history()[0].receipt
    return scene


def anonymised_twice() -> Scene:
    """The first is to be revealed first: what the second holds must then lead to the owner."""
    scene = anonymised()
    edna.disguise_all(ANONYMISE_ALL)
    return scene


def anonymised_and_deleted() -> Scene:
    """The account went with the key, so that the anonymised answers went too; the first is to be revealed first."""
    scene = anonymised()
    scene.actor.disguise(DELETE, with_key=True)
    return scene


def letters() -> Scene:
    """Two citizens and their letters to each other, with an enclosure of several chunks and one that is small."""
    citizens = [Citizen.objects.create(name=name) for name in ("Dora", "Emil")]
    for sender, recipient, size in ((0, 1, 100_000), (1, 0, 100), (0, 0, 0)):
        file = ContentFile(os.urandom(size), name="enclosure.bin") if size else ""
        Letter.objects.create(sender=citizens[sender], recipient=citizens[recipient], text="A letter", enclosure=file)
    people = [Person(citizen, edna.register_principal(citizen).secret_key) for citizen in citizens]
    scene = Scene(people, State.now())
    assert len(scene.origin.files) == 2
    return scene


def veiled() -> Scene:
    scene = letters()
    scene.receipt = scene.actor.disguise("post.veil")
    return scene


def the_other_left() -> Scene:
    scene = letters()
    scene.people[1].disguise("post.leave")
    return scene


def both_left() -> Scene:
    scene = the_other_left()
    scene.receipt = scene.actor.disguise("post.leave")
    return scene


def both_left_and_the_other_is_back() -> Scene:
    scene = both_left()
    scene.people[1].reveal_latest()
    return scene


def files_left_to_delete() -> Scene:
    """Killed between the commit and what is done after it."""
    scene = the_other_left()
    assert killed_at(AFTER_COMMIT, lambda: scene.actor.disguise("post.leave")) == AFTER_COMMIT
    return scene


def files_left_to_write() -> Scene:
    scene = both_left()
    assert killed_at(AFTER_COMMIT, lambda: scene.actor.reveal(scene.receipt)) == AFTER_COMMIT
    return scene


# Ends


def everything_comes_back(scene: Scene) -> None:
    """Original data or bags that open, never neither and never both: everybody reveals everything, and all is as it was."""
    everything_comes_back_but(scene)


def the_new_password_opens(scene: Scene) -> None:
    with pytest.raises(errors.WrongCredentials):
        edna.unlock(identifier=scene.actor.email, password=OLD)
    edna.unlock(identifier=scene.actor.email, password=NEW).close()
    edna.unlock(recovery_code=scene.actor.recovery_code).close()
    everything_comes_back_but(scene, "edna_keyslot")


def the_old_code_opens_nothing(scene: Scene) -> None:
    with pytest.raises(errors.WrongCredentials):
        edna.unlock(recovery_code=scene.actor.recovery_code)
    edna.unlock(identifier=scene.actor.email, password=OLD).close()
    everything_comes_back_but(scene, "edna_keyslot")


def the_newcomer_has_a_key(scene: Scene) -> None:
    with edna.unlock(identifier="new@example.org", password=NEW) as unlocked:
        receipt = edna.disguise(DELETE, scene.newcomer)
        assert edna.reveal(receipt, unlocked).complete
    everything_comes_back_but(scene, "edna_keyslot", "edna_principalentry")


def the_new_key_opens(scene: Scene) -> None:
    """One key opens everything, and it is not the old one; those who did not rotate have theirs."""
    actor = scene.actor
    with pytest.raises(errors.PrincipalNotRegistered):
        actor.unlock()
    if actor.recovery_code:
        with pytest.raises(errors.WrongCredentials):
            edna.unlock(recovery_code=actor.recovery_code)
    with pytest.raises(errors.WrongCredentials):
        edna.unlock(identifier="bea@example.org", password=OLD)
    with edna.unlock(identifier="bea@example.org", password=NEW) as unlocked:
        renewed = Person(actor.user, unlocked.secret_key)
    after = replace(scene, people=[renewed, *scene.people[1:]])
    everything_comes_back_but(after, "edna_keyslot", "edna_principalentry")


def everything_comes_back_but(scene: Scene, *changed: str) -> None:
    scene.repair()
    for _ in range(5):
        for person in scene.people:
            for entry in person.history():
                person.reveal(entry.receipt)
    now = State.now()
    assert (now.application, now.files) == (scene.origin.application, scene.origin.files)
    assert {table for table, rows in now.edna.items() if rows != scene.origin.edna[table]} == set(changed)


# Operations


@dataclass(frozen=True)
class Operation:
    """``run`` gets the scene that ``prepare`` made, and its actor unlocked. ``check`` holds once it is done."""

    name: str
    prepare: Callable[[], Scene]
    run: Callable[[Scene, edna.Unlocked], object]
    check: Callable[[Scene], None] = everything_comes_back
    #: Whether it locks an entry that is there already.
    locks: bool = True
    #: Whether it is done bit by bit, and what an error leaves undone is done by the next call.
    resumable: bool = False
    #: Whether it does much of what there is to do.
    telling: bool = False

    def __str__(self) -> str:
        return self.name


def _disguise(name: str, *, with_key: bool = False) -> Callable[[Scene, edna.Unlocked], object]:
    return lambda scene, unlocked: edna.disguise(name, scene.actor.user, unlocked=unlocked if with_key else None)


def _disguise_all(scene: Scene, unlocked: edna.Unlocked) -> object:
    return edna.disguise_all(ANONYMISE_ALL)


def _reveal(scene: Scene, unlocked: edna.Unlocked) -> object:
    assert scene.receipt is not None
    return edna.reveal(scene.receipt, unlocked)


def _finish_files(scene: Scene, unlocked: edna.Unlocked) -> object:
    return edna.finish_files()


def _register(scene: Scene, unlocked: edna.Unlocked) -> object:
    return edna.register_principal(scene.newcomer, password=NEW)


def _change_password(scene: Scene, unlocked: edna.Unlocked) -> object:
    return edna.change_password(unlocked, identifier=scene.actor.email, password=NEW)


def _new_recovery_code(scene: Scene, unlocked: edna.Unlocked) -> object:
    return edna.new_recovery_code(unlocked)


def _rotate(scene: Scene, unlocked: edna.Unlocked) -> object:
    return edna.rotate(unlocked, identifier="bea@example.org", password=NEW)


def _finish_files(scene: Scene, unlocked: edna.Unlocked) -> object:
    return edna.finish_files()


IN_THE_LECTURE = (
    Operation("register", with_newcomer, _register, the_newcomer_has_a_key, locks=False),
    Operation("change the password", lecture, _change_password, the_new_password_opens),
    Operation("make a new recovery code", lecture, _new_recovery_code, the_old_code_opens_nothing),
    Operation("disguise", lecture, _disguise(DELETE)),
    Operation("disguise what is disguised, with the key", anonymised, _disguise(DELETE, with_key=True), telling=True),
    Operation("disguise everybody", lecture, _disguise_all),
    Operation("disguise everybody again", anonymised, _disguise_all),
    Operation("reveal removed rows", deleted, _reveal),
    Operation("reveal in part", deleted_and_blocked, _reveal, telling=True),
    Operation("reveal decorrelated rows", anonymised, _reveal),
    Operation("reveal the first of two", anonymised_twice, _reveal),
    Operation("reveal what is removed by another", anonymised_and_deleted, _reveal),
    Operation("rotate the keys", anonymised_twice, _rotate, the_new_key_opens),
    Operation("rotate the keys of a removed account", anonymised_and_deleted, _rotate, the_new_key_opens),
)
WITH_LETTERS = (
    Operation("modify", letters, _disguise("post.blur")),
    Operation("decorrelate two owners", letters, _disguise("post.veil")),
    Operation("leave shared rows to the other", letters, _disguise("post.leave")),
    Operation("remove shared rows as the last", the_other_left, _disguise("post.leave"), telling=True),
    Operation("reveal two owners", veiled, _reveal),
    Operation("reveal shared rows as the first", both_left, _reveal, telling=True),
    Operation("reveal shared rows as the last", both_left_and_the_other_is_back, _reveal),
    Operation("rotate the keys to shared rows", both_left, _rotate, the_new_key_opens, telling=True),
    Operation("delete files after a crash", files_left_to_delete, _finish_files, locks=False, resumable=True),
    Operation("write files after a crash", files_left_to_write, _finish_files, locks=False, resumable=True),
)
OPERATIONS = IN_THE_LECTURE + WITH_LETTERS

#: `make test-deep` sets it.
DEEP = bool(os.environ.get("EDNA_DEEP"))
#: Those that do most of what there is to do, for faults that take their time.
TELLING = OPERATIONS if DEEP else tuple(each for each in OPERATIONS if each.telling)
#: All of them where that is quick.
HERE = OPERATIONS if connection.vendor == "sqlite" else TELLING
