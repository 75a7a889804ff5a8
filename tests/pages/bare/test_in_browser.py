"""In Chromium, under a strict policy: somebody whose key stays in their browser walks through the pages; then every byte is searched."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone
from django.utils.formats import date_format

import edna
from apps.showcase.tests.by_keyboard import ByKeyboard
from apps.showcase.tests.key_in_browser import FIRST, KeyInBrowser
from edna import SecretKey, conf
from edna.custody import password as passwords
from edna.custody import recovery
from edna.errors import PrincipalNotRegistered, WrongCredentials
from edna.models import Bag, KeySlot
from edna.pages.people import People
from edna.testing.search import finds, places
from tests.custody import story_site
from tests.custody.chromium import bodies, with_passkeys
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import PASSWORD, join
from tests.pages.bare.test_browser import Member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SECOND = "eight geese över the marsh"

#: As edna-open.html does it.
OPEN_FILE = """async ([text, code]) => {
  const [{loadSodium}, {keyOf, openFile, readFile}, {accountOf}] = await Promise.all(
    ["base/sodium.js", "file.js", "account.js"].map(name => import(`/static/edna/js/${name}`)));
  const [sodium, file] = [await loadSodium(), readFile(text)];
  return accountOf(openFile(sodium, file, keyOf(sodium, file, code)));
}"""


@pytest.fixture(autouse=True)
def key_in_browser(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    settings.MIDDLEWARE = ["tests.custody.story_site.recording", *settings.MIDDLEWARE]
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    story_site.reached.clear()


class Owner(KeyInBrowser, Member):
    """Types what opens the key into pages of which a script takes it."""

    namespace = "pages-in-browser"

    def log_in_with_password(self, name: str) -> None:
        self.page.goto(f"{self.site}/login/")
        self.fill(username=name, password=PASSWORD)
        self.press("Log in")


class WithoutMouse(ByKeyboard, Owner):
    pass


@pytest.mark.parametrize("recipient", ["x25519", "x-wing"])
def test_a_key_that_stays_in_the_browser(
    recipient: str, page: Any, live_server: Any, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Made, its code kept, used to leave and to return under another name, opened in each way, renewed; of one kind by the keyboard
    alone. Of all that no byte that the server got holds a password of the key, the code or the key."""
    settings.EDNA = {**settings.EDNA, "RECIPIENT": recipient}
    with_passkeys(page)
    anna = join("anna")
    User.objects.create_user("bea", "bea@example.org", PASSWORD)
    walker = (WithoutMouse if recipient == "x25519" else Owner)(page, live_server.url)
    if recipient != "x25519":
        walker.views = ()  # the same pages: looked at once
    caplog.set_level(logging.DEBUG)

    walker.log_in_with_password("bea")
    walker.sees("Make your key")
    walker.ready()
    walker.picture("01-make-key")
    walker.types("A password for your key", FIRST)
    walker.types("The new password again", SECOND)
    walker.tap("Make my key")
    walker.sees("The two passwords differ.")
    code = walker.makes_a_key()
    walker.picture("03-code")
    with page.expect_download() as downloaded:
        walker.tap("Download")
    assert code in downloaded.value.path().read_text()
    walker.tap("I have kept it")
    walker.types("The last four characters of your recovery code", "UUUU")
    walker.tap("Confirm")
    walker.sees("Your recovery code ends otherwise.")
    walker.types("The last four characters of your recovery code", code[-4:].lower())
    walker.picture("04-check")
    walker.tap("Confirm")
    walker.sees("Good. Keep it where you find it in years.")

    bea = User.objects.get(username="bea")
    notes = [Note.objects.create(author=bea, text=f"bea on {text}") for text in ("Deadlock", "Starvation")]
    Comment.objects.create(author=bea, note=notes[0], text="bea agrees")
    walker.go("home")
    walker.go("apply", "club.disown-remarks")
    walker.opens("Disown remarks", SECOND)
    walker.sees("This does not open your key.")
    assert page.evaluate("document.activeElement.hasAttribute('data-edna-problem')"), (
        "who reads by ear hears what is wrong"
    )
    walker.picture("06-wrong-password")
    page.context.set_offline(True)
    walker.opens("Disown remarks", FIRST)
    walker.sees("The site does not answer.")
    page.context.set_offline(False)
    walker.opens("Disown remarks", FIRST)
    walker.sees("It is done")
    assert walker.reloads_by() == "GET"
    assert Comment.objects.filter(author=bea).count() == 0

    with edna.unlock(identifier="bea", password=FIRST) as unlocked:
        former, first_code = unlocked.secret_key, code
    walker.go("replace-key")
    walker.ready()
    walker.picture("07-replace-key")
    walker.types("New password", FIRST)
    walker.types("The new password again", FIRST)
    walker.opens("Replace my key", FIRST)
    code = walker.shown_code()
    with pytest.raises(PrincipalNotRegistered):
        edna.unlock(secret_key=former)
    with pytest.raises(WrongCredentials):
        edna.unlock(recovery_code=first_code)

    walker.go("hidden")
    walker.opens("Show it", FIRST)
    walker.sees("Remarks by nobody", "1 remark", f"Hidden on {date_format(timezone.localdate(), 'DATE_FORMAT')}")
    walker.picture("08-hidden-list")
    page.reload()
    walker.ready()
    walker.sees("Open the list with your key.")
    walker.opens("Show it", FIRST)
    walker.unfolds("Change what stands here without your name")
    walker.follow("Remark 1")
    walker.types("Text", "bea agrees in part")
    walker.opens("Save", FIRST)
    page.wait_for_url("**/settings/")
    walker.go("hidden")
    walker.opens("Show it", FIRST)
    walker.sees("Remarks by nobody")
    assert Comment.objects.filter(text="bea agrees in part").delete()[0] == 1
    walker.press("Bring it back: Remarks by nobody")
    walker.opens("Bring it back", FIRST)
    walker.sees("Not all of it could come back", "It has been deleted meanwhile.")
    walker.go("hidden")
    walker.opens("Show it", FIRST)
    walker.sees("Not back yet, of “Remarks by nobody”")
    walker.press("Try again …")
    walker.opens("Bring it back", FIRST)
    walker.ticks(page.get_by_role("checkbox").first)
    walker.press("Give up what is ticked …")
    walker.ticks(page.get_by_label("I know that this is final"))
    walker.opens("Give it up for good", FIRST)
    walker.sees("This is given up, and erased:")

    walker.go("passkey")
    walker.opens("Make a passkey", FIRST)
    walker.sees("Your passkey opens your key.")
    walker.go("key-password")
    walker.ready()
    walker.picture("12-key-password")
    walker.types("New password", SECOND)
    walker.types("The new password again", SECOND)
    walker.tap("Use your passkey instead")
    walker.sees("The new password opens your key.")
    walker.go("recovery-code")
    walker.opens_by_code("Make a new code", code)
    newer = walker.shown_code()
    assert newer != code

    walker.go("take-along")
    walker.ready()
    walker.picture("15-take-along")
    with page.expect_download() as downloaded:
        walker.opens("Download", SECOND)
    mine = json.loads(downloaded.value.path().read_text())
    assert {row["columns"]["text"] for row in mine["rows"] if row["model"] == "club.note"} == {
        note.text for note in notes
    }
    walker.go("apply", "club.leave")
    walker.ready()
    walker.types("The password of your key", SECOND)
    walker.taps_twice("Delete your account")
    walker.sees("Good-bye", "with the password of your key or your recovery code. The password of your log-in does not")
    page.go_back()
    assert not User.objects.filter(pk=bea.pk).exists()

    User.objects.create_user("bea", password="finders keepers")
    walker.go("return")
    walker.opens_by_code("Bring my account back", code)
    walker.sees("This does not open your key.")
    walker.fill(identifier="bea")
    walker.types("Recovery code", "")
    walker.opens("Bring my account back", SECOND)
    walker.sees("Somebody else has what was yours")
    walker.picture("13-taken")
    walker.types("Another username", "anna")
    walker.opens("Try again", SECOND)
    walker.sees("“anna” is taken, too.")  # and the password goes with the old name as before
    walker.types("Another username", "beatrix")
    walker.opens("Try again", SECOND)
    walker.sees("Your account is here, as beatrix.")
    assert Note.objects.filter(author__username="beatrix").count() == 2
    assert Note.objects.filter(author=anna.user).count() == 2
    assert not Bag.objects.exists()
    assert [error for error in walker.errors if "404" not in error and "INTERNET_DISCONNECTED" not in error] == []

    with edna.unlock(identifier="beatrix", password=SECOND) as unlocked:
        key: SecretKey = unlocked.secret_key
    (opslimit, memlimit_bytes), *_ = conf.argon2_costs()
    needles: dict[str, Any] = {"secret key": key.expose(), "former key": former.expose()}
    for number, (name, text) in enumerate([("bea", FIRST), ("bea", SECOND), ("beatrix", SECOND)]):
        cost = {"opslimit": opslimit, "memlimit_bytes": memlimit_bytes}
        secret = passwords.derive(text, identifier=name, pepper=conf.mac_keys()[0], **cost)
        needles |= {f"password {number}": text, f"slot secret of password {number}": secret.expose()}
    for number, text in enumerate((first_code, code, newer)):
        parsed = edna.RecoveryCode.parse(text)
        needles |= {f"code {number}": parsed.expose(), f"text of code {number}": text}
        needles |= {f"slot secret of code {number}": recovery.derive(parsed).expose()}
    logged = [str(record.__dict__).encode() for record in caplog.records]
    seen = b"\n".join([*story_site.reached, *walker.sent, *logged, repr(vars(cache)).encode(), *bodies(walker.sent)])
    known = {
        "password of the log-in": PASSWORD.replace(" ", "+").replace(",", "%2C"),
        "public key": bytes(key.public_key),
    }
    assert sorted({what.split(":")[0] for what in finds(seen, known)}) == sorted(known), (
        "the search finds what was sent"
    )
    assert finds(seen, needles) == []
    assert places(needles) == []


