"""Policies that the monitor does not know: sealed to attributes. What both carriers keep is in `test_seal`."""

from __future__ import annotations

import io
import json
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

import edna
from apps.websubmit.models import User
from edna import conf, errors, policy_seals
from edna.custody.policies.attributes import seal as by_attributes
from edna.custody.policies.attributes.parameters import Parameters
from edna.custody.policies.language import MOST_CONDITIONS, Formula
from edna.custody.policies.process.client import MonitorClient
from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.process.store import Store
from edna.models import Bag
from edna.operations.upkeep import verification
from edna.policies import checks, serving
from edna.testing import application_dump
from tests.policies.parties import EU_RESTORER, NOW, Party, asked, with_library, without_library
from tests.policies.test_bags import Clock, bea, become, gone, party  # noqa: F401  # fixtures
from tests.policies.test_process import Served
from tests.sockets.processes import process
from tests.support import Student, edna_dump

INDEX = bytes(range(32))
POLICY = "region = eu and role = restorer"
US_RESTORER = {**EU_RESTORER, "region": "us"}


# --- the format ---


@pytest.fixture(scope="module")
def those() -> Party:
    """A monitor that was told no policy at all."""
    return Party({}, carrier="attributes")


def sealed(those: Party, text: str = POLICY, content: bytes = b"the bag") -> bytes:
    return by_attributes.seal(content, formula=Formula.parse(text), parameters=those.parameters, index=INDEX)


@with_library
def test_a_policy_that_the_monitor_was_never_told_opens_for_who_satisfies_it(those: Party) -> None:
    right, wrong = those.credentials([EU_RESTORER, US_RESTORER])
    stored = sealed(those, "(region = eu or host = h7) and build in (1.2, 1.3)")
    formula, content = right.open(stored, index=INDEX, now=NOW)
    assert (str(formula), content) == ("(build = 1.2 or build = 1.3) and (host = h7 or region = eu)", b"the bag")
    assert right.clauses == []
    with pytest.raises(errors.PolicyNotSatisfied, match="region = us"):
        wrong.open(stored, index=INDEX, now=NOW)


@with_library
def test_an_epoch_ends_by_the_key_and_not_by_the_holders_good_will() -> None:
    those = Party(carrier="attributes")
    old = those.credential(those.worker(EU_RESTORER))
    those.monitor.begin_epoch()
    stored = sealed(those)
    old.epochs = (1, 2)
    with pytest.raises(errors.PolicyNotSatisfied):
        old.open(stored, index=INDEX, now=NOW)
    assert those.credential(those.worker(EU_RESTORER)).open(stored, index=INDEX, now=NOW)


@with_library
def test_a_stolen_database_does_not_tell_which_policy_it_is(those: Party) -> None:
    """circl's ciphertexts name it; they lie under the veil. What shows are the next powers of two of how long both are."""
    texts = [POLICY, "region = us", "host in (a, b, c)", "a = 1 and b = 2 and c = 3 and d = 4"]
    stored = [sealed(those, text, b"x" * 3000) for text in texts]
    assert len({len(each) for each in stored}) == 1
    assert {each[:14] for each in stored} == {stored[0][:14]}
    for each in stored:
        assert not any(name in each for name in (b"region", b"role", b"restorer", b"host", b"epoch", b"v1.3.8"))


@with_library
def test_parameters_that_were_changed_or_are_another_monitors_are_refused(those: Party) -> None:
    file, monitor = those.monitor.parameters(), those.monitor.public_key
    assert Parameters.parse(file, monitor=monitor).epoch == those.monitor.epochs.present
    said = json.loads(json.loads(file)["said"])
    other = Party(carrier="attributes")
    for changed in (
        file.replace(said["veil"][:8], "AAAAAAAA"),
        file.replace(said["parameters"][:8], "AAAAAAAA"),
        those.monitor.clauses(),
        other.monitor.parameters(),
        file[:-9],
        "[]",
        "",
    ):
        with pytest.raises(errors.AttributeParametersForged):
            Parameters.parse(changed, monitor=monitor)
    assert "veil" not in repr(those.parameters).replace("<Veil redacted>", "").replace("veil=", "")


@with_library
def test_a_clone_gives_keys_for_what_was_sealed_by_the_first(those: Party) -> None:
    stored, store = sealed(those), Store(":memory:")
    those.store.put_policies({"monitor": "role = monitor"})
    prover = those.worker({"role": "monitor"})
    session = those.session()
    session.become_clone(those.monitor.clone(*asked(session.request(prover))), store)
    first, those.monitor = those.monitor, Monitor(store, clock=those.clock)
    try:
        assert those.monitor.has_attributes
        those.store = store
        assert those.credential(those.worker(EU_RESTORER)).open(stored, index=INDEX, now=NOW)[1] == b"the bag"
        assert b64decode(json.loads(json.loads(first.parameters())["said"])["veil"]) == those.parameters.veil.expose()
    finally:
        first.close()


