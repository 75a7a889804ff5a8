"""Every page: what it shows, to whom, how it says no, and what it sends by mail. Long, since there are many pages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.core import mail
from django.core.cache import cache
from django.db.models import Q
from django.test import Client
from django.urls import reverse

import edna
from apps.hotcrp_sim import mails, words
from apps.hotcrp_sim import models as m
from apps.hotcrp_sim.auth import identifier
from apps.hotcrp_sim.papers import Query
from apps.hotcrp_sim.reviews import letter
from apps.hotcrp_sim.urls import urlpatterns
from apps.showcase.friendly import count_each
from apps.showcase.tests.counting import counted_alike
from apps.showcase.tests.tables import thief
from edna.pages import words as page_words

from .conftest import ANONYMIZE, PASSWORD, REMOVE, dump
from .people import Site, Visitor, add_review, enter, make_site, text_of

#: On MariaDB tests/loadtest/test_hotcrp.py goes through the pages.
pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

PUBLIC = ("home", "login", "register", "disguised", "reclaim")
MEMBERS = ("papers", "account", "change-password")
COMMITTEE = ("preferences", "conflicts", "pc")
CHAIRS = ("dashboard", "people", "anonymise", "cases", "case-open", "case-chairs")
OF_A_PAPER = ("paper", "review", "comment", "assign", "unassign")
ONLY_POSTED = ("logout", "comment", "assign", "unassign", "disguised-review", "case-key", "case-hand-on")
REVIEW = {
    "over_all_merit": "4",
    "reviewer_qualification": "3",
    "novelty": "0",
    "technical_merit": "5",
    "interest_to_community": "0",
    "t01": "They log in reverse.",
    "t02": "Well done.\r\nTwice.",
    "t03": "Nobody will read it.",
}
NEW = "another long walk"


@pytest.fixture
def site(db: None) -> Site:
    return make_site()


@pytest.fixture
def rae(db: None) -> Visitor:
    return enter("rae@example.org", m.PC)


# Who may see a page at all


def test_every_address_is_tested_here() -> None:
    tested = {*PUBLIC, *MEMBERS, *COMMITTEE, *CHAIRS, *OF_A_PAPER, *ONLY_POSTED, "register-confirm", "case"}
    assert {pattern.name for pattern in urlpatterns} == tested


@pytest.mark.once
def test_pages_by_role(site: Site) -> None:
    """Strangers are sent to the login, and people are told for whom a page is."""
    nobody = Client()
    for name in PUBLIC:
        assert nobody.get(reverse(f"hotcrp:{name}")).status_code == 200
    for name in MEMBERS + COMMITTEE + CHAIRS:
        url = reverse(f"hotcrp:{name}")
        assert nobody.get(url).headers["Location"] == f"/hotcrp/login/?next={url}"
        expected = {
            "bea": 200 if name in MEMBERS else 403,
            "rae": 403 if name in CHAIRS else 200,
            "chair": 200,
        }
        assert {who: getattr(site, who).client.get(url).status_code for who in expected} == expected, name
    assert "This page is for the chairs." in text_of(site.rae.get("dashboard"))
    assert "This page is for the programme committee." in text_of(site.bea.get("preferences"))
    assert site.rae.post("anonymise", confirmation="anonymise the conference").status_code == 403


@pytest.mark.once
@pytest.mark.parametrize("name", OF_A_PAPER)
def test_what_one_may_not_know_of_does_not_exist(name: str, site: Site) -> None:
    """The same answer for a paper that one may not see, and for none at all."""
    for pk in (site.reversible.pk, 10**6, 10**12):
        for visitor in (site.adam, site.stranger, site.chair):
            assert visitor.post(name, pk, reviewer=site.rae.pk, review=1, text="x").status_code == 404
    nobody = Client().post(reverse(f"hotcrp:{name}", args=[site.reversible.pk]))
    assert nobody.headers["Location"].startswith("/hotcrp/login/")


@pytest.mark.once
@pytest.mark.parametrize("name", ONLY_POSTED)
def test_only_posting_changes_anything(name: str, site: Site) -> None:
    arguments = [site.quiet.pk] if name in OF_A_PAPER else []
    assert site.chair.get(name, *arguments).status_code == 405


@pytest.mark.once
def test_forms_without_a_token_are_refused(site: Site) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = site.chair.client.cookies
    before = dump()
    for pattern in urlpatterns:
        arguments = {"pk": site.fair.pk} if "pk" in str(pattern.pattern) else {}
        arguments |= {"token": "x"} if "token" in str(pattern.pattern) else {}
        arguments |= {"number": 1} if "number" in str(pattern.pattern) else {}
        url = reverse(f"hotcrp:{pattern.name}", kwargs=arguments)
        assert strict.post(url, {"do": "declare", "paper": site.fair.pk}).status_code == 403, pattern.name
    assert dump() == before


# Logging in, registering


def test_log_in_and_out(rae: Visitor, client: Client) -> None:
    url = reverse("hotcrp:login")
    refused = client.post(url, {"email": rae.email, "password": "wrong"})
    assert "No account has this e-mail address and password" in text_of(refused)
    entered = client.post(url, {"email": "Rae@Example.org", "password": PASSWORD, "next": reverse("hotcrp:pc")})
    assert entered.headers["Location"] == reverse("hotcrp:pc")
    assert client.get(url).headers["Location"] == reverse("hotcrp:papers")
    client.post(reverse("hotcrp:logout"))
    assert SESSION_KEY not in client.session


def test_the_login_leads_to_no_other_site(rae: Visitor, client: Client) -> None:
    for away in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        data = {"email": rae.email, "password": PASSWORD, "next": away}
        assert client.post(reverse("hotcrp:login"), data).headers["Location"] == reverse("hotcrp:papers")
        client.post(reverse("hotcrp:logout"))


def registration_link() -> str:
    found = re.search(r"http://testserver(/hotcrp/register/\S+)", mail.outbox[-1].body)
    assert found is not None
    return found[1]


NEWCOMER = {"first_name": "Nia", "last_name": "New", "affiliation": "", "new_password": PASSWORD, "again": PASSWORD}


def test_register_shows_the_recovery_code_once(client: Client, db: None) -> None:
    client.post(reverse("hotcrp:register"), {"email": "Nia@Example.org"})
    assert not m.ContactInfo.objects.exists()
    link = registration_link()
    assert client.get(link).status_code == 200
    response = client.post(link, NEWCOMER)
    code = str(response.context["code"])
    assert code in text_of(response)
    assert "no-store" in response.headers["Cache-Control"]
    user = m.ContactInfo.objects.get(email="nia@example.org")
    assert (user.name, user.roles, client.session[SESSION_KEY]) == ("Nia New", 0, str(user.pk))
    with edna.unlock(identifier=identifier("nia@example.org"), password=PASSWORD) as unlocked:
        assert edna.principal(unlocked) == user
    assert code not in thief()
    assert code not in text_of(client.get(reverse("hotcrp:account")))
    assert Client().get(link).headers["Location"] == reverse("hotcrp:login")


def test_nobody_registers_with_an_address_that_is_not_theirs(site: Site, client: Client) -> None:
    """Whoever has an author's address becomes the author: that takes the mail, and says nothing about who has an account."""
    m.Paper.objects.filter(pk=site.fair.pk).update(author_information="\nEve\tBlue\teve@example.org\tNowhere")
    answers = [
        text_of(client.post(reverse("hotcrp:register"), {"email": email})).replace(email, "")
        for email in ("eve@example.org", "rae@example.org")
    ]
    assert answers[0] == answers[1]
    assert "There is one with this address already" in mail.outbox[1].body
    link = re.search(r"http://testserver(/hotcrp/register/\S+)", mail.outbox[0].body)[1]
    for forged in (link[:-5] + "xxxx/", reverse("hotcrp:register-confirm", args=["eve@example.org"])):
        assert client.get(forged).status_code == 404
        assert client.post(forged, NEWCOMER).status_code == 404
    client.post(link, NEWCOMER)
    assert "Fair Locks" in text_of(client.get(reverse("hotcrp:papers")))


