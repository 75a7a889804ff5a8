"""A case of misconduct: two chairs read together who wrote a review, in browsers of their own; none alone, and the writer is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.apps import apps
from django.core import mail
from django.urls import reverse

import edna
from apps.hotcrp_sim import cases, keys
from apps.hotcrp_sim import models as m
from edna import audiences
from edna.operations import audit

from .conftest import PASSWORD
from .people import Site, Visitor, enter, make_site, text_of
from .test_browser import Walker

pytestmark = [pytest.mark.once, pytest.mark.long]
REASON = "The authors were threatened <in writing>"


@pytest.fixture
def site(db: None) -> Site:
    return make_site()


class Held(dict[str, str]):
    """The keys of chairs, by their names; the audience is made."""

    def __init__(self, *names: str) -> None:
        made = {name: audiences.new_member() for name in names}
        super().__init__({name: each.secret_key.expose_text() for name, each in made.items()})
        first, *others = names
        cases.begin_or_add(self[first], {name: made[name].card for name in others}, called=first)


@pytest.fixture
def held(site: Site) -> Held:
    return Held("Chair Example", "Dan Example")


@pytest.fixture
def dan(site: Site) -> Visitor:
    return enter("dan@example.org", m.CHAIR, with_key=False)


def review(site: Site) -> m.PaperReview:
    return m.PaperReview.objects.get(paper=site.fair, review_ordinal=1)


def opened(chair: Visitor, site: Site, key: str) -> cases.Case:
    answer = chair.post("case-open", review=f"{site.fair.pk}A", reason=REASON, chair_key=key)
    assert answer.status_code == 302, text_of(answer)
    return cases.every()[0]


@pytest.mark.django_db
def test_two_chairs_read_it_together_and_nobody_alone(site: Site, held: Held, dan: Visitor) -> None:
    edna.disguise_all(cases.anonymising())
    case = opened(site.chair, site, held["Chair Example"])
    alone = site.chair.post("case", case.number, do="read", chair_key=held["Chair Example"])
    assert "Nobody reads it alone" in text_of(alone)
    assert "Rob" not in text_of(alone)
    # Who reads has agreed.
    assert "have not agreed" in text_of(dan.post("case", case.number, do="read", chair_key=held["Dan Example"]))
    assert dan.post("case", case.number, do="agree", chair_key=held["Dan Example"]).status_code == 302
    assert not [entry for entry in audit.entries(most=9) if entry.action == "held-data-read"]
    for chair, key in ((site.chair, held["Chair Example"]), (dan, held["Dan Example"])):
        said = text_of(chair.post("case", case.number, do="read", chair_key=key))
        assert "Rob Example" in said
        assert "rob@example.org" in said
        # What the same bag holds besides is not shown.
        assert not [each for each in ("Rae", "Secret ROB", "Verdict ROB", "Reversible", "Cleo") if each in said]
    noted = [entry for entry in audit.entries(most=9) if entry.action == "held-data-read"]
    assert {entry.operator for entry in noted} == {"Chair Example", "Dan Example"}
    (case,) = cases.every()
    assert case.readings == 2
    # The page does not show it to who comes back without the key.
    assert "Rob Example" not in text_of(site.chair.get("case", case.number))


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["rae", "bea", "mia"])
def test_the_committee_and_authors_see_no_case(site: Site, held: Held, who: str) -> None:
    """Not with a chair's key either."""
    edna.disguise_all(cases.anonymising())
    case, visitor = opened(site.chair, site, held["Chair Example"]), getattr(site, who)
    for page, *number in (("cases",), ("case-open",), ("case", case.number)):
        assert visitor.get(page, *number).status_code == 403
    for do in ("agree", "read"):
        assert visitor.post("case", case.number, do=do, chair_key=held["Dan Example"]).status_code == 403
    assert not any(request.agreed[1:] for request in audiences.requests(cases.AUDIENCE))


@pytest.mark.django_db
def test_a_key_of_somebody_else_opens_no_case(site: Site, held: Held, dan: Visitor) -> None:
    edna.disguise_all(cases.anonymising())
    case = opened(site.chair, site, held["Chair Example"])
    stranger = audiences.new_member().secret_key.expose_text()
    for key, said in ((stranger, "of nobody who may read"), ("rubbish", "no chair key")):
        for do in ("agree", "read"):
            assert said in text_of(dan.post("case", case.number, do=do, chair_key=key))
        assert said in text_of(dan.post("case-open", review=f"{site.fair.pk}A", reason="x", chair_key=key))
    assert len(cases.every()) == 1