def test_a_monitor_without_their_master_key_gives_none_and_signs_nothing() -> None:
    those = Party()
    credential = those.credential(those.worker(EU_RESTORER))
    assert not credential.opens_by_attributes
    with pytest.raises(errors.ConfigurationError, match="edna_monitor attributes makes one"):
        those.monitor.parameters()


def test_too_long_a_policy_is_refused_where_it_is_read() -> None:
    values = ", ".join(map(str, range(MOST_CONDITIONS)))
    long = ", ".join(f"{number:020d}" for number in range(50))
    assert len(list(Formula.parse(f"a in ({values})").conditions())) == MOST_CONDITIONS
    for text in (f"a in ({values}, x)", f"{'a' * 64} in ({long})"):
        with pytest.raises(errors.PolicyMalformed, match="at most 64 of them"):
            Formula.parse(text)
    # Written out it has 4,096 clauses.
    Formula.parse(" and ".join(f"a{number} in (1, 2)" for number in range(12)))


def test_what_means_the_same_in_another_order_is_spelled_the_same() -> None:
    one = Formula.parse("(b = 2 or (a = 1 or b = 2)) and c = 3 and (c = 3)")
    assert str(one) == "(a = 1 or b = 2) and c = 3"
    assert Formula.of_spelling(str(one)) == one
    for text in ("c = 3 and (a = 1 or b = 2)", "a=1", "(a = 1)", "a = 1 or a = 1"):
        with pytest.raises(errors.PolicyMalformed):
            Formula.of_spelling(text)


# --- a site ---


@pytest.fixture
def site(party: Served, settings: Any, tmp_path: Path) -> Served:  # noqa: F811
    """Whose policy "restore" is by attributes; the monitor does not know it."""
    party.store.put_policies({})
    party.monitor.create_attributes()
    parameters = tmp_path / "attributes.json"
    parameters.write_text(party.monitor.parameters())
    monitor = {**settings.EDNA["MONITOR"], "ATTRIBUTES": parameters}
    policies = {"restore": {"policy": POLICY, "carrier": "attributes"}}
    settings.EDNA = {**settings.EDNA, "POLICIES": policies, "MONITOR": monitor}
    return party


@with_library
@pytest.mark.django_db
def test_only_a_worker_that_satisfies_it_reveals_and_a_new_key_keeps_it(
    site: Served,
    bea: Student,  # noqa: F811
    become: Callable[[Mapping[str, str]], None],  # noqa: F811
) -> None:
    before = application_dump()
    receipt = gone(bea)
    assert {bytes(bag.sealed)[:2] for bag in Bag.objects.all()} == {b"\x81\x02"}
    assert "bag_container" not in str(verification.verify())
    hidden = application_dump(), edna_dump()
    become(US_RESTORER)
    with bea.unlock() as unlocked:
        with pytest.raises(errors.PolicyNotSatisfied, match="region = us"):
            edna.reveal(receipt, unlocked)
        with pytest.raises(errors.PolicyError):
            edna.rotate(unlocked)
    stands = policy_seals.standing()
    assert stands is not None
    assert stands.lacks == ("restore",)
    assert (application_dump(), edna_dump()) == hidden
    become(EU_RESTORER)
    with bea.unlock() as unlocked:
        registration = edna.rotate(unlocked)
    assert {bytes(bag.sealed)[:2] for bag in Bag.objects.all()} == {b"\x81\x02"}
    stands = policy_seals.standing()
    assert stands is not None
    assert stands.lacks == ()
    with edna.unlock(secret_key=registration.secret_key) as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before