def test_a_link_is_good_for_a_day(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    client.post(reverse("hotcrp:register"), {"email": "nia@example.org"})
    monkeypatch.setattr("apps.hotcrp_sim.views.public._A_DAY", -1)
    assert client.get(registration_link()).status_code == 404


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"again": "something else"}, "The two passwords differ"),
        ({"new_password": "short", "again": "short"}, "too short"),
        ({"first_name": "é" * 61}, "122 bytes, of 120"),
        ({"first_name": "a\0b"}, "Null characters are not allowed"),
        ({"last_name": ""}, "required"),
    ],
)
def test_register_refuses(change: dict[str, str], message: str, client: Client, db: None) -> None:
    client.post(reverse("hotcrp:register"), {"email": "nia@example.org"})
    assert message in text_of(client.post(registration_link(), {**NEWCOMER, **change}))
    assert not m.ContactInfo.objects.exists()


# Reviews, comments, assignments


def test_write_a_review_as_a_draft_then_submit_it(site: Site) -> None:
    url = reverse("hotcrp:review", args=[site.lazy.pk])
    site.rob.client.post(url, {**REVIEW, "over_all_merit": "0", "t02": "", "draft": "1"})
    review = m.PaperReview.objects.get(paper=site.lazy, contact=site.rob.user)
    assert (review.review_submitted, review.review_ordinal, review.technical_merit) == (None, 0, 5)
    assert "Nobody will read it" in text_of(site.rob.get("paper", site.lazy.pk))
    assert "Nobody will read it" not in text_of(site.rae.get("paper", site.lazy.pk))
    refused = text_of(site.rob.client.post(url, {**REVIEW, "over_all_merit": "0", "t02": "", "submit": "1"}))
    assert "Choose one before you submit" in refused
    assert "Write something for the authors" in refused
    site.rob.client.post(url, {**REVIEW, "submit": "1"})
    review.refresh_from_db()
    assert review.review_submitted is not None
    assert (review.review_ordinal, review.review_needs_submit, review.over_all_merit) == (2, 0, 4)
    assert review.texts == {
        "t01": "They log in reverse.",
        "t02": "Well done.\nTwice.",
        "t03": "Nobody will read it.",
    }
    assert review.review_word_count == 11
    shown = text_of(site.cleo.get("paper", site.lazy.pk))  # the author
    assert "Well done." in shown
    assert "Nobody will read it" not in shown
    log = list(m.ActionLog.objects.order_by("pk").values_list("contact", "paper", "action"))
    number = review.review_id
    assert log == [
        (site.rob.pk, site.lazy.pk, f"Review {number} saved as a draft"),
        (site.rob.pk, site.lazy.pk, f"Review {number} submitted"),
    ]


