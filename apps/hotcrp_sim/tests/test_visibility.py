"""Who sees what, by role: before, under and after each disguise. A disguise changes names on the pages of others, and opens none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

import edna
from apps.hotcrp_sim import models as m
from apps.hotcrp_sim.policy import Conference, Viewer, eligible_reviewers, papers_for
from apps.websubmit.models import User

from .conftest import PASSWORD, REMOVE, dump
from .people import BACKEND, Site, Visitor, add_comment, conflict, enter, make_site, text_of

#: Who sees what, the views decide; what the database does is in test_disguises.py, on each.
pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

PAPERS = ("reversible", "fair", "lazy", "quiet")


@pytest.fixture
def site(db: None) -> Site:
    return make_site()


def opens(site: Site, visitor: Visitor) -> str:
    """The papers that somebody may open, by their first words."""
    return " ".join(name for name in PAPERS if visitor.get("paper", getattr(site, name).pk).status_code == 200)


def listed(site: Site, visitor: Visitor, **query: str) -> str:
    shown = text_of(visitor.get("papers", **query))
    return " ".join(name for name in PAPERS if escape(getattr(site, name).title) in shown)


def body(response: Any) -> str:
    """A page without what differs each time that it is asked for."""
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text_of(response))


def pages(site: Site, visitors: Iterable[Visitor]) -> dict[str, str]:
    """All that these people see of papers, lists and people."""
    found = {}
    for visitor in visitors:
        for name in ("papers", "preferences", "conflicts", "pc", "dashboard", "people"):
            found[f"{visitor.email} {name}"] = body(visitor.get(name))
        for name in PAPERS:
            found[f"{visitor.email} {name}"] = body(visitor.get("paper", getattr(site, name).pk))
    return found


# The roles


def test_papers_by_role(site: Site) -> None:
    """Authors have their own, the committee those without a conflict, a chair no more than that, strangers nothing."""
    expected = {
        "bea": "reversible quiet",
        "adam": "fair quiet",
        "rae": "reversible fair lazy quiet",
        "rob": "reversible fair lazy quiet",
        "cleo": "reversible lazy quiet",
        "mia": "reversible fair lazy quiet",
        "chair": "fair lazy quiet",
        "stranger": "",
    }
    assert {name: opens(site, getattr(site, name)) for name in expected} == expected
    assert {name: listed(site, getattr(site, name)) for name in expected} == expected


def test_a_manager_sees_the_paper_in_spite_of_a_conflict_but_no_author_manages(site: Site) -> None:
    m.Paper.objects.filter(pk=site.reversible.pk).update(manager_contact=site.chair.user)
    assert "Verdict RAE" in text_of(site.chair.get("paper", site.reversible.pk))
    m.Paper.objects.filter(pk=site.lazy.pk).update(manager_contact=site.cleo.user)
    shown = text_of(site.cleo.get("paper", site.lazy.pk))
    assert "Verdict RAE" in shown
    for hidden in ("Rae Example", "Secret RAE", "Cleo must not read this", "Assignments"):
        assert hidden not in shown


def test_papers_that_are_not_in_review_are_for_authors_and_chairs(site: Site) -> None:
    m.Paper.objects.filter(pk=site.quiet.pk).update(time_withdrawn=1)
    m.Paper.objects.filter(pk=site.fair.pk).update(time_submitted=0)
    assert opens(site, site.rae) == "reversible lazy"
    assert opens(site, site.chair) == "fair lazy quiet"
    assert opens(site, site.adam) == "fair quiet"


@pytest.mark.parametrize(
    ("name", "sees", "misses"),
    [
        (
            "bea",
            ["Verdict RAE", "Verdict ROB", "Bea Example (Bea College)", "kind 30004", "kind 40000", "Shepherd"],
            ["Secret RAE", "Rae Example", "kind 30000", "kind 20000", "kind 10000", "discuss", "Assignments", "Mia"],
        ),
        (
            "rae",
            ["Verdict RAE", "Secret ROB", "Rob Example", "kind 30000", "kind 20000", "discuss"],
            ["Bea", "kind 10000", "Assignments", "mine"],
        ),
        ("cleo", ["Verdict RAE", "Secret ROB", "Rae Example"], ["Bea", "kind 10000", "Assignments", "mine"]),
        ("mia", ["Secret RAE", "Rae Example", "Bea Example", "kind 10000", "Assignments"], ["mine"]),
    ],
)
def test_a_paper_by_role(name: str, sees: list[str], misses: list[str], site: Site) -> None:
    """Authors learn no reviewer, reviewers of anonymous submissions no author, and nobody reads what is for others."""
    shown = text_of(getattr(site, name).get("paper", site.reversible.pk)).partition("<main")[2]
    assert [text for text in sees if text not in shown] == []
    assert [text for text in misses if text in shown] == []


def test_reviewers_see_other_reviews_once_they_have_submitted_theirs(site: Site) -> None:
    """And a draft is its writer's alone."""
    shown = text_of(site.rae.get("paper", site.fair.pk))
    assert "Verdict RAE" in shown
    assert "Verdict ROB" not in shown
    assert "once you have submitted yours" in shown
    for other in (site.rob, site.mia, site.chair, site.adam):
        assert "Verdict RAE" not in text_of(other.get("paper", site.fair.pk))
    m.PaperReview.objects.filter(contact=site.rae.user).update(review_submitted=1)
    assert "Verdict ROB" in text_of(site.rae.get("paper", site.fair.pk))


