"""The first page: what somebody can do, in the site's words and in numbers."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.template import RequestContext, Template
from django.test import Client, RequestFactory

import edna
from edna.pages.hidden_data import titles
from edna.testing import Person
from edna.urls import Pages
from tests.pages.bare.club.models import Comment
from tests.pages.bare.conftest import PASSWORD
from tests.pages.bare.visitor import Visitor


def test_it_offers_what_says_so_with_numbers_that_are_true(visitor: Visitor, bea: Person) -> None:
    page = visitor.open("/privacy/")
    assert "Delete your account" in page
    assert "Your account and your notes leave the site." in page
    assert "Removed: 2 notes" in page
    assert "Removed: your account" in page
    assert "Disown remarks" in page
    assert "Kept, but without your name: 1 remark" in page
    assert "tidy" not in page.lower()
    assert "no-store" in visitor.response.headers["Cache-Control"]
    edna.disguise("club.disown-remarks", bea.user)
    page = visitor.open("/privacy/")
    assert "Kept, but without your name" not in page
    assert "There may be more that carried your name once" in page


def test_it_is_for_those_who_are_logged_in(client: Client) -> None:
    assert client.get("/privacy/").url == "/login/?next=/privacy/"


def test_the_list_of_what_is_hidden_leads_to_where_it_is_changed(settings: Any, visitor: Visitor, bea: Person) -> None:
    """To the site's own page for a row, where it has one; and calls it as the site does, with a key in the browser, too."""
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    remark = Comment.objects.get(author=bea.user)
    edna.disguise("club.disown-remarks", bea.user)
    visitor.open("/privacy/hidden/")
    assert "Remarks by nobody" in visitor.press("Show it", password=PASSWORD)
    assert f'<a href="/remarks/{remark.pk}/edit/">Remark “bea agrees”</a>' in visitor.response.content.decode()
    remark.delete()
    visitor.open("/privacy/hidden/")
    assert "Change what stands here" not in visitor.press("Show it", password=PASSWORD)


def test_a_script_learns_all_titles_and_says_none(bea: Person) -> None:
    class Named(Pages):
        def title_of(self, entry: Any) -> str:
            return f"{User.objects.get(pk=1 + entry.params['year']).username}" if entry.params else "Gone"

        def titles_of(self, name: str) -> Any:
            return [({"year": 2020}, "What is old")] if name == "club.tidy" else []

    assert titles(Named())["titles"]["club.leave"] == "Gone"
    assert titles(Named())["titles_of"]["club.tidy"] == [[{"year": 2020}, "What is old"]]


def test_styles_and_scripts_have_the_nonce_of_a_policy_that_has_one(rf: RequestFactory) -> None:
    request = rf.get("/")
    page = Template("{% include 'edna/_assets.html' %}")
    assert "nonce" not in page.render(RequestContext(request))
    request.csp_nonce = "a word of this answer"  # type: ignore[attr-defined]
    assert page.render(RequestContext(request)).count(' nonce="a word of this answer"') == 2