def test_with_both_a_script_keeps_what_is_typed_and_everything_is_deleted_for_good(
    page: Any, live_server: Any, settings: Any
) -> None:
    """The key was made on the server, at the log-in; since then its password stays away from there. What is locked is taken along;
    one thing is deleted, then all with the account."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "both"}
    join("anna")
    bea = User.objects.create_user("bea", "bea@example.org", PASSWORD)
    walker = Owner(page, live_server.url)
    walker.log_in_with_password("bea")
    walker.sees("Your data on this site")
    story_site.reached.clear()
    slots = KeySlot.objects.count()
    anna = edna.unlock(identifier="anna", password=PASSWORD)
    walker.go("key-password")
    walker.types("New password", SECOND)
    walker.types("The new password again", SECOND)
    walker.opens_by_code("Set the password", str(edna.new_recovery_code(anna)))
    walker.sees("This key belongs to another account.")
    walker.go("recovery-code")
    walker.sees("You have no recovery code yet.")
    walker.opens("Make a recovery code", PASSWORD)
    code = walker.shown_code()
    Comment.objects.create(author=bea, note=Note.objects.earliest("pk"), text="bea agrees")

    walker.go("apply", "club.disown-remarks")
    walker.opens("Disown remarks", PASSWORD)
    walker.sees("It is done")
    walker.go("take-along")
    walker.ready()
    page.get_by_text("What is hidden, still locked").click()
    with page.expect_download() as downloaded:
        walker.opens_by_code("Download", code)
    opened = page.evaluate(OPEN_FILE, [downloaded.value.path().read_text(), code])
    assert (opened["refused"], opened["unreached"]) == ([], 0)
    assert [bag["disguise"] for bag in opened["bags"]] == ["club.disown-remarks"] * Bag.objects.count()
    walker.go("hidden")
    walker.ready()
    page.get_by_text("No password, or it does not work?").click()
    with edna.unlock(identifier="bea", password=PASSWORD) as unlocked:
        text = f"My key\n{unlocked.secret_key.expose_text()}\nKeep it"
    kept = {"name": "key.txt", "mimeType": "text/plain", "buffer": text.encode()}
    page.get_by_label("Or the file in which you have kept your key").set_input_files(kept)
    walker.tap("Show it")
    walker.press("Delete it for good: Remarks by nobody")
    walker.fill(phrase="no")
    asked = len(story_site.reached)
    walker.opens("Delete for good", PASSWORD)
    walker.sees("Type exactly “delete for good”.")
    assert len(story_site.reached) == asked, "before the key is opened"
    walker.fill(phrase=" Delete  for GOOD")
    walker.tap("Delete for good")
    walker.sees("would be deleted for good", "1 remark")
    assert Bag.objects.exists()
    walker.tap("Delete for good")
    walker.sees("It is done. What was locked is destroyed")
    assert not Bag.objects.exists()

    assert finds(b"\n".join(story_site.reached), {"password": PASSWORD.replace(" ", "+").replace(",", "%2C")}) == []
    assert finds(b"\n".join(story_site.reached), {"password": PASSWORD, "code": code}) == []

    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    walker.go("delete")
    walker.picture("14-delete")
    walker.fill(phrase="delete for good")
    walker.opens("Delete for good", PASSWORD)
    walker.sees("Nothing of your account is left")
    assert KeySlot.objects.count() == slots - 1, "her password's is gone, and her code's, which came later"
    assert not User.objects.filter(username="bea").exists()


def test_the_list_has_only_what_is_about_the_people_of_these_pages(
    page: Any, live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bea = User.objects.create_user("bea", "bea@example.org", PASSWORD)
    walker = Owner(page, live_server.url)
    walker.log_in_with_password("bea")
    walker.makes_a_key()
    note = Note.objects.create(author=bea, text="bea on Deadlock")
    for name in ("club.tidy", "club.disown-remarks"):
        Comment.objects.create(author=bea, note=note, text="bea agrees")
        edna.disguise(name, bea)
    monkeypatch.setattr(People, "concern", lambda self, name: name != "club.tidy")
    walker.go("hidden")
    walker.opens("Show it", FIRST)
    walker.sees("Remarks by nobody")
    assert page.get_by_role("heading", name="Tidy").count() == 0
    monkeypatch.undo()
    page.reload()
    walker.opens("Show it", FIRST)
    walker.sees("Remarks by nobody", "Tidy")


def test_a_mistake_is_told_as_what_it_is(page: Any, live_server: Any) -> None:
    """Nothing is the matter with what is kept, wherever somebody else's receipt is typed."""
    User.objects.create_user("bea", "bea@example.org", PASSWORD)
    anna = join("anna")
    annas = str(edna.disguise("club.disown-remarks", anna.user))
    walker = Owner(page, live_server.url)
    walker.log_in_with_password("bea")
    walker.makes_a_key()

    walker.go("bring-back")
    walker.fill(receipt=annas)
    walker.opens("Bring it back", FIRST)
    walker.sees("This receipt was given to somebody else, and your key does not open what it leads to.")