def test_comments_of_reviewers_wait_like_their_reviews(site: Site) -> None:
    add_comment(site.fair, site.rob.user, m.FOR_REVIEWERS, "Just between us.")
    add_comment(site.fair, site.adam.user, m.BY_AUTHOR | m.FOR_REVIEWERS, "We have an erratum.")
    shown = text_of(site.rae.get("paper", site.fair.pk))
    assert "erratum" in shown
    assert "between us" not in shown


@pytest.mark.parametrize(
    ("setting", "value", "name", "text"),
    [
        ("sub_blind", 0, "rae", "Bea Example"),
        ("pc_seeblindrev", 1, "cleo", "Anonymous reviewer"),
        ("rev_blind", 0, "bea", "Rae Example"),
    ],
)
def test_the_conference_says_who_is_blind(setting: str, value: int, name: str, text: str, site: Site) -> None:
    visitor = getattr(site, name)
    assert text not in text_of(visitor.get("paper", site.reversible.pk)).partition("<main")[2]
    m.Settings.objects.create(name=setting, value=value)
    assert text in text_of(visitor.get("paper", site.reversible.pk)).partition("<main")[2]


def test_a_search_tells_nothing_that_the_page_would_not(site: Site) -> None:
    """By author where authors are known, by tag where tags are."""
    assert listed(site, site.rae, q="au:bea") == ""
    assert listed(site, site.mia, q="au:bea@example.org") == "reversible"
    assert listed(site, site.chair, q="au:adam") == "fair quiet"
    assert listed(site, site.bea, q="author:adam") == "quiet"
    assert listed(site, site.rae, q="tag:discuss") == listed(site, site.rae, q="#discuss") == "reversible"
    assert listed(site, site.bea, q="tag:discuss") == ""
    assert listed(site, site.rae, q="tag:mine") == ""
    assert listed(site, site.rae, q=str(site.lazy.pk)) == "lazy"
    assert listed(site, site.rae, q=f'"lazy pag" #{site.lazy.pk}') == "lazy"
    assert listed(site, site.stranger, q="logs") == ""
    assert listed(site, site.chair, q="reversible") == ""


# Somebody removes the account


def test_who_leaves_changes_nothing_on_the_pages_of_authors(site: Site) -> None:
    """Byte for byte: they never saw a name, and still see the reviews."""
    authors = [site.bea, site.adam, site.stranger]
    before = pages(site, authors)
    site.rae.remove()
    assert pages(site, authors) == before
    assert "Verdict RAE" in text_of(site.bea.get("paper", site.reversible.pk))


def test_who_leaves_changes_names_only_on_the_pages_of_the_committee(site: Site) -> None:
    """Papers and lists of papers are the same, with “Anonymous reviewer” for the name. The lists of people lack one entry: those of the
    committee and of all accounts, and the one of whom a chair may ask for a review."""
    others = [site.rob, site.cleo, site.mia, site.chair]
    before = pages(site, others)
    site.rae.remove()
    after = pages(site, others)
    for name, page in before.items():
        if name.endswith((*PAPERS, " papers", " preferences", " conflicts")):
            page = re.sub(r"\s*<option [^>]*>Rae Example</option>", "", page)
            assert after[name] == page.replace("Rae Example", "Anonymous reviewer"), name
        else:
            assert "Rae" not in after[name]
    for name in ("pc", "people"):
        lines = before[f"{site.chair.email} {name}"].splitlines(), after[f"{site.chair.email} {name}"].splitlines()
        assert len(lines[0]) == len(lines[1])
    assert "Anonymous reviewers, together" in after[f"{site.chair.email} dashboard"]