def test_a_submitted_review_can_be_changed_and_not_unsubmitted(site: Site) -> None:
    review = m.PaperReview.objects.get(paper=site.reversible, contact=site.rae.user)
    site.rae.post("review", site.reversible.pk, **REVIEW, draft="1")
    changed = m.PaperReview.objects.get(review_id=review.review_id)
    assert changed.review_submitted == review.review_submitted
    assert (changed.review_ordinal, changed.review_edit_version) == (1, 1)
    assert "Well done" in text_of(site.bea.get("paper", site.reversible.pk))


def test_only_who_was_asked_writes_a_review(site: Site) -> None:
    for visitor in (site.cleo, site.mia, site.chair, site.bea):
        for paper in (site.reversible, site.fair, site.lazy):
            assert visitor.get("review", paper.pk).status_code == 404
            assert visitor.post("review", paper.pk, **REVIEW).status_code == 404


def test_reviews_can_be_closed(site: Site) -> None:
    m.Settings.objects.create(name="rev_open", value=0)
    assert site.rae.post("review", site.fair.pk, **REVIEW).status_code == 403
    assert "Change your review" not in text_of(site.rae.get("paper", site.fair.pk))
    site.anonymise()
    page = text_of(site.rae.post("disguised", **site.rae.key()))
    assert "can no longer be changed" in page
    number = m.PaperReview.objects.filter(paper=site.fair).first().review_id
    before = dump()
    site.rae.post("disguised-review", **site.rae.key(review=number, **REVIEW))
    assert dump() == before


def test_texts_that_do_not_fit_are_refused(site: Site) -> None:
    answer = site.rae.post("review", site.fair.pk, **{**REVIEW, "t01": "é" * 1500, "t02": "é" * 700})
    assert "The texts together are too long" in text_of(answer)
    answer = site.rae.post("review", site.fair.pk, **{**REVIEW, "t01": "x" * 5000})
    assert "5,000 bytes, of 4,096 that fit" in text_of(answer)
    answer = site.rae.post("review", site.fair.pk, **{**REVIEW, "over_all_merit": "9"})
    assert "Select a valid choice" in text_of(answer)


def test_what_people_write_is_escaped(site: Site) -> None:
    evil = "<script>alert(1)</script>"
    site.rae.post("review", site.reversible.pk, **{**REVIEW, "t02": evil})
    site.rae.post("comment", site.reversible.pk, text=evil, audience=m.FOR_AUTHORS)
    m.Paper.objects.update(title=evil, abstract=evil)
    m.ContactInfo.objects.filter(pk=site.mia.pk).update(first_name=evil, affiliation=evil)
    for visitor, name, *arguments in (
        (site.bea, "paper", site.reversible.pk),
        (site.mia, "paper", site.reversible.pk),
        (site.rae, "papers"),
        (site.rae, "review", site.reversible.pk),
        (site.rae, "preferences"),
        (site.rae, "pc"),
        (site.chair, "dashboard"),
        (site.chair, "people"),
        (site.chair, "conflicts"),
    ):
        shown = text_of(visitor.get(name, *arguments))
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown
    assert "<script>" not in text_of(site.rae.get("papers", q='"><script>'))