def test_who_comes_back_under_another_name_is_led_to_a_password_that_goes_with_it(page: Any, live_server: Any) -> None:
    bea = User.objects.create_user("bea", "bea@example.org", PASSWORD)
    walker = Owner(page, live_server.url)
    walker.log_in_with_password("bea")
    code = walker.makes_a_key()
    edna.disguise("club.leave", bea)
    User.objects.create_user("bea", password="finders keepers")

    walker.go("return")
    walker.opens_by_code("Bring my account back", code)
    walker.sees("Somebody else has what was yours")
    walker.types("Another username", "beatrix")
    walker.opens_by_code("Try again", code)
    walker.sees("as beatrix.", "The password of your key still goes with the name that you had.")
    assert "one password opens both" not in page.inner_text("body")
    walker.follow("Set one that goes with your new name")
    walker.fill(identifier="beatrix")
    walker.types("New password", SECOND)
    walker.types("The new password again", SECOND)
    walker.opens_by_code("Set the password", code)
    walker.sees("The new password opens your key.")
    edna.unlock(identifier="beatrix", password=SECOND).close()


def test_after_the_site_has_renamed_somebody_the_former_name_opens_their_key(page: Any, live_server: Any) -> None:
    """Typed beside the password, once it is refused, or none at all with the recovery code. It is never sent, and each sets a password that
    goes with the name of today."""
    User.objects.create_user("bea", "bea@example.org", PASSWORD)
    walker = Owner(page, live_server.url)
    walker.log_in_with_password("bea")
    code = walker.makes_a_key()
    edna.disguise("club.tidy", User.objects.get())
    User.objects.update(username="beatrix")

    asks = page.get_by_label("The name that you had then")
    walker.go("hidden")
    walker.opens_by_code("Show it", "XYZ")
    walker.sees("recovery code is incomplete or mistyped")
    assert not asks.is_visible()
    page.reload()
    walker.opens("Show it", FIRST)
    walker.sees("This does not open your key.", "goes with the name that you had when you set it")
    walker.picture("17-former-name")
    walker.types("The name that you had then", "bea")
    walker.opens("Show it", FIRST)
    walker.sees("Tidy")
    page.reload()
    walker.opens("Show it", SECOND)
    walker.sees("This does not open your key.")
    walker.follow("set a password that goes with your name of today")
    for way, password in (("name", SECOND), ("code", FIRST)):
        page.reload()
        walker.ready()
        walker.types("New password", password)
        walker.types("The new password again", password)
        if way == "name":
            walker.opens("Set the password", FIRST)
            walker.sees("This does not open your key.")
            walker.types("The name that you had then", "bea")
            walker.tap("Set the password")
        else:
            walker.opens_by_code("Set the password", code)
        walker.sees("The new password opens your key.")
        edna.unlock(identifier="beatrix", password=password).close()
    with pytest.raises(WrongCredentials):
        edna.unlock(identifier="bea", password=FIRST)


