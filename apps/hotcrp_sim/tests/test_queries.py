"""Every page takes a number of statements that does not grow with the conference, nor with how many placeholders there are."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.hotcrp_sim import models as m

from .people import Site, Visitor, add_author, add_comment, add_review, conflict, enter, make_paper, make_site

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.thorough]

#: For whom, which page, and the most statements: session, account, settings, conflicts, and what the page is about.
BUDGET = [
    ("rae", "papers", 8),
    ("bea", "papers", 8),
    ("chair", "papers", 8),
    ("rae", "paper", 13),
    ("bea", "paper", 13),
    ("mia", "paper", 14),
    ("rae", "review", 6),
    ("rae", "preferences", 7),
    ("cleo", "conflicts", 7),
    ("rae", "pc", 5),
    ("chair", "dashboard", 11),
    ("chair", "people", 5),
    ("rae", "home", 6),
]


@pytest.fixture
def site(db: None) -> Site:
    return make_site()


def statements(site: Site, name: str, page: str) -> int:
    visitor: Visitor = getattr(site, name)
    arguments = [site.reversible.pk] if page in ("paper", "review") else []
    visitor.get(page, *arguments)  # the first request of a day and session also notes the day
    with CaptureQueriesContext(connection) as captured:
        assert visitor.get(page, *arguments).status_code == 200
    return len(captured)


def grow(site: Site) -> None:
    """More of everything, around the same people: papers, authors, reviewers, reviews, comments, tags, topics, conflicts, preferences."""
    reviewers = [enter(f"reviewer{number}@example.org", m.PC, with_key=False).user for number in range(8)]
    papers = [site.reversible, *(make_paper(f"Paper {number}") for number in range(25))]
    for number, paper in enumerate(papers):
        add_author(paper, enter(f"author{number}@example.org", with_key=False).user, 2)
        conflict(paper, reviewers[number % 8])
        for ordinal, reviewer in enumerate(reviewers, start=3):
            if reviewer is not reviewers[number % 8]:
                add_review(paper, reviewer, "Somebody", ordinal=ordinal, requested_by=reviewers[0])
                add_comment(paper, reviewer, m.FOR_REVIEWERS)
        m.PaperTag.objects.create(paper=paper, tag=f"tag{number}")
        m.PaperTopic.objects.create(paper=paper, topic=m.TopicArea.objects.create(topic_name=f"Topic {number}"))
        m.PaperReviewPreference.objects.create(paper=paper, contact=site.rae.user, preference=number)
        m.Paper.objects.filter(pk=paper.pk).exclude(pk=site.reversible.pk).update(shepherd_contact=reviewers[0])
    for paper in papers[10:20]:
        conflict(paper, site.cleo.user)


@pytest.mark.parametrize(("name", "page", "most"), BUDGET)
def test_a_larger_conference_takes_no_more_statements(name: str, page: str, most: int, site: Site) -> None:
    before = statements(site, name, page)
    grow(site)
    assert statements(site, name, page) == before <= most


@pytest.mark.parametrize(("name", "page"), [(name, page) for name, page, _ in BUDGET if name != "rae"])
def test_placeholders_take_no_more_statements(name: str, page: str, site: Site) -> None:
    before = statements(site, name, page)
    site.rae.remove()
    site.rob.remove()
    assert statements(site, name, page) == before


def test_saving_preferences_takes_as_many_statements_for_a_page_as_for_some_papers(site: Site) -> None:
    def save(count: int, value: int) -> int:
        papers = m.Paper.objects.order_by("pk")[:count]
        data = {f"preference_{paper.pk}": str(value) for paper in papers}
        site.mia.post("preferences", **data)
        with CaptureQueriesContext(connection) as captured:
            assert site.mia.post("preferences", **{name: str(value + 1) for name in data}).status_code == 302
        return len(captured)

    few = save(2, 1)
    for number in range(30):
        make_paper(f"Paper {number}")
    assert save(30, 5) == few
    assert m.PaperReviewPreference.objects.filter(contact=site.mia.user, preference=6).count() == 30