def test_comments(site: Site) -> None:
    """Authors write for the reviewers, reviewers for whom they choose."""
    site.bea.post("comment", site.reversible.pk, text="Thank you.", audience=m.FOR_ADMINISTRATORS)
    site.rae.post("comment", site.reversible.pk, text="Let us talk.", audience=m.FOR_PC)
    assert list(m.PaperComment.objects.order_by("pk").values_list("contact", "comment_type", "comment"))[-2:] == [
        (site.bea.pk, m.BY_AUTHOR | m.FOR_REVIEWERS, "Thank you."),
        (site.rae.pk, m.FOR_PC, "Let us talk."),
    ]
    for text, audience in (("", m.FOR_PC), ("x", m.FOR_ADMINISTRATORS), ("x" * 40_000, m.FOR_PC)):
        before = m.PaperComment.objects.count()
        answer = site.rae.post("comment", site.reversible.pk, text=text, audience=audience)
        assert answer.status_code == 200
        assert "errorlist" in text_of(answer)
        assert m.PaperComment.objects.count() == before
    m.Settings.objects.create(name="cmt_author", value=0)
    assert site.bea.post("comment", site.reversible.pk, text="More").status_code == 404


def test_ask_for_a_review_and_withdraw_the_request(site: Site) -> None:
    """Only of members of the committee without a conflict who are not asked yet."""
    page = text_of(site.chair.get("paper", site.fair.pk))
    offered = set(re.findall(r"<option value=\"\d+\">(\w+) Example</option>", page))
    assert offered == {"Mia", "Chair"}  # Rae and Rob review it, Cleo has a conflict
    for refused in (site.cleo, site.rae, site.bea, site.stranger):
        site.chair.post("assign", site.fair.pk, reviewer=refused.pk)
    assert m.PaperReview.objects.filter(paper=site.fair).count() == 2
    site.chair.post("assign", site.fair.pk, reviewer=site.mia.pk)
    asked = m.PaperReview.objects.get(paper=site.fair, contact=site.mia.user)
    assert asked.requested_by == site.chair.user
    assert "You are asked to review this paper" in text_of(site.mia.get("paper", site.fair.pk))
    for review in m.PaperReview.objects.filter(paper=site.fair):
        site.chair.post("unassign", site.fair.pk, review=review.review_id)
    assert m.PaperReview.objects.filter(paper=site.fair).count() == 2
    cache.clear()  # later than a second click
    for nonsense in ("", "x", "²", "9" * 30, str(asked.review_id)):
        assert site.chair.post("unassign", site.fair.pk, review=nonsense).status_code == 404
    entries = m.ActionLog.objects.filter(dest_contact=site.mia.user).values_list("action", flat=True)
    assert sorted(entries) == ["Review request withdrawn", "Review requested"]


def test_a_request_that_nobody_will_answer_can_be_withdrawn(site: Site) -> None:
    """Its reviewer has left; who comes back is told that it is gone."""
    receipt = site.rob.remove()
    waiting = m.PaperReview.objects.get(paper=site.lazy, tfields=None)
    site.chair.post("unassign", site.lazy.pk, review=waiting.review_id)
    assert not m.PaperReview.objects.filter(paper=site.lazy, tfields=None).exists()
    with site.rob.unlock() as unlocked:
        outcome = edna.reveal(receipt, unlocked)
    assert [(row.model, row.reason) for row in outcome.held] == [("hotcrp_sim.paperreview", edna.Reason.ROW_MISSING)]


# Preferences, conflicts


def test_preferences(site: Site) -> None:
    fair, lazy, quiet = site.fair.pk, site.lazy.pk, site.quiet.pk
    data = {f"preference_{fair}": "", f"expertise_{fair}": "", f"preference_{lazy}": "-3", f"expertise_{lazy}": "2"}
    site.rae.post("preferences", **data)
    found = m.PaperReviewPreference.objects.filter(contact=site.rae.user)
    assert list(found.values_list("paper", "preference", "expertise")) == [(lazy, -3, 2)]
    answer = site.rae.post("preferences", **{f"preference_{quiet}": "101", f"expertise_{quiet}": "7"})
    assert "less than or equal to 100" in text_of(answer)
    assert "Select a valid choice" in text_of(answer)
    assert found.count() == 1


def test_no_preference_about_what_one_may_not_see(site: Site) -> None:
    site.cleo.post("preferences", **{f"preference_{pk}": "5" for pk in (site.fair.pk, site.lazy.pk, site.quiet.pk)})
    found = m.PaperReviewPreference.objects.filter(contact=site.cleo.user)
    assert list(found.values_list("paper", flat=True)) == [site.quiet.pk]


def test_declare_a_conflict(site: Site) -> None:
    site.rob.post("conflicts", paper=site.quiet.pk, do="declare")
    assert site.rob.get("paper", site.quiet.pk).status_code == 404
    assert "Quiet Clocks" in text_of(site.rob.get("conflicts"))
    assert m.PaperConflict.objects.get(paper=site.quiet, contact=site.rob.user).conflict_type == m.COLLABORATOR
    cache.clear()  # later than a second click
    for number in (site.quiet.pk, 10**6):
        assert "no paper of this number" in text_of(site.rob.post("conflicts", paper=number, do="declare"))
    assert "errorlist" in text_of(site.rob.post("conflicts", paper="x", do="declare"))
    site.rob.post("conflicts", paper=site.quiet.pk, do="undeclare")
    assert site.rob.get("paper", site.quiet.pk).status_code == 200