@pytest.mark.django_db
def test_without_keys_of_chairs_nobody_but_the_writer_can_tell(site: Site, dan: Visitor) -> None:
    """Nor afterwards: what was taken away before they had keys stays with its owner."""
    assert (cases.removing(), cases.anonymising()) == (keys.REMOVE, keys.ANONYMISE)
    edna.disguise_all(cases.anonymising())
    held = Held("Chair Example", "Dan Example")
    answer = site.chair.post("case-open", review=f"{site.fair.pk}A", reason="x", chair_key=held["Chair Example"])
    assert "Nothing about this is held" in text_of(answer)
    assert cases.every() == []


@pytest.mark.django_db
def test_whose_name_shows_or_where_a_chair_has_a_conflict_no_case_is_opened(site: Site, held: Held) -> None:
    def said(review: str) -> str:
        answer = site.chair.post("case-open", review=review, reason="x", chair_key=held["Chair Example"])
        assert answer.status_code == 200
        return text_of(answer)

    assert "is not hidden" in said(f"{site.fair.pk}A")
    assert "You have a conflict" in said(f"{site.reversible.pk}A")
    for name in ("", "12", f"{site.fair.pk}Z", "A12", "9999999999A"):
        assert "no submitted review" in said(name) or "required" in said(name)


@pytest.mark.django_db
def test_with_too_few_chairs_left_nobody_is_told_that_chairs_can_read(site: Site, held: Held) -> None:
    assert cases.removing() == keys.REMOVE + keys.HELD
    gone = next(person.id for person in cases.chairs() if person.name == "Dan Example")
    audiences.leave(cases.AUDIENCE, held["Chair Example"], gone)
    assert (cases.removing(), cases.anonymising()) == (keys.REMOVE, keys.ANONYMISE)
    assert "Too few of those are left" in text_of(site.chair.get("cases"))
    page = text_of(site.rob.get("privacy:apply", cases.removing()))
    assert "can read together what this hides" not in page


@pytest.mark.django_db
def test_what_somebody_took_away_of_the_chairs_keys_is_not_told_as_a_mistyped_card(site: Site, held: Held) -> None:
    """Past the site: chairs would begin anew, and what is held would go."""
    apps.get_model("edna_audiences", "AudienceUpdate").objects.all().delete()
    card = f"Eve Example: {audiences.new_member().card}"
    page = text_of(site.chair.post("case-chairs", cards=card, chair_key=held["Chair Example"]))
    assert "not whole" in page
    assert "mistyped" not in page


@pytest.mark.django_db
def test_who_leaves_is_told_before_and_by_the_receipt_and_is_offered_nothing_else(site: Site, held: Held) -> None:
    said = "2 of the people in “chairs” can read together what this hides"
    page = site.rob.get("privacy:apply", cases.removing())
    assert said in text_of(page)
    assert site.rob.get("privacy:apply", keys.REMOVE).status_code == 404
    answer = site.rob.post(
        "privacy:apply",
        cases.removing(),
        seen=page.context["form"]["seen"].value(),
        secret_key=site.rob.secret_key.expose_text(),
    )
    assert said in text_of(answer)
    token = re.search(r'name="receipt_token" value="([^"]+)"', text_of(answer))[1]  # type: ignore[index]
    assert said in text_of(site.rob.client.post(reverse("hotcrp-privacy:receipt-file"), {"receipt_token": token}))


@pytest.mark.django_db
def test_whose_name_was_given_up_in_two_steps_is_read_in_two(site: Site, held: Held, dan: Visitor) -> None:
    """Anonymised, and then removed with the key, which gives what was anonymous to others."""
    edna.disguise_all(cases.anonymising())
    with site.rob.unlock() as unlocked:
        edna.disguise(cases.removing(), site.rob.user, unlocked=unlocked)
    case, chairs = (
        opened(site.chair, site, held["Chair Example"]),
        ((site.chair, "Chair Example"), (dan, "Dan Example")),
    )
    dan.post("case", case.number, do="agree", chair_key=held["Dan Example"])
    assert "in two steps" in text_of(site.chair.post("case", case.number, do="read", chair_key=held["Chair Example"]))
    further = next(each for each in cases.every() if each.reference != case.reference)
    assert "Rob" not in text_of(dan.post("case", further.number, do="read", chair_key=held["Dan Example"]))
    dan.post("case", further.number, do="agree", chair_key=held["Dan Example"])
    for chair, name in chairs:
        assert "Rob Example" in text_of(chair.post("case", further.number, do="read", chair_key=held[name]))


