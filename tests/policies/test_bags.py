"""Bags of a disguise that names a policy: sealed by anybody, opened by a process with a credential alone, and never lost."""

from __future__ import annotations

import contextlib
import html
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import translation

import edna
from apps.websubmit.disguises import AnonymizeAll, DeleteAccount
from edna import errors, policy_seals
from edna.custody.policies import seal
from edna.custody.policies.signing import to_base64
from edna.models import Bag
from edna.operations.upkeep import health, verification
from edna.pages import words
from edna.policies import files, worker
from edna.testing import application_dump
from tests.policies.parties import EU_RESTORER
from tests.policies.test_process import Served
from tests.support import PASSWORD, Student, edna_dump, enrol_in_course

pytestmark = pytest.mark.django_db

US_RESTORER = {**EU_RESTORER, "region": "us"}


class Clock:
    def __call__(self) -> float:
        return time.time()


@pytest.fixture
def party(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A monitor, and a site whose disguises name its policy; the process is nobody yet."""
    policies = {"restore": "region = eu and role = restorer", "elsewhere": "region = us"}
    party = Served(policies, clock=Clock())  # type: ignore[arg-type]
    party.start()
    clauses = tmp_path / "clauses.json"
    clauses.write_text(party.monitor.clauses())
    monitor = {
        "ADDRESS": party.address,
        "PUBLIC_KEY": to_base64(party.monitor.public_key),
        "CLAUSES": clauses,
        "MANIFEST": tmp_path / "manifest",
        "WORKER_KEY": tmp_path / "worker.key",
    }
    settings.EDNA = {**settings.EDNA, "POLICIES": policies, "MONITOR": monitor}
    monkeypatch.setattr(DeleteAccount, "policy", "restore")
    monkeypatch.setattr(worker, "PAUSE_SECONDS", 0.0)
    worker.worker.forget()
    yield party
    worker.worker.forget()
    party.stop()


@pytest.fixture
def become(party: Served, settings: Any) -> Callable[[Mapping[str, str]], None]:
    """This process is another worker now, one that has just started."""

    def become(attributes: Mapping[str, str]) -> None:
        prover, said = party.worker(attributes), settings.EDNA["MONITOR"]
        said["MANIFEST"].write_text(prover.file)
        said["WORKER_KEY"].unlink(missing_ok=True)
        files.write_key(said["WORKER_KEY"], prover.key)
        worker.worker.forget()

    return become


@pytest.fixture
def bea(party: Served) -> Student:
    return enrol_in_course("bea@example.org", password=PASSWORD)


def gone(bea: Student) -> edna.Receipt:
    return edna.disguise(DeleteAccount.name, bea.user)


def test_only_a_worker_that_satisfies_the_policy_reveals(
    bea: Student, become: Callable[[Mapping[str, str]], None]
) -> None:
    before = application_dump()
    receipt = gone(bea)
    assert all(seal.is_policy_sealed(bytes(bag.sealed)) for bag in Bag.objects.all())
    assert Bag.objects.exists()
    hidden = application_dump(), edna_dump()
    become(US_RESTORER)
    with bea.unlock() as unlocked, pytest.raises(errors.PolicyNotSatisfied, match="region = us"):
        edna.reveal(receipt, unlocked)
    assert (application_dump(), edna_dump()) == hidden
    become(EU_RESTORER)
    with bea.unlock() as unlocked:
        assert not edna.reveal(receipt, unlocked).held
    assert application_dump() == before
    assert not Bag.objects.exists()


@pytest.mark.once
def test_the_history_says_how_much_needs_another_role(
    bea: Student, become: Callable[[Mapping[str, str]], None]
) -> None:
    """And the page does: neither is it said to be damaged, nor that there is nothing."""
    gone(bea)
    become(US_RESTORER)
    with bea.unlock() as unlocked:
        assert edna.history(unlocked) == []
        assert [type(error) for error in unlocked.barred] == [errors.PolicyNotSatisfied]
        assert unlocked.barred == unlocked.damaged
    asked = {"identifier": "bea@example.org", "password": PASSWORD}
    page = Client().post(reverse("websubmit-privacy:hidden"), asked).content.decode()
    assert "1 more is kept so that only another part of this site can open it." in page
    assert "Nothing of yours is hidden" not in page
    assert "does not pass its check" not in page
    become(EU_RESTORER)
    with bea.unlock() as unlocked:
        assert [entry.name for entry in edna.history(unlocked)] == [DeleteAccount.name]
        assert unlocked.barred == []


@pytest.mark.once
@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_whoever_comes_back_is_told_what_has_happened_and_what_to_do(
    bea: Student, become: Callable[[Mapping[str, str]], None], party: Served, language: str
) -> None:
    """In their language: that nothing is wrong with their key, and nothing lost. Not that it is damaged, and no bare name of an error."""
    said = {
        "en": ("may not open the second lock", "cannot be reached right now", "nothing is lost"),
        "de": ("darf das zweite Schloss nicht öffnen", "ist gerade nicht zu erreichen", "nichts ist verloren"),
        "fr": ("pas le droit d’ouvrir la seconde serrure", "est injoignable pour le moment", "rien n’est perdu"),
    }[language]
    receipt = gone(bea)
    asked = {"identifier": "bea@example.org", "password": PASSWORD, "receipt": str(receipt)}

    def told() -> list[bool]:
        with translation.override(language):
            answer = Client().post(reverse("websubmit-privacy:bring-back"), asked)
        return [each in html.unescape(answer.content.decode()) for each in said]

    become(US_RESTORER)
    assert told() == [True, False, True]
    become(EU_RESTORER)
    party.server.shutdown()
    party.server.server_close()
    assert told() == [False, True, True]


@pytest.mark.once
def test_sealing_asks_nobody_and_a_credential_outlives_the_monitor(
    bea: Student, party: Served, become: Callable[[Mapping[str, str]], None], settings: Any
) -> None:
    before = application_dump()
    become(EU_RESTORER)
    edna.policies.attest()
    held = worker.worker._credential
    party.server.shutdown()
    party.server.server_close()
    receipt = gone(bea)
    hidden = edna_dump()
    worker.worker.forget()
    with bea.unlock() as unlocked, pytest.raises(errors.MonitorUnavailable):
        edna.reveal(receipt, unlocked)
    assert edna_dump() == hidden
    worker.worker._credential = held
    with bea.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before


@pytest.mark.once
def test_a_credential_that_ends_while_the_monitor_is_down_opens_nothing_and_nothing_is_lost(
    bea: Student, party: Served, become: Callable[[Mapping[str, str]], None], settings: Any
) -> None:
    before = application_dump()
    become(EU_RESTORER)
    edna.policies.attest()
    receipt, held = gone(bea), worker.worker._credential
    assert held is not None
    party.server.shutdown()
    party.server.server_close()
    hidden = application_dump(), edna_dump()
    held.expires_at = int(time.time())
    with bea.unlock() as unlocked, pytest.raises(errors.MonitorUnavailable):
        edna.reveal(receipt, unlocked)
    assert (application_dump(), edna_dump()) == hidden
    party.start()
    settings.EDNA["MONITOR"]["ADDRESS"] = party.address
    with bea.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before


@pytest.mark.once
def test_a_process_without_the_application_says_so(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    receipt = gone(bea)
    hidden = edna_dump()
    monkeypatch.setattr(policy_seals, "_connected", [])
    with bea.unlock() as unlocked, pytest.raises(errors.PolicyNotSatisfied, match="no way to attest"):
        edna.reveal(receipt, unlocked)
    with pytest.raises(errors.ConfigurationError, match="is not installed"):
        edna.disguise(DeleteAccount.name, enrol_in_course("carl@example.org").user)
    assert [bag for bag in edna_dump() if bag not in hidden] == []


@pytest.mark.once
def test_what_another_disguise_has_sealed_opens_without_a_credential(bea: Student) -> None:
    before = application_dump()
    receipt = edna.disguise(AnonymizeAll.name, bea.user)
    with bea.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before


def test_a_new_key_keeps_the_policy_and_takes_a_worker_that_satisfies_it(
    bea: Student, become: Callable[[Mapping[str, str]], None]
) -> None:
    before = application_dump()
    receipt = gone(bea)
    hidden = edna_dump()
    for given_up in (False, True):
        become(US_RESTORER)
        with bea.unlock() as unlocked, pytest.raises(errors.PolicyError):
            edna.rotate(unlocked, leave_damaged=given_up)
        assert edna_dump() == hidden
    become(EU_RESTORER)
    with bea.unlock() as unlocked:
        registration = edna.rotate(unlocked)
    assert all(seal.is_policy_sealed(bytes(bag.sealed)) for bag in Bag.objects.all())
    with edna.unlock(secret_key=registration.secret_key) as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before


@pytest.mark.once
def test_a_bag_that_was_moved_is_refused(bea: Student, become: Callable[[Mapping[str, str]], None]) -> None:
    receipt = gone(bea)
    other = enrol_in_course("carl@example.org", password=PASSWORD)
    gone(other)
    become(EU_RESTORER)
    mine, theirs = sorted(Bag.objects.all(), key=lambda bag: bytes(bag.index))[:2]
    mine.sealed, theirs.sealed = theirs.sealed, mine.sealed
    mine.save()
    theirs.save()
    with bea.unlock() as unlocked, pytest.raises(errors.BagError) as caught:
        edna.reveal(receipt, unlocked)
    assert caught.type in (errors.PolicySealForged, errors.BagMisplaced)


@pytest.mark.once
def test_a_new_epoch_is_noticed(
    bea: Student, party: Served, become: Callable[[Mapping[str, str]], None], settings: Any
) -> None:
    before = application_dump()
    become(EU_RESTORER)
    edna.policies.attest()
    party.monitor.begin_epoch()
    settings.EDNA["MONITOR"]["CLAUSES"].write_text(party.monitor.clauses() + " ")
    receipt = gone(bea)
    with bea.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    assert application_dump() == before


def test_verification_and_health_know_policy_seals(bea: Student, become: Callable[[Mapping[str, str]], None]) -> None:
    receipt = gone(bea)
    assert "bag_container" not in str(verification.verify())
    bag = Bag.objects.first()
    assert bag is not None
    whole, bag.sealed = bytes(bag.sealed), bytes(bag.sealed)[:-1]
    bag.save()
    assert "bag_container" in str(verification.verify())
    bag.sealed = whole
    bag.save()
    become(US_RESTORER)
    with bea.unlock() as unlocked, pytest.raises(errors.BagError):
        edna.reveal(receipt, unlocked)
    [line] = [line for line in health.health().lines if line.name == "policies"]
    assert line.advice
    assert "restore" in line.finding
    become({**EU_RESTORER})
    worker.worker.forget()
    [line] = [line for line in health.health().lines if line.name == "policies"]
    assert "region = eu" in line.finding


@pytest.mark.once
def test_a_disguise_with_a_policy_that_there_is_not_seals_nothing(
    bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeleteAccount, "policy", "nowhere")
    before = application_dump(), edna_dump()
    with pytest.raises(errors.ConfigurationError, match="nowhere"):
        gone(bea)
    assert (application_dump(), edna_dump()) == before


@pytest.mark.once
def test_the_file_of_sealed_bags_opens_without_the_site(
    bea: Student, become: Callable[[Mapping[str, str]], None]
) -> None:
    gone(bea)
    become(EU_RESTORER)
    with bea.unlock() as unlocked:
        document = json.loads(edna.export_sealed(unlocked))
    assert document["bags"]
    assert not any(each["sealed"].startswith("gQ") for each in document["bags"])


@pytest.mark.once
def test_the_command_says_when_clauses_that_bags_may_be_sealed_to_are_gone(settings: Any, tmp_path: Path) -> None:
    """Whoever changes the text of a policy locks everybody out of what was sealed under the former one."""
    folder, said = tmp_path / "monitor", io.StringIO()

    def tell(**policies: str) -> str:
        settings.EDNA = {**settings.EDNA, "POLICIES": policies}
        said.truncate(0)
        call_command("edna_monitor", "policies", "--folder", str(folder), stdout=io.StringIO(), stderr=said)
        return said.getvalue()

    call_command("edna_monitor", "init", "--folder", str(folder), stdout=io.StringIO())
    assert "former clauses" not in tell(restore="role = restorer")
    assert "former clauses" not in tell(restore="role = restorer or role = boss")
    assert "1 of the former clauses are in no policy any more" in tell(restore="role = boss")
    assert "former clauses" not in tell(restore="role = chief", former="role = boss")


@pytest.mark.once
def test_the_command_from_nothing_to_a_reveal(bea: Student, settings: Any, tmp_path: Path, party: Served) -> None:
    folder = tmp_path / "monitor"

    def told(*arguments: Any, ends: int = 0) -> dict[str, Any]:
        out = io.StringIO()
        with contextlib.nullcontext() if ends == 0 else pytest.raises(CommandError) as stopped:
            call_command("edna_monitor", "--json", *map(str, arguments), stdout=out)
        assert ends == 0 or stopped.value.returncode == ends
        return dict(json.loads(out.getvalue()))

    public = told("init", "--folder", folder)["public_key"]
    with pytest.raises(CommandError, match=f"a monitor's keys in {folder} already"):
        told("init", "--folder", folder)
    with pytest.raises(CommandError, match="--certifier is no public key"):
        told("trust", "--folder", folder, "--certifier", "CERTIFIER_KEY")
    told("policies", "--folder", folder)
    keys = {name: told("key", "--output", tmp_path / f"{name}.key")["public_key"] for name in ("c", "d", "w")}
    told("trust", "--folder", folder, "--certifier", keys["c"], "--deployer", keys["d"])
    manifest, certificate = tmp_path / "w.manifest", tmp_path / "w.cert"
    told("manifest", "--key", tmp_path / "d.key", "--worker", keys["w"], "--output", manifest)
    told(
        "certify", "--key", tmp_path / "c.key", "--measurement", f"worker={keys['w']}", "--attribute", "region=eu",
        "--attribute", "role=restorer", "--days", 3, "--output", certificate,
    )  # fmt: skip
    assert told("accept", "--folder", folder, certificate) == {"accepted": 1}
    clauses = tmp_path / "list.json"
    assert told("clauses", "--folder", folder, "--output", clauses) == {"epoch": 1, "clauses": 2}
    from edna.custody.policies.process.server import Server
    from edna.policies.serving import monitor_in

    monitor = monitor_in(folder)
    server = Server(("127.0.0.1", 0), monitor)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    settings.EDNA["MONITOR"].update(
        ADDRESS=f"http://127.0.0.1:{server.server_address[1]}",
        PUBLIC_KEY=public,
        CLAUSES=clauses,
        MANIFEST=manifest,
        WORKER_KEY=tmp_path / "w.key",
    )
    worker.worker.forget()
    stands = told("status", ends=3)
    assert (stands["attested_as"], stands["lacks"]) == ("region = eu, role = restorer", ["elsewhere"])
    receipt = gone(bea)
    with bea.unlock() as unlocked:
        edna.reveal(receipt, unlocked)
    assert told("epoch", "--folder", folder) == {"epoch": 2, "former": [1]}
    assert told("status", "--folder", folder)["epoch"] == 2
    server.shutdown()
    server.server_close()
    monitor.close()


@pytest.mark.once
@pytest.mark.parametrize("error", [errors.MonitorUnavailable, errors.PolicyNotSatisfied, errors.CredentialExpired])
def test_a_page_tells_nobody_that_what_waits_for_a_worker_is_damaged(error: type[errors.EdnaError]) -> None:
    assert "nothing is lost" in str(words.explain(error("...")))