@pytest.mark.once
@with_library
@pytest.mark.django_db
def test_without_the_library_nothing_is_sealed_and_nothing_is_lost(
    site: Served,
    bea: Student,  # noqa: F811
    become: Callable[[Mapping[str, str]], None],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = application_dump(), edna_dump()
    become(EU_RESTORER)
    # The monitor is in this process, too, and has the library.
    edna.policies.attest()
    with monkeypatch.context() as patch:
        without_library(patch)
        with pytest.raises(errors.ConfigurationError, match="edna_monitor library"):
            gone(bea)
        assert (application_dump(), edna_dump()) == before
        [problem] = checks.check_policies()
        assert (problem.id, "edna_monitor library" in problem.msg) == ("edna.E066", True)
    receipt = gone(bea)
    hidden = application_dump(), edna_dump()
    with monkeypatch.context() as patch:
        without_library(patch)
        with bea.unlock() as unlocked, pytest.raises(errors.PolicyNotSatisfied, match="edna_monitor library"):
            edna.reveal(receipt, unlocked)
    assert (application_dump(), edna_dump()) == hidden
    with bea.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before[0]


@pytest.mark.once
@with_library
@pytest.mark.django_db
def test_parameters_of_a_closed_epoch_seal_nothing(
    site: Served,
    bea: Student,  # noqa: F811
    become: Callable[[Mapping[str, str]], None],  # noqa: F811
    settings: Any,
) -> None:
    site.monitor.begin_epoch(keep=[])
    become(EU_RESTORER)
    edna.policies.attest()
    before = application_dump(), edna_dump()
    with pytest.raises(errors.AttributeParametersForged, match="has closed since"):
        gone(bea)
    assert (application_dump(), edna_dump()) == before
    settings.EDNA["MONITOR"]["ATTRIBUTES"].write_text(site.monitor.parameters() + " ")
    gone(bea)


@with_library
@pytest.mark.django_db
@pytest.mark.once
def test_checks_and_the_page_know_it(
    site: Served,
    become: Callable[[Mapping[str, str]], None],  # noqa: F811
    settings: Any,
    client: Client,
) -> None:
    assert checks.check_policies() == []
    become(EU_RESTORER)
    client.force_login(User.objects.create_user("olga@example.org", is_admin=True))
    page = client.get(reverse("admin:edna_policies_policyoverview_changelist")).content.decode()
    assert "by attributes" in page
    assert "satisfies all" in page
    assert POLICY in page
    given = settings.EDNA["MONITOR"]["ATTRIBUTES"]
    given.write_text("{}")
    [problem] = checks.check_policies()
    assert "this monitor has signed" in problem.msg
    settings.EDNA = {
        **settings.EDNA,
        "MONITOR": {name: each for name, each in settings.EDNA["MONITOR"].items() if name != "ATTRIBUTES"},
    }
    [problem] = checks.check_policies()
    assert "names no ATTRIBUTES" in problem.msg


@pytest.mark.once
@with_library
@pytest.mark.django_db
def test_the_commands_make_what_it_takes(site: Served, settings: Any, tmp_path: Path) -> None:
    folder, file = tmp_path / "monitor", tmp_path / "parameters.json"

    def told(*arguments: Any) -> dict[str, Any]:
        out = io.StringIO()
        call_command("edna_monitor", "--json", *map(str, arguments), stdout=out)
        return dict(json.loads(out.getvalue()))

    told("init", "--folder", folder)
    # It is not told those that it need not know.
    assert told("policies", "--folder", folder) == {}
    assert told("status", "--folder", folder)["by_attributes"] is False
    assert told("attributes", "--folder", folder, "--output", file) == {"epoch": 1}
    assert told("status", "--folder", folder)["by_attributes"] is True
    assert file.stat().st_mode & 0o077 == 0o040
    monitor = serving.monitor_in(folder)
    first = Parameters.parse(file.read_text(), monitor=monitor.public_key)
    told("epoch", "--folder", folder)
    assert told("attributes", "--folder", folder, "--output", file) == {"epoch": 2}
    second = Parameters.parse(file.read_text(), monitor=monitor.public_key)
    assert (second.former, second.public, second.veil) == ((1,), first.public, first.veil)
    monitor.close()


@with_library
def test_a_monitor_that_is_served_gives_such_keys_and_ends_as_it_is_asked(tmp_path: Path) -> None:
    """Go in the same process does not take its signals."""
    store = serving.store_in(tmp_path / "monitor", new=True)
    those = Party({}, clock=Clock(), store=store, carrier="attributes")  # type: ignore[arg-type]
    prover, stored = those.worker(EU_RESTORER), sealed(those)
    with process("edna_monitor", "serve", "--folder", tmp_path / "monitor", "--listen", "127.0.0.1:0") as port:
        client = MonitorClient(f"http://127.0.0.1:{port}", monitor=those.monitor.public_key)
        for _ in range(2):
            held = client.credential(prover, clauses=those.clauses)
            assert held.open(stored, index=INDEX, now=time.time())[1] == b"the bag"


@pytest.mark.parametrize(
    "policies",
    [
        {"a": {"policy": "a = 1"}},
        {"a": {"policy": "a = 1", "carrier": "rabe"}},
        {"a": {"policy": 1, "carrier": "clauses"}},
        {"a": {"policy": "a = 1", "carrier": "clauses", "more": ""}},
        {1: "a = 1"},
        {"a": None},
        ["a = 1"],
    ],
)
def test_a_setting_that_is_none_is_refused(settings: Any, policies: Any) -> None:
    settings.EDNA = {**settings.EDNA, "POLICIES": policies}
    for read in (conf.policies, conf.policies_by_attributes):
        with pytest.raises(errors.ConfigurationError, match="POLICIES"):
            read()


def test_both_ways_of_writing_a_policy_may_stand_together(settings: Any) -> None:
    policies = {
        "a": "a = 1",
        "b": {"policy": "b = 1", "carrier": "attributes"},
        "c": {"policy": "c = 1", "carrier": "clauses"},
    }
    settings.EDNA = {**settings.EDNA, "POLICIES": policies}
    assert conf.policies() == {"a": "a = 1", "b": "b = 1", "c": "c = 1"}
    assert conf.policies_by_attributes() == {"b"}