# Searching


def test_what_a_search_means() -> None:
    assert Query.parse('Logs "two words" 7 #8 tag:Hot #cold au:Bea author:adam') == Query(
        ("logs", "two words"), frozenset({7, 8}), frozenset({"hot", "cold"}), ("bea", "adam")
    )
    assert Query.parse("it's \"broken au: tag:") == Query(("it's", '"broken', "au:", "tag:"))
    assert Query.parse("9" * 40 + " ²") == Query(("9" * 40, "²"))


@pytest.mark.parametrize("query", ["%00", "q=%ff", "q=a%00b", "page=x", "page=-1", "page=999", "show=secret", "q=%22"])
def test_odd_addresses_do_no_harm(query: str, site: Site) -> None:
    for name in ("papers", "people", "preferences"):
        assert site.chair.client.get(f"{reverse(f'hotcrp:{name}')}?{query}").status_code == 200


RUBBISH = ("", "\0", "²", "-1", "9" * 50, "é" * 20_000, "{'a': []}", "edna1:x", "\u202e\ufeff\U0001f511", "1e9", "None")


@pytest.mark.once
@pytest.mark.parametrize("value", RUBBISH, ids=range(len(RUBBISH)))
def test_rubbish_in_forms_is_refused_politely(value: str, site: Site) -> None:
    """No field of any form breaks a page, and nothing that it breaks is changed."""
    fields = [
        "email identifier password recovery_code secret_key receipt mail_code new_password again",
        "first_name last_name affiliation confirmation",
        "cards chair_key reason review reviewer paper do page text audience sure everything mail next q draft submit",
        *REVIEW,
        *(f"{name}_{site.quiet.pk}" for name in ("preference", "expertise")),
    ]
    data = dict.fromkeys(" ".join(fields).split(), value)
    for pattern in urlpatterns:
        if pattern.name == "logout":
            continue
        arguments = {"pk": site.fair.pk} if "pk" in str(pattern.pattern) else {}
        arguments |= {"token": "x"} if "token" in str(pattern.pattern) else {}
        arguments |= {"number": 1} if "number" in str(pattern.pattern) else {}
        url = reverse(f"hotcrp:{pattern.name}", kwargs=arguments)
        for client in (site.chair.client, site.rae.client, Client()):
            assert client.post(url, data).status_code in (200, 302, 403, 404, 405), pattern.name
    assert m.ContactInfo.objects.count() == 8
    assert not m.ContactInfo.objects.filter(is_guise=True).exists()


def test_lists_by_what_one_has_to_do_with(site: Site) -> None:
    for show, titles in (
        ("mine", []),
        ("reviews", ["Reversible", "Fair", "Lazy"]),
        ("todo", ["Fair"]),
        ("all", ["Reversible", "Fair", "Lazy", "Quiet"]),
    ):
        shown = text_of(site.rae.get("papers", show=show))
        assert [title for title in ("Reversible", "Fair", "Lazy", "Quiet") if title in shown] == titles
    assert "You have 1 review to write" in text_of(site.rae.get("home"))


def test_people_are_found_by_name_and_address(site: Site) -> None:
    for q, found in (("rae", True), ("RAE@example", True), ("rae college", True), ("nobody", False)):
        assert ("rae@example.org" in text_of(site.chair.get("people", q=q)).partition("<table")[2]) is found


def test_letters_of_reviews() -> None:
    assert [letter(number) for number in (0, None, 1, 26, 27, 53)] == ["", "", "A", "Z", "AA", "BA"]


def test_texts_under_other_keys_are_not_lost(site: Site) -> None:
    """Of an older form, say."""
    add_review(site.quiet, site.rae.user, "Rae", ordinal=1)
    m.PaperReview.objects.filter(paper=site.quiet).update(tfields='{"t02":"Old","t09":"Elsewhere"}')
    site.rae.post("review", site.quiet.pk, **REVIEW)
    assert m.PaperReview.objects.get(paper=site.quiet).texts["t09"] == "Elsewhere"


# The account


def test_change_password_opens_the_key_too(rae: Visitor) -> None:
    refused = rae.post("change-password", old_password="wrong", new_password1=NEW, new_password2=NEW)
    assert "entered incorrectly" in text_of(refused)
    changed = rae.post("change-password", old_password=PASSWORD, new_password1=NEW, new_password2=NEW)
    assert changed.status_code == 302
    assert rae.get("account").status_code == 200  # still logged in
    with edna.unlock(identifier=identifier(rae.email), password=NEW):
        pass


def test_a_removal_shows_a_receipt_once(site: Site) -> None:
    assert "Kept, but without your name: 4 reviews" in text_of(site.rae.get("privacy:apply", REMOVE))
    answer = site.rae.leave()
    receipt = str(answer.context["receipt"])
    assert receipt in text_of(answer)
    assert SESSION_KEY not in site.rae.client.session
    assert receipt not in thief()
    assert "It is back" in text_of(site.rae.post("privacy:return", **site.rae.key(receipt=receipt)))