def test_who_returns_makes_every_page_what_it_was(site: Site) -> None:
    others = [visitor for visitor in site.everybody if visitor is not site.rae]
    before, rows = pages(site, others), dump()
    receipt = site.rae.remove()
    with site.rae.unlock() as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    assert dump() == rows
    assert pages(site, others) == before


def test_a_removed_author_leaves_the_paper_and_no_name(site: Site) -> None:
    before = pages(site, [site.rae, site.rob, site.cleo])
    site.bea.remove()
    assert pages(site, [site.rae, site.rob, site.cleo]) == before
    shown = text_of(site.mia.get("paper", site.reversible.pk))
    assert "not named" in shown
    assert "Bea" not in shown


def test_a_removed_manager_and_shepherd_are_somebody_anonymous(site: Site) -> None:
    m.Paper.objects.filter(pk=site.reversible.pk).update(manager_contact=site.rob.user, shepherd_contact=site.mia.user)
    site.mia.remove()
    shown = text_of(site.rob.get("paper", site.reversible.pk))
    assert "somebody anonymous" in shown
    assert "Mia" not in shown


def test_nobody_returns_without_their_conflicts(site: Site) -> None:
    """One that cannot be put back keeps its owner away; one whose paper is gone does not."""
    conflicts = m.PaperConflict.objects.filter(contact=site.cleo.user)
    place = conflicts.get(paper=site.fair).pk
    site.cleo.remove()
    m.PaperConflict.objects.create(pk=place, paper=site.quiet, contact=site.stranger.user)
    before = dump()
    assert "conflicts of interest cannot be put back" in text_of(site.cleo.post("privacy:return", **site.cleo.key()))
    assert dump() == before
    m.PaperConflict.objects.filter(pk=place).delete()
    site.lazy.delete()
    assert "Your account is here" in text_of(site.cleo.post("privacy:return", **site.cleo.key()))
    assert set(conflicts.values_list("paper", flat=True)) == {site.fair.pk}


def test_removing_an_account_closes_nothing(site: Site) -> None:
    for visitor in (site.rae, site.cleo, site.bea):
        visitor.remove()
    assert not Conference.now().closed
    assert opens(site, site.mia) == "reversible fair lazy quiet"


def test_a_placeholder_is_in_no_list_of_people(site: Site) -> None:
    """Neither in the committee, nor found by name, address or affiliation, nor offered for a review."""
    site.rae.remove()
    guise = m.ContactInfo.objects.filter(is_guise=True).first()
    assert guise is not None
    for query in ({}, {"q": guise.email}, {"q": "anonymous.invalid"}, {"q": "@"}):
        shown = text_of(site.chair.get("people", **query)).partition("<h1>")[2]
        assert "anonymous.invalid" not in shown.replace(f'value="{query.get("q")}"', "")
    for page in (site.chair.get("pc"), site.chair.get("dashboard"), site.chair.get("paper", site.fair.pk)):
        assert ".invalid" not in text_of(page)
        assert f'value="{guise.pk}"' not in text_of(page)
    response = site.chair.post("assign", site.quiet.pk, reviewer=guise.pk)
    assert response.status_code == 302
    assert not m.PaperReview.objects.filter(paper=site.quiet).exists()


# The conference is anonymised


def test_anonymising_opens_nothing_to_anybody(site: Site) -> None:
    """Cleo, who is on the committee, would look like anybody without a conflict: with her own paper, and with the one she declared."""
    assert opens(site, site.rob) == "reversible fair lazy quiet"
    site.anonymise()
    assert Conference.now().closed
    for visitor in site.everybody:
        assert opens(site, visitor) == listed(site, visitor) == ""
        for name in PAPERS:
            paper = getattr(site, name)
            assert visitor.get("review", paper.pk).status_code == 404
            assert visitor.post("comment", paper.pk, text="Let me in", audience=m.FOR_PC).status_code == 404
            assert visitor.post("assign", paper.pk, reviewer=site.cleo.pk).status_code == 404
            assert visitor.post("unassign", paper.pk, review=1).status_code == 404
    shown = "".join(text_of(site.chair.get(name)) for name in ("dashboard", "pc", "people", "conflicts", "preferences"))
    for text in ("Verdict", "Rae", "Cleo", "Reversible", "Lazy"):
        assert text not in shown


