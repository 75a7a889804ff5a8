"""The outer seal, and who opens it: each refusal has its own error."""

from __future__ import annotations

import copy
import json
import pickle
import secrets
from dataclasses import replace

import nacl.signing
import pytest

from edna.custody.policies import seal
from edna.custody.policies.clauses import ClauseList, MasterKey
from edna.custody.policies.credentials import Credential
from edna.custody.policies.language import Formula, Policy
from edna.custody.policies.signing import signed_text, to_base64
from edna.errors import (
    ClauseKeyForged,
    ClauseKeyMissing,
    ClauseListForged,
    CredentialExpired,
    EpochExpired,
    PolicyNotSatisfied,
    PolicySealForged,
    SecretKeyLeak,
)
from tests.policies.parties import CARRIERS, EU_RESTORER, NOW, Party

INDEX = bytes(range(32))
TEN = {f"a{number}": "yes" for number in range(10)}
TEN_POLICY = " and ".join(f"{name} = yes" for name in TEN)


POLICIES = {"restore": "region = eu and role = restorer and build in (1.2, 1.3)", "ten": TEN_POLICY}


@pytest.fixture(scope="module", params=CARRIERS)
def either(request: pytest.FixtureRequest) -> Party:
    """One for each carrier."""
    return Party(POLICIES, carrier=request.param)


@pytest.fixture(scope="module")
def party() -> Party:
    return Party(POLICIES)


def sealed(party: Party, name: str = "restore", content: bytes = b"the bag", index: bytes = INDEX) -> bytes:
    return party.sealed(name, content, index=index)


def test_who_satisfies_the_policy_opens_and_gets_what_was_sealed(either: Party) -> None:
    party = either
    [credential] = party.credentials([EU_RESTORER])
    policy, content = credential.open(sealed(party), index=INDEX, now=NOW)
    spelled = {"clauses": Policy.parse, "attributes": Formula.parse}[party.carrier](POLICIES["restore"])
    assert (policy, content) == (spelled, b"the bag")
    assert [str(clause) for clause in credential.clauses] == ["build=1.2&region=eu&role=restorer"]


@pytest.mark.parametrize("wrong", sorted(TEN))
def test_one_attribute_of_ten_is_wrong(either: Party, wrong: str) -> None:
    party, stored = either, sealed(either, "ten")
    [right] = party.credentials([TEN])
    assert right.open(stored, index=INDEX, now=NOW)[1] == b"the bag"
    # They satisfy another policy, so that they have a credential at all.
    [other] = party.credentials([{**TEN, **EU_RESTORER, wrong: "no"}])
    with pytest.raises(PolicyNotSatisfied):
        other.open(stored, index=INDEX, now=NOW)


def test_two_workers_have_no_more_together_than_each(either: Party) -> None:
    names = sorted(TEN)
    halves = [{**EU_RESTORER, **dict.fromkeys(half, "yes")} for half in (names[:5], names[5:])]
    together = list(either.credentials(halves))
    keys = {}
    for each in together:
        keys.update(each._Credential__keys)
    stored = sealed(either, "ten")
    for each in together:
        has = each._Credential__attribute_key
        union = Credential(keys, attributes=TEN.items(), epochs=each.epochs, expires_at=NOW + 10, attribute_key=has)
        with pytest.raises(PolicyNotSatisfied):
            union.open(stored, index=INDEX, now=NOW)


def test_a_credential_ends(either: Party) -> None:
    [credential] = either.credentials([EU_RESTORER])
    stored = sealed(either)
    assert credential.open(stored, index=INDEX, now=credential.expires_at - 1)
    with pytest.raises(CredentialExpired):
        credential.open(stored, index=INDEX, now=credential.expires_at)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_an_epoch_ends(carrier: str) -> None:
    party = Party(carrier=carrier)
    first = sealed(party)
    old = party.credential(party.worker(EU_RESTORER))
    party.monitor.begin_epoch()
    second = sealed(party)
    with pytest.raises(EpochExpired):
        old.open(second, index=INDEX, now=NOW)
    present = party.credential(party.worker(EU_RESTORER))
    assert present.open(first, index=INDEX, now=NOW)[1] == present.open(second, index=INDEX, now=NOW)[1] == b"the bag"
    party.monitor.begin_epoch(keep=[])
    last = party.credential(party.worker(EU_RESTORER))
    for stored in (first, second):
        with pytest.raises(EpochExpired):
            last.open(stored, index=INDEX, now=NOW)
    # Nor does it have their keys.
    assert {epoch for epoch, _ in last._Credential__keys} == {3}


