"""In Chromium, under a policy of nonces and by the keyboard alone: somebody who has a passkey and no password confirms everything with it,
from the first key to the deletion for good."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from apps.showcase.tests.by_keyboard import ByKeyboard
from edna.models import Bag, KeySlot, PrincipalEntry
from tests.custody.chromium import with_passkeys
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import join
from tests.pages.bare.test_in_browser import Owner

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSKEY = "Use your passkey instead"
#: What the browser says where somebody closes its question for the passkey.
CLOSED = "() => { navigator.credentials.get = () => Promise.reject(new DOMException('', 'NotAllowedError')); }"


@pytest.fixture(autouse=True)
def key_in_browser(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    settings.NONCES = True
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}


#: Modules that the page has asked for all at once, and those that it has fetched, by whatever way.
MODULES = """() => {
  const names = addresses => addresses.filter(each => each.includes("/edna/js/") && !each.endsWith("/start.js")).sort();
  return [names([...document.querySelectorAll("link[rel=modulepreload]")].map(each => each.href)),
    names(performance.getEntriesByType("resource").map(each => each.name))];
}"""


class Holder(ByKeyboard, Owner):
    """Of a passkey and a keyboard; minds that no module waits for another one's name, and that none comes twice."""

    def ready(self) -> None:
        super().ready()
        at_once, fetched = self.page.evaluate(MODULES)
        assert at_once == fetched

    def confirms(self, name: str, *args: Any) -> None:
        self.go(name, *args)
        self.touches()

    def touches(self) -> None:
        self.ready()
        self.tap(PASSKEY)


def test_whoever_has_a_passkey_and_no_password_confirms_everything_with_it(page: Any, live_server: Any) -> None:
    """Makes a key, disowns, corrects what is disowned, takes it back, makes another key, takes everything along, leaves, returns, and
    deletes all for good. Whoever closes the browser's question has changed nothing."""
    with_passkeys(page)
    anna, pia = join("anna"), User.objects.create_user("pia", "pia@example.org")
    note = Note.objects.create(author=pia, text="pia on Deadlock")
    remark = Comment.objects.create(author=pia, note=Note.objects.filter(author=anna.user)[0], text="pia agres")
    anna_has = KeySlot.objects.count()
    walker = Holder(page, live_server.url)
    walker.log_in(pia)

    walker.go("make-key")
    walker.ready()
    walker.ticks(page.get_by_label("With a passkey of this device, too."))
    walker.tap("Make my key")
    walker.shown_code()
    assert KeySlot.objects.count() == anna_has + 2, "of the passkey and of the code"

    walker.go("apply", "club.disown-remarks")
    page.evaluate(CLOSED)
    walker.touches()
    walker.sees("No passkey was used.")
    assert Comment.objects.filter(author=pia).exists()
    page.reload()
    walker.touches()
    walker.sees("It is done")
    assert not Comment.objects.filter(author=pia).exists()

    page.goto(f"{live_server.url}/remarks/{remark.pk}/edit/")
    walker.ready()
    walker.fill(text="pia agrees")
    walker.picture("16-edit-disowned")
    with walker.next_page():
        walker.touches()
    walker.sees("Settings")
    remark.refresh_from_db()
    assert (remark.text, remark.author == pia) == ("pia agrees", False)

    walker.confirms("replace-key")
    newer = walker.shown_code()
    assert KeySlot.objects.count() == anna_has + 2
    walker.confirms("hidden")
    walker.sees("Remarks by nobody", "1 remark")
    walker.press("Bring it back: Remarks by nobody")
    walker.touches()
    walker.sees("It is back")
    assert Comment.objects.get(author=pia).text == "pia agrees"

    walker.go("take-along")
    with page.expect_download() as downloaded:
        walker.touches()
    mine = json.loads(downloaded.value.path().read_text())
    assert {row["columns"]["text"] for row in mine["rows"] if row["model"] == "club.note"} == {note.text}

    walker.confirms("apply", "club.leave")
    walker.sees("Good-bye")
    assert not User.objects.filter(pk=pia.pk).exists()
    walker.confirms("return")
    walker.sees("Your account is here.")
    assert Note.objects.get(author=pia) == note

    walker.log_in(User.objects.get(pk=pia.pk))
    walker.confirms("recovery-code")
    assert walker.shown_code() != newer
    walker.confirms("apply", "club.disown-remarks")
    walker.sees("It is done")
    walker.go("delete")
    walker.touches()
    assert Bag.objects.exists(), "the phrase was not typed"
    walker.fill(phrase="delete for good")
    walker.touches()
    walker.sees("Press the button once more if you want that.", "1 remark")
    walker.touches()
    walker.sees("Nothing of your account is left")
    assert not User.objects.filter(username="pia").exists()
    assert not Bag.objects.exists()
    assert PrincipalEntry.objects.count() == 1, "anna's"
    assert [error for error in walker.errors if "404" not in error] == []