def test_a_page_that_was_begun_before_shows_nothing_that_is_asked_for_afterwards(site: Site) -> None:
    """The conference was open a moment ago, and the conflict is a placeholder's now: both are asked at once, or not at all."""
    before, conference = [Viewer(visitor.user) for visitor in site.everybody], Conference.now()
    offers = eligible_reviewers(site.reversible)
    assert offers.exists()
    site.anonymise()
    assert not conference.closed
    assert [viewer.pc for viewer in before].count(True) > 1
    assert [list(papers_for(viewer)) for viewer in before] == [[]] * len(before)
    assert not offers.all().exists(), "of nobody can it be told whether they may review"


def test_each_gets_back_what_they_had_and_no_more(site: Site) -> None:
    """Reviewers the papers they review, authors their own as authors, and nobody a paper for the lack of a conflict."""
    before = {visitor.email: set(opens(site, visitor).split()) for visitor in site.everybody}
    site.anonymise()
    for visitor, papers in (
        (site.rae, "reversible fair lazy"),
        (site.cleo, "lazy"),
        (site.mia, "reversible"),
        (site.bea, "reversible quiet"),
        (site.chair, ""),
    ):
        response = visitor.post("reclaim", **visitor.key())
        assert "It is back" in text_of(response)
        assert opens(site, visitor) == papers
        assert set(papers.split()) <= before[visitor.email]
    assert "Cleo must not read this" not in text_of(site.cleo.get("paper", site.lazy.pk))
    # Mia manages a paper again, but of nobody can she tell whether they have a conflict with it.
    assert "Ask for a review" not in text_of(site.mia.get("paper", site.reversible.pk))
    for reviewer in (site.cleo, site.chair):
        assert site.mia.post("assign", site.reversible.pk, reviewer=reviewer.pk).status_code == 404
    assert "Verdict ROB" not in text_of(site.rae.get("paper", site.fair.pk))  # her own is a draft still
    assert "Verdict ROB" in text_of(site.rae.get("paper", site.reversible.pk))
    assert "Rob Example" not in text_of(site.rae.get("paper", site.reversible.pk))


def test_a_conflict_that_is_back_keeps_its_owner_out_under_all_circumstances(site: Site) -> None:
    """Also from a paper that they review, or that they have written a review of under another name."""
    conflict(site.reversible, site.rae.user)
    site.anonymise()
    page = site.rae.post("disguised", **site.rae.key())
    assert "Reversible" not in text_of(page)
    assert "Fair" in text_of(page)
    site.rae.post("reclaim", **site.rae.key())
    assert opens(site, site.rae) == "fair lazy"
    assert site.rae.get("review", site.reversible.pk).status_code == 404


def test_when_all_conflicts_are_back_the_conference_is_open_again(site: Site) -> None:
    """And every page is as before."""
    before, rows = pages(site, site.everybody), dump()
    site.anonymise()
    for visitor in site.everybody:
        with visitor.unlock() as unlocked:
            for entry in edna.history(unlocked):
                assert edna.reveal(entry.receipt, unlocked).complete
    assert dump() == rows
    assert pages(site, site.everybody) == before


def test_an_account_that_lost_its_name_has_no_office(site: Site) -> None:
    """Not with an old session, and not after logging in with the key."""
    site.anonymise()
    fresh = Client()
    answer = fresh.post(reverse("hotcrp:login"), {"email": site.rae.email, "password": PASSWORD})
    assert answer.status_code == 302
    for client in (site.rae.client, fresh):
        for name in ("preferences", "conflicts", "pc", "dashboard", "anonymise", "people"):
            assert client.get(reverse(f"hotcrp:{name}")).status_code == 403
        shown = text_of(client.get(reverse("hotcrp:account")))
        assert "has been anonymised" in shown
        assert "rae" not in shown.lower()
        assert ".invalid" not in shown


def test_the_committee_is_counted_but_not_named(site: Site) -> None:
    site.anonymise()
    shown = text_of(site.chair.get("pc"))
    assert "1 member, and 4 who are not named" in shown
    assert "Chair Example" in shown
    assert ".invalid" not in shown