def test_another_address_to_come_back_with_is_proved_by_a_mail(rae: Visitor, client: Client) -> None:
    """Otherwise whoever comes back takes the address, and so the papers, of somebody who has no account yet."""
    receipt = rae.remove()
    m.ContactInfo.objects.create_user(rae.email, "finders keepers")
    field, value = "instead-hotcrp_sim.contactinfo.email", "raenew@example.org"
    assert f'name="{field}"' in text_of(rae.post("privacy:return", **rae.key()))
    sent = rae.key(receipt=receipt, **{field: value})
    asked = rae.post("privacy:bring-back", **sent)
    assert f"mailed a code to {value}" in text_of(asked)
    (letter,) = mail.outbox
    assert letter.to == [value]
    assert mails.address_code(value) in letter.body
    for wrong in ("AAAAAAAAAA", mails.address_code(rae.email), mails.address_code(value, days_ago=2)):
        assert "This is not the code" in text_of(rae.post("privacy:bring-back", **sent, mail_code=wrong))
    assert len(mail.outbox) == 1
    assert not m.ContactInfo.objects.filter(email=value).exists()
    code = f" {mails.address_code(value, days_ago=1).lower()} "
    assert f"Your account is here, as {value}" in text_of(rae.post("privacy:bring-back", **sent, mail_code=code))
    login = client.post(reverse("hotcrp:login"), {"email": value, "password": PASSWORD})
    assert login.status_code == 302
    with edna.unlock(identifier=identifier(value), password=PASSWORD):
        pass


# Anonymising the conference


def test_anonymise_previews_confirms_and_mails_everybody(site: Site) -> None:
    page = text_of(site.chair.get("anonymise"))
    assert re.search(r"names taken off \d+ reviews", page)
    assert "personal details taken out of 4 accounts" in page
    refused = site.chair.post("anonymise", confirmation="yes")
    assert "Type exactly" in text_of(refused)
    assert not m.ContactInfo.objects.filter(is_guise=True).exists()
    answer = text_of(site.chair.post("anonymise", confirmation="Anonymise the conference"))
    assert "The conference is anonymous" in answer
    assert "Nobody was left out" in answer
    concerned = [site.bea, site.adam, site.rae, site.rob, site.cleo, site.mia, site.chair]
    assert sorted(message.to[0] for message in mail.outbox) == sorted(visitor.email for visitor in concerned)
    for message in mail.outbox:
        for page in (reverse("hotcrp:disguised"), reverse("hotcrp-privacy:apply", args=[REMOVE])):
            assert f"http://testserver{page}" in message.body
        assert "edna1:" not in message.body
        assert ("Your account stays" in message.body) is (
            message.to[0].partition("@")[0] in ("rae", "rob", "cleo", "mia")
        )


def test_anonymise_says_who_has_no_key(site: Site) -> None:
    """Nothing happens before they have one; who is not concerned is named as left out."""
    dora = enter("dora@example.org", with_key=False)
    page = text_of(site.chair.get("anonymise"))
    assert "1 person has no key" in page
    assert "Dora Example" in page
    m.PaperReviewPreference.objects.create(paper=site.fair, contact=dora.user, preference=1)
    before = dump()
    answer = text_of(site.chair.post("anonymise", confirmation="anonymise the conference"))
    assert "Some people have no key yet" in answer
    assert "Dora Example" in answer
    assert dump() == before
    assert not mail.outbox
    m.PaperReviewPreference.objects.filter(contact=dora.user).delete()
    answer = text_of(site.chair.post("anonymise", confirmation="anonymise the conference"))
    assert "Not disguised, because they have no key" in answer
    assert "Dora Example" in answer