def test_any_byte_that_was_changed_is_refused(either: Party) -> None:
    stored = sealed(either)
    [credential] = either.credentials([EU_RESTORER])
    errors = set()
    for place in range(len(stored)):
        changed = bytearray(stored)
        changed[place] ^= 1
        with pytest.raises((PolicySealForged, PolicyNotSatisfied, EpochExpired)) as caught:
            credential.open(bytes(changed), index=INDEX, now=NOW)
        errors.add(caught.type)
    # Of clauses, a stanza that was changed looks like one for others.
    unsure = {PolicyNotSatisfied} if either.carrier == "clauses" else set()
    assert errors == {PolicySealForged, EpochExpired} | unsure


@pytest.mark.parametrize("change", ["cut", "longer", "empty"])
def test_another_length_is_refused(either: Party, change: str) -> None:
    stored = sealed(either)
    [credential] = either.credentials([EU_RESTORER])
    changed = {"cut": stored[:-1], "longer": stored + b"\0", "empty": stored[:1]}[change]
    with pytest.raises(PolicySealForged):
        credential.open(changed, index=INDEX, now=NOW)


def test_it_is_bound_to_its_place(either: Party) -> None:
    [credential] = either.credentials([EU_RESTORER])
    with pytest.raises(PolicySealForged):
        credential.open(sealed(either), index=INDEX[::-1], now=NOW)


def test_it_does_not_tell_which_policy_it_is(party: Party) -> None:
    """One clause and two look alike, however long they are written; no byte is the same in all seals of one policy and different in
    another's."""
    assert len({len(sealed(party, name, b"x" * 2000)) for name in ("restore", "ten")}) == 1
    one, other = ([sealed(party, name)[:200] for _ in range(20)] for name in ("restore", "ten"))
    for place in range(11, 200):
        assert len({each[place] for each in one}) > 1 or one[0][place] == other[0][place]


def test_a_list_of_clauses_that_was_changed_is_refused(party: Party) -> None:
    file = party.monitor.clauses()
    ClauseList.parse(file, monitor=party.monitor.public_key)
    for changed in (file.replace("eu", "us"), file.replace("1.2", "1.4"), file[:-20], "", "[]", "{}"):
        with pytest.raises(ClauseListForged):
            ClauseList.parse(changed, monitor=party.monitor.public_key)
    with pytest.raises(ClauseListForged):
        ClauseList.parse(file, monitor=bytes(nacl.signing.SigningKey.generate().verify_key))


def test_a_key_of_a_clause_that_the_monitor_did_not_sign_is_refused(party: Party) -> None:
    """Even if the list as a whole is signed: as a tool does that signs what it is given."""
    monitor = party.monitor
    said = json.loads(json.loads(monitor.clauses())["said"])
    said["clauses"][0]["key"] = to_base64(bytes(MasterSwapped.public_key))
    file = signed_text(said, purpose=b"edna policies clauses 1\n", key=monitor._key)
    with pytest.raises(ClauseKeyForged):
        ClauseList.parse(file, monitor=monitor.public_key)
    # Nor for another epoch, nor for another clause.
    said = json.loads(json.loads(monitor.clauses())["said"])
    said["epoch"] += 1
    with pytest.raises(ClauseKeyForged):
        ClauseList.parse(
            signed_text(said, purpose=b"edna policies clauses 1\n", key=monitor._key), monitor=monitor.public_key
        )


class MasterSwapped:
    from edna.crypto.keys import SecretKey

    public_key = SecretKey(secrets.token_bytes(32)).public_key


def test_a_policy_that_the_monitor_was_not_told_seals_nothing(party: Party) -> None:
    with pytest.raises(ClauseKeyMissing):
        seal.seal(b"", policy=Policy.parse("region = us"), clauses=party.clauses, index=INDEX)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_another_monitors_keys_are_others(carrier: str) -> None:
    one, other = Party(carrier=carrier), Party(carrier=carrier)
    assert set(one.clauses.keys.values()).isdisjoint(other.clauses.keys.values())
    # By attributes, another monitor's veil does not even show that it is somebody else's.
    with pytest.raises(PolicyNotSatisfied if carrier == "clauses" else PolicySealForged):
        other.credentials([EU_RESTORER])[0].open(sealed(one), index=INDEX, now=NOW)


def test_a_credential_stays_in_memory(either: Party) -> None:
    [credential] = either.credentials([EU_RESTORER])
    assert "redacted" in repr(credential)
    for way in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
        with pytest.raises(TypeError):
            way(credential)
    with pytest.raises(SecretKeyLeak):
        pickle.dumps(MasterKey(bytes(32)))


def test_a_megabyte_comes_back(either: Party) -> None:
    content = secrets.token_bytes(2**20)
    [credential] = either.credentials([EU_RESTORER])
    assert credential.open(sealed(either, content=content), index=INDEX, now=NOW)[1] == content


def test_a_list_with_fewer_clauses_seals_less(party: Party) -> None:
    less = replace(party.clauses, keys={})
    with pytest.raises(ClauseKeyMissing):
        seal.seal(b"", policy=party.monitor.policies["ten"], clauses=less, index=INDEX)
