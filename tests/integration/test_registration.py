"""Registering: a key pair for everybody, ways to get it back, and nothing of it left on the server."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt

import edna
from apps.websubmit.models import User
from edna import SecretKey, conf, store
from edna.api import Registration
from edna.crypto.keys import derive
from edna.custody import password, recovery
from edna.custody.base import SlotSecret, lookup, part, pepper_key, stored_tag
from edna.errors import PrincipalError, WrongCredentials
from edna.models import KeySlot
from edna.testing.search import finds
from tests.databases import first_everywhere
from tests.support import (
    DELETE,
    edna_dump,
    know_server_keys,
    loot,
    rows_of,
    statements,
    users_at,
    vouch_for_what_is_there,
)

pytestmark = pytest.mark.django_db

PASSWORD = "a long walk home"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("bea@example.org", PASSWORD)


@pytest.mark.once
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


@pytest.mark.once
def test_an_identifier_of_ones_own_choice(user: User) -> None:
    made = edna.register_principal(user, identifier="student no. 7", password=PASSWORD)
    assert edna.unlock(identifier="Student No. 7", password=PASSWORD).public_key == made.public_key
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)


@pytest.mark.once
def test_without_a_password_only_code_and_key_open(user: User) -> None:
    made = edna.register_principal(user)
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)
    assert edna.unlock(recovery_code=made.recovery_code).public_key == made.public_key
    assert edna.unlock(recovery_code=str(made.recovery_code)).public_key == made.public_key
    assert edna.unlock(secret_key=made.secret_key).public_key == made.public_key
    assert len(rows_of("edna_keyslot", ["id"])) == 1


@pytest.mark.once
def test_a_key_pair_made_elsewhere(user: User) -> None:
    """A browser or a device made it: the server knows the public half and keeps no way to the other."""
    key = SecretKey.generate()
    made = edna.register_principal(user, public_key=bytes(key.public_key))
    assert (made.public_key, made.secret_key, made.recovery_code) == (key.public_key, None, None)
    receipt = edna.disguise(DELETE, user)
    with edna.unlock(secret_key=key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete


def test_many_at_once() -> None:
    users = users_at(f"{number}@example.org" for number in range(30))
    made = edna.register_principals(users)
    assert len({bytes(each.public_key) for each in made}) == 30
    for user, each in list(zip(users, made, strict=True))[:3]:
        receipt = edna.disguise(DELETE, user)
        with edna.unlock(secret_key=each.secret_key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
    assert edna.register_principals([]) == []
    assert rows_of("edna_keyslot", ["id"]) == []


@pytest.mark.once
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


@pytest.mark.once
def test_changing_the_password_shuts_the_old_one_out(user: User) -> None:
    made = edna.register_principal(user, password=PASSWORD)
    with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
        edna.change_password(unlocked, identifier="new@example.org", password="another password")
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)
    assert edna.unlock(identifier="new@example.org", password="another password").public_key == made.public_key
    assert edna.unlock(recovery_code=made.recovery_code).public_key == made.public_key
    assert len(rows_of("edna_keyslot", ["id"])) == 2


@pytest.mark.once
def test_a_password_can_be_set_later_and_to_the_same_again(user: User) -> None:
    made = edna.register_principal(user)
    with edna.unlock(recovery_code=made.recovery_code) as unlocked:
        for _ in range(2):
            edna.change_password(unlocked, identifier=user.email, password=PASSWORD)
    assert edna.unlock(identifier=user.email, password=PASSWORD).public_key == made.public_key
    assert len(rows_of("edna_keyslot", ["id"])) == 2


@pytest.mark.once
def test_a_new_recovery_code_shuts_the_old_one_out(user: User) -> None:
    """Only the code changes: password and key stay, and there is no slot more than before."""
    made = edna.register_principal(user, password=PASSWORD)
    with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
        code = edna.new_recovery_code(unlocked)
    with pytest.raises(WrongCredentials):
        edna.unlock(recovery_code=made.recovery_code)
    for ways in ({"recovery_code": str(code)}, {"identifier": user.email, "password": PASSWORD}):
        assert edna.unlock(**ways).public_key == made.public_key
    assert len(rows_of("edna_keyslot", ["id"])) == 2
    assert finds(loot(), {"code": code.expose(), "printed": str(code)}) == []


@pytest.mark.once
def test_a_key_without_slots_gets_a_recovery_code(user: User) -> None:
    made = edna.register_principals([user])[0]
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        code = edna.new_recovery_code(unlocked)
    assert edna.unlock(recovery_code=code).public_key == made.public_key


@pytest.mark.once
def test_by_recovery_code_alone_somebody_who_is_away_gets_a_new_password(user: User) -> None:
    """Without the account and without the old password; under another address, because somebody has theirs."""
    made = edna.register_principal(user, password=PASSWORD)
    receipt = edna.disguise(DELETE, user)
    User.objects.create_user("bea@example.org", "of somebody else")
    with edna.unlock(recovery_code=made.recovery_code) as unlocked:
        edna.reveal(receipt, unlocked, overrides={"websubmit.user.email": "new@example.org"})
        edna.change_password(unlocked, identifier="new@example.org", password="another password")
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier="bea@example.org", password=PASSWORD)
    with edna.unlock(identifier="new@example.org", password="another password") as unlocked:
        back = edna.principal(unlocked)
        assert isinstance(back, User)
        assert (back.pk, back.email) == (user.pk, "new@example.org")


def test_who_takes_somebody_elses_identifier_and_password_takes_no_slot_away(user: User) -> None:
    """Both open, each for their own; nothing tells the second that there is a first."""
    first = edna.register_principal(user, password=PASSWORD)
    other = User.objects.create(email="other@example.org")
    second = edna.register_principal(other)
    with edna.unlock(secret_key=second.secret_key) as unlocked:
        edna.change_password(unlocked, identifier=user.email, password=PASSWORD)
    for who, made in ((user, first), (other, second)):
        assert edna.unlock(identifier=user.email, password=PASSWORD, principal=who).public_key == made.public_key


@pytest.mark.once
@pytest.mark.parametrize("password", [PASSWORD, "another one"])
def test_registering_with_a_freed_address_does_not_tell_whether_the_password_is_the_former_owners(
    user: User, password: str
) -> None:
    first = edna.register_principal(user, password=PASSWORD)
    receipt = edna.disguise(DELETE, user)
    again = User.objects.create_user("bea@example.org", password)
    made: list[Registration] = []
    sent = statements(lambda: made.append(edna.register_principal(again, password=password)))
    other = User.objects.create_user("carl@example.org", password)
    assert len(sent) == len(statements(lambda: edna.register_principal(other, password=password)))

    # Who is away comes back by what they always typed, and who is here opens their own.
    with edna.unlock(identifier="bea@example.org", password=PASSWORD) as unlocked:
        assert unlocked.public_key == first.public_key
        assert [each.receipt for each in edna.history(unlocked)] == [receipt]
    with edna.unlock(identifier="bea@example.org", password=password, principal=again) as unlocked:
        assert unlocked.public_key == made[0].public_key


@pytest.mark.once
def test_of_two_who_are_away_the_receipt_says_which_is_meant(user: User) -> None:
    found = []
    for _ in range(2):
        owner = User.objects.create_user("carl@example.org", PASSWORD)
        made = edna.register_principal(owner, password=PASSWORD)
        found.append((edna.disguise(DELETE, owner), made.public_key))
    for receipt, public_key in found:
        with edna.unlock(identifier="carl@example.org", password=PASSWORD, receipts=[receipt]) as unlocked:
            assert unlocked.public_key == public_key


@pytest.mark.once
def test_a_new_password_replaces_ones_own_slot_alone(user: User) -> None:
    edna.register_principal(user, password=PASSWORD)
    edna.disguise(DELETE, user)
    again = User.objects.create_user("bea@example.org", PASSWORD)
    edna.register_principal(again, password=PASSWORD)
    with edna.unlock(identifier="bea@example.org", password=PASSWORD, principal=again) as unlocked:
        edna.change_password(unlocked, identifier="bea@example.org", password="another one")
    with edna.unlock(identifier="bea@example.org", password=PASSWORD) as unlocked:
        assert len(edna.history(unlocked)) == 1


@pytest.mark.once
def test_slots_survive_a_rotation_of_the_server_keys(user: User, settings: Any) -> None:
    made = edna.register_principal(user, password=PASSWORD)
    old = settings.EDNA["MAC_KEYS"]
    know_server_keys("a key that is newer than the other")
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a key that is newer than the other", *old]}
    assert edna.unlock(identifier=user.email, password=PASSWORD).public_key == made.public_key
    assert edna.unlock(recovery_code=made.recovery_code).public_key == made.public_key


@pytest.mark.once
def test_a_slot_that_is_used_is_made_anew_with_the_first_server_key(user: User, settings: Any) -> None:
    """So an older key of the server is less and less needed for slots."""
    made = edna.register_principal(user, password=PASSWORD)
    old, new = settings.EDNA["MAC_KEYS"], ["a key that is newer than the other"]
    ways = ({"identifier": user.email, "password": PASSWORD}, {"recovery_code": made.recovery_code})
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": [*new, *old]}
    before = edna_dump()
    for way in ways:
        edna.unlock(**way).close()  # type: ignore[arg-type]
    assert edna_dump() == before, "not while the database does not know that key"
    know_server_keys(*new)
    vouch_for_what_is_there()
    for way in ways:
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": new}
        with pytest.raises(WrongCredentials):
            edna.unlock(**way)  # type: ignore[arg-type]
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": [*new, *old]}
        edna.unlock(**way).close()  # type: ignore[arg-type]
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": new}
        edna.unlock(**way).close()  # type: ignore[arg-type]


def slot_of_version_1(secret_key: SecretKey, secret: SlotSecret, *, kind: str) -> tuple[bytes, bytes, bytes]:
    """As earlier releases made it: id, tag, wrapped."""
    key = pepper_key(conf.mac_keys()[0])
    slot_id, wrapping_key = (
        derive(key, purpose=purpose, data=secret.expose()) for purpose in (b"edna.slot.id.1", b"edna.slot.wrap.1")
    )
    nonce = bytes(24)
    box = crypto_aead_xchacha20poly1305_ietf_encrypt(secret_key.expose(), b"\1" + slot_id, nonce, wrapping_key)
    return slot_id, derive(secret_key.expose(), purpose=b"edna.slot.tag.1", data=kind.encode()), b"\1" + nonce + box


def with_the_former_salt(user: User) -> Registration:
    """Registered by an earlier release: a slot of version 1, and the salt of the password follows from the identifier alone."""
    made = edna.register_principal(user)
    assert made.secret_key is not None
    (opslimit, memlimit_bytes), *_ = conf.argon2_costs()
    secret = password.derive(
        PASSWORD, identifier=user.email, opslimit=opslimit, memlimit_bytes=memlimit_bytes, pepper=None
    )
    store.add_slots([slot_of_version_1(made.secret_key, secret, kind=password.KIND)], using="default")
    return made


@pytest.mark.once
@pytest.mark.usefixtures("of_x25519")
def test_a_slot_with_the_salt_of_earlier_releases_opens_and_is_made_anew(user: User, derivations: list[Any]) -> None:
    made = with_the_former_salt(user)
    before = edna_dump()["edna_keyslot"]
    for expected in (2, 1):
        derivations.clear()
        with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
            assert unlocked.secret_key == made.secret_key
        assert len(derivations) == expected
    assert len(edna_dump()["edna_keyslot"]) == len(before) == 2
    assert edna_dump()["edna_keyslot"] != before
    with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
        edna.change_password(unlocked, identifier=user.email, password="another password")
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)


@pytest.mark.once
@pytest.mark.usefixtures("of_x25519")
def test_a_slot_of_version_1_opens_and_is_made_anew(user: User) -> None:
    """Afterwards a browser opens it as well."""
    made = edna.register_principal(user)
    assert made.secret_key is not None
    assert made.recovery_code is not None
    KeySlot.objects.all().delete()
    secret = recovery.derive(made.recovery_code)
    former = slot_of_version_1(made.secret_key, secret, kind=recovery.KIND)
    store.add_slots([former], using="default")
    edna.unlock(recovery_code=made.recovery_code).close()
    (slot,) = KeySlot.objects.all()
    found = part(lookup(secret), pepper=conf.mac_keys()[0])
    assert (slot.slot_id, bytes(slot.wrapped)[0]) == (found.slot_id, 2)
    assert slot.tag != former[1]
    edna.unlock(recovery_code=made.recovery_code).close()


@pytest.mark.once
@pytest.mark.usefixtures("of_x25519")
def test_another_slot_of_version_1_is_tagged_as_today(user: User) -> None:
    """When one is made anew: from then on the other goes when a browser, which cannot show its former tag, sends one of its kind."""
    made = with_the_former_salt(user)
    assert made.secret_key is not None
    code = edna.RecoveryCode.new()
    former = slot_of_version_1(made.secret_key, recovery.derive(code), kind=recovery.KIND)
    store.add_slots([former], using="default")
    edna.unlock(identifier=user.email, password=PASSWORD).close()
    slot = KeySlot.objects.get(slot_id=former[0])
    assert (slot.tag, bytes(slot.wrapped)) == (
        stored_tag(made.public_key, kind=recovery.KIND, pepper=conf.mac_keys()[0]),
        former[2],
    )
    edna.unlock(recovery_code=code).close()
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        edna.new_recovery_code(unlocked)
    assert KeySlot.objects.count() == 2


@pytest.mark.once
def test_such_a_slot_goes_with_a_changed_password_and_a_rotated_key(user: User) -> None:
    made = with_the_former_salt(user)
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        edna.change_password(unlocked, identifier=user.email, password="another password")
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier=user.email, password=PASSWORD)
    edna.unlock(identifier=user.email, password="another password").close()


@pytest.mark.once
@pytest.mark.usefixtures("of_x25519")
def test_such_a_slot_under_an_older_server_key_opens(user: User, settings: Any, derivations: list[Any]) -> None:
    made = with_the_former_salt(user)
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a key that is newer than the other", *settings.EDNA["MAC_KEYS"]]}
    derivations.clear()
    with edna.unlock(identifier=user.email, password=PASSWORD) as unlocked:
        assert unlocked.secret_key == made.secret_key
    assert len(derivations) == 2, "one derivation serves all server keys there"


@first_everywhere("keys", [1, 3])
@pytest.mark.parametrize("known", [True, False])
def test_a_wrong_password_costs_the_same_whoever_is_known(
    user: User, settings: Any, derivations: list[Any], *, keys: int, known: bool
) -> None:
    """One derivation for each server key, and one for slots of earlier releases; and as many questions."""
    if known:
        edna.register_principal(user, password=PASSWORD)
    more = [f"one more server key, number {number}" for number in range(keys - 1)]
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": [*settings.EDNA["MAC_KEYS"], *more]}
    derivations.clear()

    def attempt() -> None:
        with pytest.raises(WrongCredentials):
            edna.unlock(identifier=user.email, password="a wrong one")

    assert len(statements(attempt)) == keys + 1
    assert len(derivations) == keys + 1


@pytest.fixture
def derivations(monkeypatch: Any) -> list[Any]:
    """What Argon2id was asked for."""
    asked = []
    derive = password.derive

    def counted(text: str, **given: Any) -> SlotSecret:
        asked.append(given)
        return derive(text, **given)

    monkeypatch.setattr(password, "derive", counted)
    return asked


@pytest.mark.once
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
    settings.EDNA = settings.EDNA | {"ARGON2_FORMER": []}
    edna.unlock(identifier=user.email, password=PASSWORD).close()


@pytest.mark.once
def test_the_key_outlives_the_account(user: User) -> None:
    """After leaving, the same password and code open it: by them the person is found again."""
    made = edna.register_principal(user, password=PASSWORD)
    receipt = edna.disguise(DELETE, user)
    for ways in ({"identifier": "bea@example.org", "password": PASSWORD}, {"recovery_code": made.recovery_code}):
        with edna.unlock(**ways) as unlocked:  # type: ignore[arg-type]
            assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]


@pytest.mark.once
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