def test_what_is_sent_before_the_script_is_there_waits_for_it(page: Any, live_server: Any) -> None:
    """Over a slow line somebody is quicker than the modules: nothing of what was typed is sent, and nothing has to be typed again."""
    User.objects.create_user("bea", "bea@example.org", PASSWORD)
    walker = Owner(page, live_server.url)
    walker.log_in_with_password("bea")
    walker.makes_a_key()
    held: list[Any] = []
    page.route("**/js/pages/start.js", lambda route: held.append(route))
    page.goto(f"{live_server.url}/privacy/hidden/", wait_until="commit")
    walker.types("The password of your key", FIRST)
    page.get_by_role("button", name="Show it").click()
    page.locator("[data-edna-progress]:not([hidden])").wait_for()
    assert held
    held[0].continue_()
    page.get_by_text("Nothing of yours is hidden now.").first.wait_for()
    assert all(FIRST.encode() not in each for each in walker.sent)

    def without_webassembly(route: Any) -> None:
        answer = route.fetch()
        policy = answer.headers["content-security-policy"].replace("'wasm-unsafe-eval'", "")
        route.fulfill(response=answer, headers={**answer.headers, "content-security-policy": policy})

    page.unroute("**/js/pages/start.js")
    page.route("**/take-along/", without_webassembly)
    walker.go("take-along")
    page.get_by_text("What is hidden, still locked").click()
    walker.opens("Download", FIRST)
    walker.sees("Give your recovery code instead of the password")
    assert page.get_by_label("Recovery code", exact=True).is_visible()
    page.get_by_text("Everything that is mine, readable").click()
    walker.opens("Download", FIRST)
    walker.sees("the Content-Security-Policy of this page needs script-src 'wasm-unsafe-eval'")