def test_nobody_declares_or_takes_back_a_conflict_to_get_in(site: Site) -> None:
    """Not authorship, not what others have entered, not where there are reviews already; and an own one only without them."""
    conflict(site.quiet, site.cleo.user)
    conflict(site.quiet, site.mia.user, 3)
    for visitor, paper in ((site.cleo, site.fair), (site.cleo, site.lazy), (site.mia, site.quiet)):
        visitor.post("conflicts", paper=paper.pk, do="undeclare")
        assert m.PaperConflict.objects.filter(paper=paper, contact=visitor.user).exists()
    site.cleo.post("conflicts", paper=site.quiet.pk, do="undeclare")
    assert not m.PaperConflict.objects.filter(paper=site.quiet, contact=site.cleo.user).exists()
    site.anonymise()
    with site.cleo.unlock() as unlocked:
        edna.reveal(site.cleo.receipt(), unlocked)
    before = m.PaperConflict.objects.count()
    for paper in (site.reversible, site.fair, site.quiet):
        site.cleo.post("conflicts", paper=paper.pk, do="declare")
    assert m.PaperConflict.objects.count() == before


# Nobody reveals for somebody else


def test_a_chair_cannot_reveal_for_others(site: Site) -> None:
    """Not with somebody else's receipt and their own key, on no page; and no parameter says for whom."""
    removed = site.rae.remove()
    site.anonymise()
    mias, before = site.mia.receipt(), dump()
    tricks = {"user": site.mia.pk, "contact": site.mia.pk, "principal": site.mia.pk}
    for key in (site.chair.key(), {"recovery_code": site.chair.recovery_code}):
        for page in ("privacy:bring-back", "privacy:return"):
            answer = site.chair.post(page, **{"password": "", **key}, receipt=removed, **tricks)
            assert "It is back" not in text_of(answer)
        refused = site.chair.post("privacy:bring-back", **{"password": "", **key}, receipt=mias, **tricks)
        assert "was given to somebody else" in text_of(refused)
    for name in ("disguised", "reclaim", "privacy:return", "privacy:bring-back", "privacy:hidden"):
        wrong = {"identifier": site.mia.email, "password": "guessed", "receipt": mias}
        assert re.search("does not open (a|your) key", text_of(site.chair.post(name, **wrong)))
    assert dump() == before
    for data in (site.chair.key(receipt=mias, **tricks), site.chair.key(receipt=removed, **tricks)):
        site.chair.post("reclaim", **data)
    # The chair has taken back what was the chair's: one conflict and two requests for a review. Everything else is as anonymous as before.
    named = m.ContactInfo.objects.filter(is_guise=False)
    assert not m.PaperReview.objects.filter(contact__in=named).exists()
    assert not m.PaperComment.objects.filter(contact__in=named).exists()
    assert set(m.PaperConflict.objects.filter(contact__in=named).values_list("contact", flat=True)) == {site.chair.pk}
    assert set(m.PaperReview.objects.values_list("requested_by", flat=True)) & {user.pk for user in named} == {
        site.chair.pk
    }
    assert m.ContactInfo.objects.get(pk=site.mia.pk).is_covered


def test_no_page_shows_a_chair_what_others_have_disguised(site: Site) -> None:
    site.anonymise()
    shown = text_of(site.chair.post("disguised", **site.chair.key()))
    assert "Verdict" not in shown
    assert "The chairs anonymised the conference" in shown
    assert "edna1:" not in shown


def test_who_asked_for_a_review_does_not_speak_for_its_writer(site: Site) -> None:
    """The chair's key speaks for the placeholder that asked Rae for a review: that must open neither the page nor the review."""
    review = m.PaperReview.objects.get(paper=site.reversible, contact=site.rae.user)
    assert review.requested_by == site.chair.user
    site.anonymise()
    with site.chair.unlock() as unlocked:
        review.refresh_from_db()
        assert review.requested_by_id in edna.speaks_for(unlocked, m.ContactInfo)
    before = dump()
    data = {"over_all_merit": 5, "reviewer_qualification": 1, "novelty": 0, "technical_merit": 0}
    data |= {"interest_to_community": 0, "t01": "", "t02": "Forged.", "t03": "", "review": review.review_id}
    for visitor in (site.chair, site.mia, site.cleo):
        answer = text_of(visitor.post("disguised-review", **visitor.key(**data)))
        assert "does not speak for the writer" in answer
        assert "Verdict" not in answer
    assert dump() == before
    answer = text_of(site.rae.client.post(reverse("hotcrp:disguised-review"), site.rae.key(**data), follow=True))
    assert "saved, and still anonymous" in answer
    assert "Forged." in m.PaperReview.objects.get(review_id=review.review_id).tfields


