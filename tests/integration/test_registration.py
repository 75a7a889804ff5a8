"""Registering: a key pair for everybody, ways to get it back, and nothing of it left on the server."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

import edna
from apps.websubmit.models import User
from edna import SecretKey
from edna.errors import PrincipalAlreadyRegistered, PrincipalError, WrongCredentials
from tests.support import DELETE, edna_dump, finds, loot, rows_of, statements

pytestmark = pytest.mark.django_db

PASSWORD = "a long walk home"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("bea@example.org", PASSWORD)


def test_a_generated_key_is_returned_once_with_a_recovery_code(user: User) -> None:
    assert not edna.is_registered(user)
    made = edna.register_principal(user)
    assert edna.is_registered(user)
    assert isinstance(made.secret_key, SecretKey)
    assert made.secret_key.public_key == made.public_key
    assert edna.RecoveryCode.parse(str(made.recovery_code)) == made.recovery_code
    assert "redacted" in repr(made)
    assert made.secret_key.expose().hex() not in repr(made)


def test_those_who_have_no_key_are_found_at_once() -> None:
    """In their order, with the statements that one of them takes."""
    users = [User.objects.create_user(f"user{number}@example.org") for number in range(12)]
    edna.register_principals(users[::3])
    found: list[User] = []
    assert len(statements(lambda: edna.unregistered(users[:1]))) == len(
        statements(lambda: found.extend(edna.unregistered(reversed(users))))
    )
    assert found == [user for user in reversed(users) if not edna.is_registered(user)]
    assert edna.unregistered([]) == []
    with pytest.raises(PrincipalError):
        edna.unregistered([users[0], User(email="unsaved@example.org")])


def test_who_is_unlocked_is_found_as_their_row_is_now(user: User) -> None:
    """Also when what they log in with was changed meanwhile; nobody, while a disguise has removed them."""
    made = edna.register_principal(user, password=PASSWORD)
    User.objects.filter(pk=user.pk).update(email="changed@example.org")
    with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
        found = edna.principal(unlocked)
        assert isinstance(found, User)
        assert (found.pk, found.email) == (user.pk, "changed@example.org")
        receipt = edna.disguise(DELETE, user)
        assert edna.principal(unlocked) is None
        edna.reveal(receipt, unlocked)
        assert edna.principal(unlocked) == user
    with pytest.raises(edna.errors.CapabilityClosed):
        edna.principal(unlocked)
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        assert edna.principal(unlocked) == user


@pytest.mark.parametrize(
    ("identifier", "password"),
    [
        ("bea@example.org", PASSWORD),
        ("  BEA@Example.ORG ", PASSWORD),
        ("\uff42ea@example.org", PASSWORD),
    ],
)
def test_identifier_and_password_open_the_key(user: User, identifier: str, password: str) -> None:
    """However the address is typed; the password to the letter."""
    made = edna.register_principal(user, password=PASSWORD)
    with edna.unlock(identifier=identifier, password=password) as unlocked:
        assert unlocked.public_key == made.public_key
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=identifier, password=password.upper())


def test_an_identifier_of_ones_own_choice(user: User) -> None:
    made = edna.register_principal(user, identifier="student no. 7", password=PASSWORD)
    assert edna.unlock(identifier="Student No. 7", password=PASSWORD).public_key == made.public_key
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)


def test_without_a_password_only_code_and_key_open(user: User) -> None:
    made = edna.register_principal(user)
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)
    assert edna.unlock(recovery_code=made.recovery_code).public_key == made.public_key
    assert edna.unlock(recovery_code=str(made.recovery_code)).public_key == made.public_key
    assert edna.unlock(secret_key=made.secret_key).public_key == made.public_key
    assert len(rows_of("edna_keyslot", ["id"])) == 1


def test_a_key_pair_made_elsewhere(user: User) -> None:
    """A browser or a device made it: the server knows the public half and keeps no way to the other."""
    key = SecretKey.generate()
    made = edna.register_principal(user, public_key=bytes(key.public_key))
    assert (made.public_key, made.secret_key, made.recovery_code) == (key.public_key, None, None)
    receipt = edna.disguise(DELETE, user)
    with edna.unlock(secret_key=key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete


def test_many_at_once() -> None:
    users = User.objects.bulk_create(User(email=f"{number}@example.org") for number in range(30))
    made = edna.register_principals(users)
    assert len({bytes(each.public_key) for each in made}) == 30
    for user, each in list(zip(users, made, strict=True))[:3]:
        receipt = edna.disguise(DELETE, user)
        with edna.unlock(secret_key=each.secret_key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
    assert edna.register_principals([]) == []
    assert rows_of("edna_keyslot", ["id"]) == []


def test_nothing_that_opens_the_key_is_kept(user: User) -> None:
    made = edna.register_principal(user, password=PASSWORD)
    assert made.secret_key is not None
    assert made.recovery_code is not None
    hidden: dict[str, str | bytes | int] = {
        "secret key": made.secret_key.expose(),
        "recovery code": made.recovery_code.expose(),
        "printed": str(made.recovery_code),
        "password": PASSWORD,
    }
    assert finds(loot(), hidden) == []


def test_changing_the_password_shuts_the_old_one_out(user: User) -> None:
    made = edna.register_principal(user, password=PASSWORD)
    with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
        edna.change_password(unlocked, identifier="new@example.org", password="another password")
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)
    assert edna.unlock(identifier="new@example.org", password="another password").public_key == made.public_key
    assert edna.unlock(recovery_code=made.recovery_code).public_key == made.public_key
    assert len(rows_of("edna_keyslot", ["id"])) == 2


def test_a_password_can_be_set_later_and_to_the_same_again(user: User) -> None:
    made = edna.register_principal(user)
    with edna.unlock(recovery_code=made.recovery_code) as unlocked:
        for _ in range(2):
            edna.change_password(unlocked, identifier=user.email, password=PASSWORD)
    assert edna.unlock(identifier=user.email, password=PASSWORD).public_key == made.public_key
    assert len(rows_of("edna_keyslot", ["id"])) == 2


def test_a_password_slot_that_is_somebody_elses_is_not_taken_over(user: User) -> None:
    """The same identifier and password twice: the second person is refused, and the first keeps their way in."""
    first = edna.register_principal(user, password=PASSWORD)
    other = edna.register_principal(User.objects.create(email="other@example.org"))
    before = edna_dump()
    with edna.unlock(secret_key=other.secret_key) as unlocked, pytest.raises(PrincipalAlreadyRegistered):
        edna.change_password(unlocked, identifier=user.email, password=PASSWORD)
    assert edna_dump() == before
    assert edna.unlock(identifier=user.email, password=PASSWORD).public_key == first.public_key


def test_slots_survive_a_rotation_of_the_server_keys(user: User, settings: Any) -> None:
    made = edna.register_principal(user, password=PASSWORD)
    old = settings.EDNA["MAC_KEYS"]
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a key that is newer than the other", *old]}
    assert edna.unlock(identifier=user.email, password=PASSWORD).public_key == made.public_key
    assert edna.unlock(recovery_code=made.recovery_code).public_key == made.public_key
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a key that is newer than the other"]}
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)


def test_a_password_opens_what_was_locked_at_a_former_cost(user: User, settings: Any) -> None:
    """The cost of guessing can be raised: old slots are found as long as their cost is listed."""
    key = edna.register_principal(user, password=PASSWORD).secret_key
    former = (settings.EDNA["ARGON2_OPSLIMIT"], settings.EDNA["ARGON2_MEMLIMIT_BYTES"])
    settings.EDNA = settings.EDNA | {"ARGON2_OPSLIMIT": 2}
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)

    settings.EDNA = settings.EDNA | {"ARGON2_FORMER": [former]}

    with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
        assert unlocked.secret_key == key
        edna.change_password(unlocked, identifier=user.email, password=PASSWORD)
    settings.EDNA = settings.EDNA | {"ARGON2_FORMER": []}
    edna.unlock(identifier=user.email, password=PASSWORD).close()


def test_the_key_outlives_the_account(user: User) -> None:
    """After leaving, the same password and code open it: by them the person is found again."""
    made = edna.register_principal(user, password=PASSWORD)
    receipt = edna.disguise(DELETE, user)
    for ways in ({"identifier": "bea@example.org", "password": PASSWORD}, {"recovery_code": made.recovery_code}):
        with edna.unlock(**ways) as unlocked:  # type: ignore[arg-type]
            assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]


def test_registering_again_after_leaving_is_a_new_beginning(user: User) -> None:
    """Somebody who leaves and signs up anew is another account with another key; the old one waits beside it."""
    old = edna.register_principal(user, password=PASSWORD)
    receipt = edna.disguise(DELETE, user)
    new = User.objects.create_user("bea@example.org", "another password")
    made = edna.register_principal(new, password="another password")
    assert made.public_key != old.public_key
    with edna.unlock(identifier="bea@example.org", password=PASSWORD) as unlocked:
        assert edna.reveal(receipt, unlocked, overrides={"websubmit.user.email": "old-bea@example.org"}).complete
    assert set(User.objects.values_list("email", flat=True)) == {"bea@example.org", "old-bea@example.org"}


@pytest.mark.once
def test_a_capability_shows_nothing_and_cannot_be_kept(user: User) -> None:
    made = edna.register_principal(user)
    unlocked = edna.unlock(secret_key=made.secret_key)
    assert repr(unlocked) == "<Unlocked open>"
    for keep in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError):
            keep(unlocked)
    unlocked.close()
    unlocked.close()
    assert unlocked.closed
    assert repr(unlocked) == "<Unlocked closed>"


@pytest.mark.once
def test_a_capability_is_closed_by_an_error_too(user: User) -> None:
    made = edna.register_principal(user)
    with pytest.raises(RuntimeError), edna.unlock(secret_key=made.secret_key) as unlocked:
        raise RuntimeError
    assert unlocked.closed
