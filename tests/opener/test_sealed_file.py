"""A person's sealed bags as a file, and the page that opens it without the site and without a network."""

from __future__ import annotations

import json
import runpy
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

import edna
from apps.websubmit.models import Lecture
from edna import inner_door
from tests.opener.conftest import Case
from tests.support import ANONYMISE_LECTURE, DELETE, Student, answer_everything, enrol, make_course

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "edna" / "static" / "edna" / "edna-open.html"
#: Chromium needs them before it takes a page for whole.
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.fixture
def hybrid(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x-wing"}


@pytest.fixture
def bea() -> Student:
    """Of whom nobody has one lecture's answers, and who has left since, with her key at hand."""
    make_course()
    bea, carl = enrol("bea@example.org"), enrol("carl@example.org")
    answer_everything(bea, carl)
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    carl.disguise()
    bea.disguise(DELETE, with_key=True)
    return bea


def written(person: Student) -> str:
    with edna.unlock(secret_key=person.secret_key) as unlocked:
        return edna.export_sealed(unlocked, recovery_code=person.recovery_code)


def opened(run: Callable[..., list[Case]], text: str, typed: str) -> Case:
    (outcome,) = run([{"operation": "open_file", "input": {"text": text, "typed": typed}}])
    return outcome


def test_the_file_opens_with_the_key_and_holds_all_that_is_sealed(
    bea: Student, in_node: Callable[..., list[Case]]
) -> None:
    """Her own rows, and those that pseudoprincipals of hers had: each value as it was; nobody else's."""
    with edna.unlock(secret_key=bea.secret_key) as unlocked:
        sealed = {(model, column, value) for model, column, value in inner_door.sealed_values(unlocked).values}
        history = edna.history(unlocked)

    account = opened(in_node, written(bea), bea.secret_key.expose_text())["result"]

    rows = [
        row
        for bag in account["bags"]
        for batch in bag["records"]
        if batch["operation"] == "remove"
        for row in batch["rows"]
    ]
    texts = {value for model, column, value in sealed if model == "websubmit.answer" and column == "text"}
    assert {row["text"] for row in rows if "text" in row} == texts
    assert len(texts) == 4
    assert {row["email"] for row in rows if "email" in row} >= {"bea@example.org"}
    assert {bag["disguise"] for bag in account["bags"]} == {entry.name for entry in history}
    assert "carl@example.org" not in json.dumps(account)
    assert (account["refused"], account["unreached"]) == ([], 0)


def test_a_file_opens_with_a_key_of_the_hybrid_kind(
    hybrid: None, bea: Student, in_node: Callable[..., list[Case]]
) -> None:
    """And with the recovery code: whatever kind the bags, the lists and the keys in them are of."""
    text = written(bea)

    by_key, by_code = (opened(in_node, text, typed) for typed in (bea.secret_key.expose_text(), str(bea.recovery_code)))

    account = by_key["result"]
    assert account == by_code["result"]
    assert sum(bool(bag["records"]) for bag in account["bags"]) >= 3
    assert (account["refused"], account["unreached"]) == ([], 0)


def test_the_file_holds_nothing_in_the_clear(bea: Student) -> None:
    """Neither a key nor an address nor a locator; only what the tables hold of her, as it is there."""
    text = written(bea)
    document = json.loads(text)

    assert bea.secret_key.expose().hex() not in text
    assert bea.email not in text
    assert set(document) == {"format", "public_key", "wrapped", "lists", "bags"}
    assert len({len(part["index"]) for part in document["bags"]}) == 1


def test_the_recovery_code_opens_the_file_without_the_server(bea: Student, in_node: Callable[..., list[Case]]) -> None:
    """Written with the code, the file has the key wrapped by it: no pepper is needed, as nobody guesses 128 bits."""
    text, code = written(bea), bea.recovery_code

    assert opened(in_node, text, code.lower())["result"]["bags"]
    assert opened(in_node, text.replace('"wrapped": "A', '"wrapped": "B'), code) == {"error": "WrongCredentials"}
    with edna.unlock(secret_key=bea.secret_key) as unlocked:
        assert opened(in_node, edna.export_sealed(unlocked), code) == {"error": "WrongCredentials"}


def test_nobody_elses_key_opens_it(bea: Student, in_node: Callable[..., list[Case]]) -> None:
    """And what is no key, no code or no file is said to be that."""
    text, eve = written(bea), enrol("eve@example.org")

    assert opened(in_node, text, eve.secret_key.expose_text()) == {"error": "WrongCredentials"}
    assert opened(in_node, text, eve.recovery_code) == {"error": "WrongCredentials"}
    assert opened(in_node, text, "edna-secret-key-1:aaaa") == {"error": "KeyMalformed"}
    assert opened(in_node, text, "a long walk home") == {"error": "RecoveryCodeMalformed"}
    assert opened(in_node, "[]", bea.recovery_code) == {"error": "FileRefused"}
    assert opened(in_node, text[:-20], bea.recovery_code) == {"error": "FileRefused"}


def test_a_damaged_bag_keeps_the_others_open(bea: Student, in_node: Callable[..., list[Case]]) -> None:
    """It is named with its error, and a bag that is gone is missed by the count that the others have."""
    document = json.loads(written(bea))
    whole = opened(in_node, json.dumps(document), bea.secret_key.expose_text())["result"]
    for part in document["bags"]:
        changed = {
            **document,
            "bags": [{**each, "sealed": each["sealed"][:400]} if each is part else each for each in document["bags"]],
        }
        account = opened(in_node, json.dumps(changed), bea.secret_key.expose_text())["result"]
        assert {"index": part["index"], "error": "BagTruncated"} in account["refused"]
        assert len(account["bags"]) < len(whole["bags"])

        gone = {**document, "bags": [each for each in document["bags"] if each is not part]}
        account = opened(in_node, json.dumps(gone), bea.secret_key.expose_text())["result"]
        assert len(account["bags"]) < len(whole["bags"])


def test_the_command_writes_a_private_file(bea: Student, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For its owner alone to read, never over another file, and with the code where that was given."""
    monkeypatch.setattr("edna.management.credentials.read_stdin", lambda: bea.recovery_code)
    path = tmp_path / "bea.json"

    call_command("edna_export_sealed", "--output", str(path), "--recovery-code-stdin", "--operator", "olga")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["wrapped"]
    with pytest.raises(Exception, match="exists already"):
        call_command("edna_export_sealed", "--output", str(path), "--recovery-code-stdin")


def test_receipts_that_no_list_has_become_items_of_the_file(
    settings: Any, in_node: Callable[..., list[Case]], bea: Student
) -> None:
    """In locator mode `client` the file leads to what the receipts lead to: whoever has it needs none beside it."""
    settings.EDNA = settings.EDNA | {"LOCATORS": "client"}
    dora = enrol("dora@example.org")
    answer_everything(dora)
    receipt = dora.disguise()
    with edna.unlock(secret_key=dora.secret_key, receipts=[receipt]) as unlocked:
        text = edna.export_sealed(unlocked)
    assert str(receipt).rpartition(":")[2] not in text

    assert opened(in_node, text, dora.secret_key.expose_text())["result"]["bags"]


def test_the_page_is_what_its_modules_make() -> None:
    """Nobody edits `edna-open.html` by hand, and none is forgotten in it: `.ci/open_page/build.py` writes it."""
    built = runpy.run_path(str(ROOT / ".ci" / "open_page" / "build.py"))

    assert PAGE.read_text() == built["page"](), "run .ci/open_page/build.py"


@pytest.fixture
def offline(page: Any) -> Iterator[Any]:
    """The page as a file, in a browser without a network, which would tell of whatever asks for one."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.context.set_offline(True)
    page.goto(PAGE.as_uri())
    yield page
    assert [url for url in asked if not url.startswith(("blob:", PAGE.as_uri()))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_somebody_opens_their_file_offline(scheme: str, offline: Any, bea: Student, tmp_path: Path) -> None:
    """With the key, or the recovery code; what is saved is all of it; another's key gets a sentence."""
    page = offline
    page.emulate_media(color_scheme=scheme)
    file = tmp_path / "bea.json"
    file.write_text(written(bea))
    page.get_by_label("The file with your sealed bags").set_input_files(file)

    page.get_by_label("Your secret key, or your recovery code").fill(enrol("eve@example.org").recovery_code)
    page.get_by_role("button", name="Open").click()
    page.get_by_text("This recovery code does not open this file.").wait_for()
    page.get_by_label("Your secret key, or your recovery code").fill(
        bea.recovery_code if scheme == "dark" else bea.secret_key.expose_text()
    )
    page.get_by_role("button", name="Open").click()
    page.get_by_text("Opened:").wait_for()
    page.locator("#found:focus").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as JSON").click()
    account = json.loads(Path(download.value.path()).read_text())

    assert "bea@example.org" in json.dumps(account)
    assert bea.secret_key.expose().hex() not in json.dumps(account)
    assert page.get_by_role("cell", name="websubmit.answer: removed").count() >= 1
    assert page.get_by_label("Your secret key, or your recovery code").input_value() == ""
    pictures = ROOT / "build" / "screenshots" / "opener"
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.screenshot(path=pictures / f"{name}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