def test_keys_and_receipts_of_another_application_open_nothing_here(site: Site) -> None:
    """A WebSubmit student with the same address, password and all: understandable, and nothing changes there either."""
    student = User.objects.create_user("bea@example.org", PASSWORD)
    registration = edna.register_principal(student, password=PASSWORD)
    there = str(edna.disguise("websubmit.delete-account", student))
    before = dump()
    code = {"recovery_code": str(registration.recovery_code)}
    assert "Nothing is kept under this receipt" in text_of(site.bea.post("privacy:return", **code, receipt=there))
    for name in ("privacy:return", "disguised", "reclaim"):
        assert 'role="alert"' in text_of(site.bea.post(name, **code))
    assert not User.objects.filter(email="bea@example.org").exists()
    with edna.unlock(secret_key=registration.secret_key) as unlocked:
        edna.reveal(there, unlocked)
    for name in ("privacy:return", "disguised", "reclaim"):
        assert re.search("does not open (a|your) key", text_of(site.bea.post(name, **code)))
    assert User.objects.filter(email="bea@example.org").exists()
    assert dump() == before


def test_people_of_another_application_are_strangers(site: Site) -> None:
    """Account 1 there is not account 1 here."""
    student = User.objects.create_user("x@example.org", PASSWORD, pk=site.chair.pk, is_admin=True)
    client = Client()
    client.force_login(student, backend="django.contrib.auth.backends.ModelBackend")
    for name in ("papers", "dashboard", "anonymise", "account"):
        assert client.get(reverse(f"hotcrp:{name}")).headers["Location"].startswith("/hotcrp/login/")


def test_nobody_logs_in_as_a_placeholder(site: Site) -> None:
    site.rae.remove()
    guise = m.ContactInfo.objects.filter(is_guise=True).first()
    client = Client()
    assert not client.login(hotcrp_email=guise.email, password="")
    with pytest.raises(PermissionDenied):
        client.force_login(guise, backend=BACKEND)
    assert client.get(reverse("hotcrp:papers")).status_code == 302


def test_leaving_after_the_conference_was_anonymised_and_returning(site: Site) -> None:
    """With the key, the removal takes what the placeholders have. Coming back and reclaiming gives everything back."""
    before, visitor = dump(), site.rae
    site.anonymise()
    assert edna.plan(REMOVE, visitor.user).beyond_reach.keys() >= {"hotcrp_sim.paperreviewpreference"}
    with visitor.unlock() as unlocked:
        assert edna.speaks_for(unlocked, m.ContactInfo)
    answer = visitor.leave(**visitor.key())
    assert "Good-bye" in text_of(answer)
    receipt = str(answer.context["receipt"])
    assert receipt.startswith(f"edna1:{REMOVE}:")
    assert opens(site, visitor) == ""
    assert m.PaperReview.objects.filter(tfields__contains="Verdict RAE").exists()
    assert not m.PaperReviewPreference.objects.exists()
    assert "Come back to it first" in text_of(visitor.post("reclaim", **visitor.key()))
    assert "It is back" in text_of(visitor.post("privacy:return", **visitor.key(receipt=receipt)))
    assert "It is back" in text_of(visitor.post("reclaim", **visitor.key()))
    assert "Nothing of yours is disguised" in text_of(visitor.post("disguised", **visitor.key()))
    owner = [field.column for field in m.PaperReview._meta.fields].index("contactId")
    mine = [row for row in before["PaperReview"] if row[owner] == visitor.pk]
    assert [row[:2] for row in dump()["PaperReview"] if row[owner] == visitor.pk] == [row[:2] for row in mine]
    fresh = Client()
    fresh.post(reverse("hotcrp:login"), {"email": visitor.email, "password": PASSWORD})
    assert fresh.get(reverse("hotcrp:paper", args=[site.reversible.pk])).status_code == 200


def test_enter_without_a_key() -> None:
    """The helper of these tests makes such people, too."""
    assert not edna.is_registered(enter("dora@example.org", with_key=False).user)
