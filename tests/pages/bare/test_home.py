"""The first page: what somebody can do, in the site's words and in numbers."""

from __future__ import annotations

from django.template import RequestContext, Template
from django.test import Client, RequestFactory

import edna
from edna.testing import Person
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


def test_styles_and_scripts_have_the_nonce_of_a_policy_that_has_one(rf: RequestFactory) -> None:
    request = rf.get("/")
    page = Template("{% include 'edna/_assets.html' %}")
    assert "nonce" not in page.render(RequestContext(request))
    request.csp_nonce = "a word of this answer"  # type: ignore[attr-defined]
    assert page.render(RequestContext(request)).count(' nonce="a word of this answer"') == 2