@pytest.mark.django_db
def test_a_chair_who_comes_later_reads_once_two_have_handed_on(site: Site, held: Held, dan: Visitor) -> None:
    edna.disguise_all(cases.anonymising())
    eve = enter("eve@example.org", m.CHAIR, with_key=False)
    shown = text_of(eve.post("case-key"))
    key = re.search(r'id="chair-key">([^<]+)', shown)[1]  # type: ignore[index]
    card = re.search(r'id="chair-card">([^<]+)', shown)[1]  # type: ignore[index]
    site.chair.post("case-chairs", cards=card, chair_key=held["Chair Example"])
    assert "Eve Example cannot read yet" in text_of(eve.get("cases"))
    case = opened(site.chair, site, held["Chair Example"])
    assert "came later" in text_of(eve.post("case", case.number, do="agree", chair_key=key))
    assert "A card is mistyped" in text_of(site.chair.post("case-chairs", cards=card, chair_key=held["Chair Example"]))
    for chair, name in ((site.chair, "Chair Example"), (dan, "Dan Example")):
        assert chair.post("case-hand-on", chair_key=held[name]).status_code == 302
    assert "cannot read yet" not in text_of(eve.get("cases"))
    eve.post("case", case.number, do="agree", chair_key=key)
    dan.post("case", case.number, do="agree", chair_key=held["Dan Example"])
    assert "Rob Example" in text_of(eve.post("case", case.number, do="read", chair_key=key))


@pytest.mark.browser
def test_two_chairs_in_their_browsers(new_page: Any, live_server: Any, transactional_db: None) -> None:
    """They make keys, anonymise, and read together; a chair alone is refused, so is a member of the committee; the writer is told."""
    site = make_site()
    enter("dan@example.org", m.CHAIR, with_key=False)
    ada, dan, rae = (Walker(new_page(), live_server.url) for _ in range(3))
    ada.log_in("chair@example.org")
    dan.log_in("dan@example.org")
    ada.go("cases")
    ada.sees("nobody but the writer can tell")
    ada.picture("60-no-keys")
    made = {}
    for walker in (ada, dan):
        walker.go("cases")
        walker.press("Make my key")
        walker.sees("This page is shown once")
        made[walker] = [walker.page.locator(f"#chair-{what}").inner_text() for what in ("key", "card")]
    ada.picture("61-chair-key")
    ada.follow("I have the cards of the others")
    ada.fill(cards=made[dan][1], chair_key=made[ada][0])
    ada.picture("62-begin")
    ada.press("Begin with these chairs")
    ada.sees("Chair Example, Dan Example")

    # Whoever leaves is told.
    rae.log_in("rae@example.org")
    rae.privacy("home")
    rae.follow("Remove your account")
    rae.sees("2 of the people in “chairs” can read together what this hides")
    rae.picture("63-told-before")

    # The names go.
    ada.go("anonymise")
    ada.sees("two chairs can read together who wrote a review")
    ada.fill(confirmation="anonymise the conference")
    ada.press("Anonymise the conference")
    ada.sees("The conference is anonymous")
    told = next(message.body for message in mail.outbox if message.to == ["rae@example.org"])
    assert "two of the chairs, who each give their key" in told

    # A case: nobody reads it alone.
    ada.go("cases")
    ada.follow("Open a case")
    ada.fill(review=f"{site.lazy.pk}A", reason=REASON, chair_key=made[ada][0])
    ada.picture("64-open")
    ada.press("Open the case")
    ada.follow(f"{site.lazy.pk}A")
    ada.fill(chair_key=made[ada][0])
    ada.press("Read who wrote it")
    ada.sees("Nobody reads it alone")
    ada.picture("65-alone")
    ada.misses("Rae Example")
    rae.log_in("mia@example.org")  # of the committee
    assert rae.page.goto(ada.page.url).status == 403
    rae.sees("for the chairs")

    # A second chair agrees, and both read.
    dan.go("cases")
    dan.picture("66-cases")
    dan.follow(f"{site.lazy.pk}A")
    dan.sees(REASON)
    dan.fill(chair_key=made[dan][0])
    dan.press("Agree")
    dan.sees("You have agreed")
    dan.picture("67-agreed")
    for walker in (ada, dan):
        walker.fill(chair_key=made[walker][0])
        walker.press("Read who wrote it")
        walker.sees("Rae Example", "rae@example.org")
        walker.misses("Rob Example", "Secret RAE")
    ada.picture("68-read")

    # The writer is told when she takes her name back.
    rae.page.context.clear_cookies()
    rae.go("reclaim")
    rae.fill(identifier="rae@example.org", password=PASSWORD)
    rae.press("Reclaim, show my name again")
    rae.sees("It is back", "2 of the people in “chairs” have read this together", REASON)
    rae.picture("69-told-afterwards")
    assert (ada.errors, dan.errors) == ([], [])
