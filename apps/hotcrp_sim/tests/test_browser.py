"""The whole story in a browser, by the keyboard alone, with a picture of every page in ``build/screenshots``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse

from apps.hotcrp_sim.models import ContactInfo, PaperReview
from apps.showcase.tests import walker as walkers
from apps.showcase.tests.by_keyboard import ByKeyboard

from .conftest import PASSWORD, dump
from .people import Site, add_author, make_site

pytestmark = pytest.mark.browser


class Walker(ByKeyboard):
    namespace = "hotcrp"

    def misses(self, *texts: str) -> None:
        source = self.page.content()
        assert [text for text in texts if text in source] == []

    def privacy(self, name: str, *args: str) -> None:
        self.page.goto(self.site + reverse(f"hotcrp-privacy:{name}", args=args))

    def log_in(self, email: str) -> None:
        self.page.context.clear_cookies()
        self.go("login")
        self.fill(email=email, password=PASSWORD)
        self.press("Log in")


@pytest.fixture
def walker(page: Any, live_server: Any) -> Walker:
    return Walker(page, live_server.url)


@pytest.fixture
def site(transactional_db: None) -> Site:
    return make_site()


def test_a_reviewer_writes_leaves_and_returns(walker: Walker, site: Site) -> None:
    """The author reads the review all along, and never a name."""
    walker.go("home")
    walker.picture("01-home")
    walker.go("login")
    walker.fill(email="rae@example.org", password="wrong")
    walker.press("Log in")
    walker.picture("02-login-error")
    walker.log_in("rae@example.org")
    walker.picture("03-papers")
    walker.go("home")
    walker.picture("04-home-reviewer")
    walker.go("preferences")
    walker.fill(**{f"preference_{site.quiet.pk}": "12"})
    walker.press("Save this page")
    walker.sees("Your preferences are saved.")
    walker.picture("05-preferences")
    walker.go("conflicts")
    walker.picture("06-conflicts")
    walker.go("pc")
    walker.picture("07-committee")

    # Write the review
    walker.page.goto(f"{walker.site}{reverse('hotcrp:papers')}?show=todo")
    walker.follow("Fair Locks")
    walker.sees("Your review is a draft")
    walker.picture("08-paper-draft")
    walker.follow("Change your review")
    walker.choose(over_all_merit="0")
    walker.press("Submit the review")
    walker.sees("Choose one before you submit.")
    walker.picture("09-review-error")
    walker.choose(over_all_merit="4", novelty="3")
    walker.fill(t02="A lock that is fair is a queue.\n\nPlease say so.")
    walker.press("Submit the review")
    walker.sees("Your review is submitted.", "Rob Example", "Verdict ROB")
    walker.picture("10-paper-reviewer")

    # The author reads it
    walker.log_in("adam@example.org")
    walker.go("paper", site.fair.pk)
    walker.sees("A lock that is fair is a queue.", "Anonymous reviewer")
    walker.misses("Rae Example", "Secret RAE")
    walker.fill(text="Thank you. We will say so.")
    walker.press("Add the comment")
    walker.picture("11-paper-author")

    # She leaves
    walker.log_in("rae@example.org")
    walker.go("account")
    walker.picture("12-account")
    walker.go("change-password")
    walker.picture("13-change-password")
    walker.privacy("home")
    walker.picture("14-your-data")
    walker.privacy("apply", "hotcrp.remove-account")
    walker.picture("14-remove")
    walker.fill(password=PASSWORD)
    walker.press("Remove your account")
    walker.sees("Good-bye")
    walker.picture("15-good-bye")
    assert not ContactInfo.objects.filter(email="rae@example.org").exists()

    # The author still reads it, and so do the committee and the chair
    for email in ("adam@example.org", "mia@example.org", "chair@example.org"):
        walker.log_in(email)
        walker.go("paper", site.fair.pk)
        walker.sees("A lock that is fair is a queue.", "Anonymous reviewer")
        walker.misses("Rae Example", "rae@example.org")
    walker.picture("16-paper-chair-without-her")
    walker.go("people")
    walker.misses("rae@example.org", ".invalid")

    # She edits the review without returning, then returns
    walker.page.context.clear_cookies()
    walker.go("disguised")
    walker.fill(identifier="rae@example.org", password=PASSWORD)
    walker.press("Show what is disguised")
    walker.sees("You removed your account")
    walker.unfolds("Fair Locks")
    walker.fill(t02="A fair lock is a queue.", identifier="rae@example.org", password=PASSWORD)
    walker.picture("17-disguised-open")
    walker.press("Save the review, stay anonymous")
    walker.sees("The review is saved, and still anonymous.")
    walker.privacy("return")
    walker.fill(identifier="rae@example.org", password=PASSWORD)
    walker.press("Bring my account back")
    walker.sees("It is back")
    walker.picture("20-returned")
    walker.log_in("rae@example.org")
    walker.go("paper", site.fair.pk)
    walker.sees("A fair lock is a queue.", "Rae Example (you)")
    walker.log_in("adam@example.org")
    walker.go("paper", site.fair.pk)
    walker.sees("A fair lock is a queue.")
    walker.misses("Rae Example")
    assert walker.errors == []


def test_the_conference_is_anonymised(walker: Walker, site: Site) -> None:
    """A chair takes off all names; a reviewer takes hers back, another leaves for good."""
    walker.log_in("chair@example.org")
    walker.go("dashboard")
    walker.picture("30-dashboard")
    walker.go("people")
    walker.picture("31-people")
    walker.go("paper", site.fair.pk)
    walker.choose(reviewer=str(site.mia.pk))
    walker.press("Assign")
    walker.sees("Mia Example is asked for a review.")
    walker.picture("32-paper-chair")
    walker.go("anonymise")
    walker.picture("33-anonymise")
    walker.fill(confirmation="anonymise the conference")
    walker.press("Anonymise the conference")
    walker.sees("The conference is anonymous")
    walker.picture("34-anonymised")
    for name in ("papers", "dashboard", "pc", "conflicts", "preferences"):
        walker.go(name)
        walker.misses("Rae Example", "Cleo Example")
        walker.picture(f"35-{name}-closed")

    # Rae edits a review without her name, then takes her name back
    walker.log_in("rae@example.org")
    walker.sees("This conference has been anonymised")
    walker.go("account")
    walker.picture("40-account-nameless")
    message = next(message for message in mail.outbox if message.to == ["rae@example.org"])
    walker.page.goto(re.sub(r"http://[^/]+", walker.site, re.search(r"http\S+#reviews", message.body)[0]))
    walker.picture("41-disguised")
    walker.fill(identifier="rae@example.org", password=PASSWORD)
    walker.press("Show what is disguised")
    walker.sees("Reversible Logs", "Fair Locks", "Lazy Paging")
    walker.picture("42-disguised-list")
    walker.unfolds("Reversible Logs")
    opened = walker.page.locator("details[open]")
    for name, text in (("t02", "Reversed, and still good."), ("identifier", "rae@example.org"), ("password", "wrong")):
        walker.types_into(opened.locator(f"[name={name}]"), text)
    with walker.next_page():
        walker.presses(opened.get_by_role("button"))
    walker.sees("The review is not saved yet")
    walker.picture("43-disguised-wrong-key")
    walker.fill(password=PASSWORD)
    walker.press("Save the review, stay anonymous")
    walker.sees("still anonymous")
    assert PaperReview.objects.get(tfields__contains="Reversed, and").contact.is_guise
    walker.fill(identifier="rae@example.org", password=PASSWORD)
    walker.press("Show what is disguised")
    walker.follow("Reclaim it, show my name again")
    walker.sees("Put your name back")
    walker.picture("43-reclaim")
    walker.fill(identifier="rae@example.org", password=PASSWORD)
    walker.press("Reclaim, show my name again")
    walker.sees("It is back")
    walker.picture("44-reclaimed")
    assert PaperReview.objects.get(tfields__contains="Reversed, and").contact == site.rae.user
    walker.log_in("rae@example.org")
    walker.go("paper", site.reversible.pk)
    walker.sees("Rae Example (you)", "Reversed, and still good.")

    # Mia removes her account for good
    walker.log_in("mia@example.org")
    walker.privacy("apply", "hotcrp.remove-account")
    walker.picture("45-finish")
    walker.fill(identifier="mia@example.org", password=PASSWORD)
    walker.press("Remove your account")
    walker.sees("Your receipt")
    walker.picture("46-good-bye")
    assert walker.errors == []


def test_two_authors_of_a_paper_leave_and_return_on_their_own_and_together(
    new_page: Any, live_server: Any, site: Site
) -> None:
    """Each in a browser of their own, and the chair looks: whoever is away is nowhere, and who returns brings back only themselves."""
    add_author(site.quiet, site.cleo.user, 3)
    walkers = {name: Walker(new_page(), live_server.url) for name in ("bea", "cleo", "chair")}
    walkers["chair"].log_in("chair@example.org")

    def shown(*names: str) -> None:
        chair = walkers["chair"]
        chair.go("paper", site.quiet.pk)
        chair.sees("Adam Example", *(f"{name.title()} Example" for name in names))
        chair.misses(*(f"{name.title()} Example" for name in ("bea", "cleo") if name not in names))

    def leave(name: str) -> None:
        walkers[name].privacy("apply", "hotcrp.remove-account")
        walkers[name].fill(password=PASSWORD)
        walkers[name].press("Remove your account")
        walkers[name].sees("Your receipt")

    def come_back(name: str) -> None:
        walkers[name].privacy("return")
        walkers[name].fill(identifier=f"{name}@example.org", password=PASSWORD)
        walkers[name].press("Bring my account back")
        walkers[name].sees("It is back")

    for going, coming in (
        (["bea"], ["bea"]),
        (["cleo"], ["cleo"]),
        (["bea", "cleo"], ["bea", "cleo"]),
        (["bea", "cleo"], ["cleo", "bea"]),
    ):
        for name in going:
            walkers[name].log_in(f"{name}@example.org")
        before, here = dump(), ["bea", "cleo"]
        for name in going:
            leave(name)
            here.remove(name)
            shown(*here)
        for name in coming:
            come_back(name)
            here.append(name)
            shown(*here)
        assert dump() == before
    assert [walker.errors for walker in walkers.values()] == [[], [], []]


def test_it_works_without_javascript(page_without_scripts: Any, live_server: Any, site: Site) -> None:
    """Registering by the mailed link, leaving and coming back."""
    walker = Walker(page_without_scripts, live_server.url)
    walker.go("register")
    walker.fill(email="nia@example.org")
    walker.press("Mail me the link")
    walker.sees("Look into your mail")
    walker.page.goto(re.sub(r"http://[^/]+", walker.site, re.search(r"http\S+", mail.outbox[-1].body)[0]))
    walker.fill(first_name="Nia", last_name="New", new_password=PASSWORD, again=PASSWORD)
    walker.press("Create my account")
    assert re.fullmatch(r"(\w{4}-){6}\w{4}", walker.page.locator("#edna-code").inner_text())
    if walkers.TAKES_PICTURES:
        walker.page.screenshot(path=walker.pictures / "50-recovery-code.png", full_page=True)
    walker.privacy("apply", "hotcrp.remove-account")
    walker.fill(password=PASSWORD)
    walker.press("Remove your account")
    walker.sees("Your receipt")
    walker.privacy("return")
    walker.fill(identifier="nia@example.org", password=PASSWORD)
    walker.press("Bring my account back")
    walker.sees("It is back")