def test_anonymise_names_whom_no_mail_reaches(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.core.mail import EmailMessage

    send = EmailMessage.send

    def refused(self: EmailMessage, *args: Any, **kwargs: Any) -> int:
        if self.to == ["rae@example.org"]:
            raise ConnectionRefusedError
        return send(self, *args, **kwargs)

    monkeypatch.setattr(EmailMessage, "send", refused)
    answer = text_of(site.chair.post("anonymise", confirmation="anonymise the conference"))
    assert "could not be reached by mail" in answer
    assert "rae@example.org" in answer
    assert len(mail.outbox) == 6


# What is disguised


def test_history_edit_and_reclaim(site: Site) -> None:
    """See what is disguised, change a review and stay anonymous, take everything back with the change."""
    assert "Nothing of yours is disguised" in text_of(site.rae.post("disguised", **site.rae.key()))
    site.anonymise()
    page = site.rae.post("disguised", **site.rae.key())
    shown = text_of(page)
    assert "no-store" in page.headers["Cache-Control"]
    assert "The chairs anonymised the conference" in shown
    assert "Finishing the deletion" in shown
    for title in ("Reversible Logs", "Fair Locks", "Lazy Paging"):
        assert title in shown
    assert "Verdict ROB" not in shown
    review = m.PaperReview.objects.get(tfields__contains="Verdict RAE on Reversible")
    before, log = m.PaperReview.objects.filter(review_id=review.review_id).values().get(), m.ActionLog.objects.count()
    data = site.rae.key(review=review.review_id, **REVIEW)
    answer = site.rae.post("disguised-review", **data)
    assert answer.status_code == 302
    after = m.PaperReview.objects.filter(review_id=review.review_id).values().get()
    changed = {name for name, value in after.items() if value != before[name]}
    assert changed == {
        "tfields",
        "over_all_merit",
        "reviewer_qualification",
        "technical_merit",
        "review_edit_version",
        "review_word_count",
    }
    assert m.ActionLog.objects.count() == log  # no name, time or address of who did it
    assert "does not open your key" in text_of(site.rae.post("reclaim", **site.rae.key(password="wrong")))
    assert "It is back" in text_of(site.rae.post("reclaim", **site.rae.key()))
    review.refresh_from_db()
    assert review.contact == site.rae.user
    assert "Well done" in review.tfields
    assert "made anonymous of you" in text_of(site.rae.post("reclaim", **site.rae.key()))


def test_one_of_many_anonymous_reviews_is_found_by_its_paper(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.hotcrp_sim.views.disguised.EDITABLE_AT_ONCE", 2)
    site.anonymise()
    shown = text_of(site.rae.post("disguised", **site.rae.key()))
    assert "These are the first 2" in shown
    assert "Lazy Paging" not in shown
    shown = text_of(site.rae.post("disguised", **site.rae.key(paper=site.lazy.pk)))
    assert "Lazy Paging" in shown
    assert "Reversible Logs" not in shown
    assert "Anonymous reviews" not in text_of(site.rae.post("disguised", **site.rae.key(paper=site.quiet.pk)))


def test_after_removing_the_account_its_reviews_can_be_edited(site: Site) -> None:
    receipt = site.rae.remove()
    shown = text_of(site.rae.post("disguised", recovery_code=site.rae.recovery_code))
    assert "You removed your account" in shown
    assert "Finishing the deletion" not in shown
    review = m.PaperReview.objects.get(tfields__contains="Verdict RAE on Reversible")
    site.rae.post("disguised-review", recovery_code=site.rae.recovery_code, review=review.review_id, **REVIEW)
    assert "Well done" in text_of(site.bea.get("paper", site.reversible.pk))
    assert "It is back" in text_of(site.rae.post("privacy:return", **site.rae.key(receipt=receipt)))


def test_a_typing_error_in_the_key_loses_no_review(site: Site) -> None:
    site.anonymise()
    review = m.PaperReview.objects.get(tfields__contains="Verdict RAE on Reversible")
    for wrong in ({"password": "wrong"}, {"password": ""}, {"identifier": "mia@example.org"}):
        answer = text_of(site.rae.post("disguised-review", **site.rae.key(review=review.review_id, **REVIEW) | wrong))
        assert "The review is not saved yet" in answer
        assert "Well done." in answer
    answer = text_of(
        site.rae.post("disguised-review", **site.rae.key(review=review.review_id, **{**REVIEW, "t02": ""}))
    )
    assert "Write something for the authors" in answer
    assert "They log in reverse." in answer


@pytest.mark.parametrize("data", [{}, {"review": "x"}, {"review": "1"}, {"review": str(2**40)}])
def test_an_incomplete_form_for_an_anonymous_review_changes_nothing(data: dict[str, str], site: Site) -> None:
    site.anonymise()
    before = dump()
    assert site.chair.post("disguised-review", **site.chair.key(**data)).status_code == 200
    assert dump() == before


def test_a_conference_anonymised_twice_is_reclaimed_at_once(site: Site) -> None:
    before = dump()
    for _ in range(2):
        site.anonymise()
    for visitor in (site.chair, site.rae):
        shown = text_of(visitor.post("disguised", **visitor.key()))
        assert shown.count("The chairs anonymised the conference") == 1
    answer = site.rae.post("reclaim", **site.rae.key())
    assert "It is back" in text_of(answer)
    owner = [field.column for field in m.PaperReview._meta.fields].index("contactId")
    mine = [row[:owner] for row in before["PaperReview"] if row[owner] == site.rae.pk]
    assert [row[:owner] for row in dump()["PaperReview"] if row[owner] == site.rae.pk] == mine
    assert m.ContactInfo.objects.get(pk=site.rae.pk).email == "rae@example.org"


def test_reclaim_with_another_address_when_ones_own_is_taken(site: Site, client: Client) -> None:
    site.anonymise()
    m.ContactInfo.objects.create_user(site.rae.email, "finders keepers")
    asked = site.rae.post("reclaim", **site.rae.key())
    field, value = "instead-hotcrp_sim.contactinfo.email", "rae2@example.org"
    assert f'name="{field}"' in text_of(asked)
    receipt = asked.context["form"]["receipt"].value()
    assert site.rae.get("pc").status_code == 403  # without her address she has no office
    sent = site.rae.key(receipt=receipt, mail_code=mails.address_code(value), **{field: value})
    assert "It is back" in text_of(site.rae.post("privacy:bring-back", **sent))
    assert site.rae.get("pc").status_code == 200
    client.post(reverse("hotcrp:login"), {"email": value, "password": PASSWORD})
    assert "Rae Example" in text_of(client.get(reverse("hotcrp:account")))
    with edna.unlock(identifier=identifier(value), password=PASSWORD):
        pass


def test_leaving_then_anonymising_is_undone_in_that_order(site: Site) -> None:
    """Who has removed the account comes back first, and then takes the name back."""
    receipt = site.rae.remove()
    site.anonymise()
    shown = text_of(site.rae.post("disguised", **site.rae.key()))
    assert "You removed your account" in shown
    assert "show my name again" not in shown
    assert "Come back to it first" in text_of(site.rae.post("reclaim", **site.rae.key()))
    answer = text_of(site.rae.post("privacy:return", **site.rae.key(receipt=receipt)))
    assert "This was hidden once more since" in answer
    assert "It is back" in text_of(site.rae.post("reclaim", **site.rae.key()))
    assert m.PaperReview.objects.filter(contact=site.rae.user).count() == 3


def test_an_account_without_an_address_says_which_it_was(site: Site) -> None:
    """While the conference is anonymised the key opens with the address that was. A new password waits until it is back."""
    site.anonymise()
    assert "identifier" in site.rae.get("privacy:apply", REMOVE).context["form"].fields
    refused = site.rae.post("privacy:forgotten", recovery_code=site.rae.recovery_code, new_password=NEW, again=NEW)
    assert "Take your name back first" in text_of(refused)
    assert "Good-bye" in text_of(site.rae.leave(**site.rae.key()))
    assert SESSION_KEY not in site.rae.client.session


def test_secrets_are_in_no_address_and_no_session(site: Site) -> None:
    site.anonymise()
    answer = site.rae.post("disguised", **site.rae.key())
    assert "edna1:" not in text_of(answer)
    assert "?" not in "".join(re.findall(r'(?:href|action)="([^"]*)"', text_of(answer)))
    assert "edna1:" not in repr(dict(site.rae.client.session))


# Words


def test_every_error_of_edna_is_explained() -> None:
    def all_kinds(kind: type[Exception]) -> list[type[Exception]]:
        return [kind, *(below for each in kind.__subclasses__() for below in all_kinds(each))]

    for kind in all_kinds(edna.errors.EdnaError):
        sentence = words.WORDS.explain(kind("internal words"))
        assert "internal words" not in sentence
        assert "{" not in sentence
        assert sentence.endswith(".")


@pytest.mark.once
def test_plan_history_outcome_commands_and_pages_count_each_row_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rae reviews, comments, has preferences, and asked somebody else for a review."""

    def bring_back(receipt: edna.Receipt) -> list[str]:
        answer = Client().post(reverse("hotcrp-privacy:return"), site.rae.key(receipt=str(receipt)))
        lines: list[str] = answer.context["restored"]
        return lines

    counts = counted_alike(
        REMOVE,
        site.rae.user,
        site.rae.recovery_code,
        monkeypatch=monkeypatch,
        bring_back=bring_back,
        previewed=lambda: site.rae.get("privacy:apply", REMOVE).context["preview"],
        listed=lambda _: (
            Client().post(reverse("hotcrp-privacy:hidden"), site.rae.key()).context["entries"][0]["covers"]
        ),
        said=page_words.counts,
    )
    mine = m.PaperReview.objects.filter(Q(contact=site.rae.user) | Q(requested_by=site.rae.user)).count()
    assert (counts["hotcrp_sim.contactinfo"], counts["hotcrp_sim.paperreview"]) == (1, mine)


@pytest.mark.once
def test_a_conference_anonymised_twice_counts_each_row_once(site: Site) -> None:
    """The second time it is the rows of placeholders. To their owner it is one thing, and each row is one."""
    with site.rae.unlock() as unlocked:
        counts = edna.plan(ANONYMIZE, site.rae.user).counts
        site.anonymise()
        site.anonymise()
        assert len(edna.history(unlocked)) > 1
    listed = Client().post(reverse("hotcrp:disguised"), site.rae.key()).context["anonymised"].counts
    assert sorted(listed) == sorted(count_each(counts))
    answer = site.rae.post("reclaim", **site.rae.key())
    assert sorted(answer.context["restored"]) == sorted(page_words.counts(counts))
    assert answer.context["deferred"] == []
