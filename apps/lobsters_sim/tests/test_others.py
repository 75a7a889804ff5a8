"""Everybody else's pages are the same before, during and after a disguise.

During it they differ in exactly this: who is disguised is called "[anonymous]" and not linked, their hats are off, and, if they
deleted their account, what they wrote reads "[deleted content]" and their links lead nowhere. Afterwards they differ in nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

import edna
from apps.lobsters_sim.disguises import DELETED
from apps.lobsters_sim.keys import identifier

from .conftest import PASSWORD, Person, Site

#: What views say and show; what the database does is in test_disguises.py and test_composition.py, on each.
pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

NAMED = '<a class="author" href="/lobsters/u/bea">bea</a>'
NAMELESS = '<span class="author nobody">[anonymous]</span>'
HAT = ' <span class="hat">Tea taster of example.org</span>'


def pages(client: Client, site: Site, *, member: bool) -> dict[str, str]:
    """What this visitor sees of the site, without the tokens that differ each time."""
    wanted: list[tuple[Any, ...]] = [
        ("front",),
        ("recent",),
        ("comments",),
        ("tag", "compsci"),
        ("tag", "starwars"),
        ("story", site.beas.short_id),
        ("story", site.beas_film.short_id),
        ("story", site.carls.short_id),
        ("comment", site.beas_comment.short_id),
        ("profile", "carl"),
        ("profile", "mod"),
        ("profile-stories", "carl"),
        ("profile-comments", "carl"),
        ("moderations",),
    ]
    if member:
        wanted += [("saved",), ("messages",), ("sent",)]
    found = {}
    for name, *arguments in wanted:
        url = reverse(f"lobsters:{name}", args=arguments)
        response = client.get(url)
        assert response.status_code == 200, url
        found[url] = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())
    return found


def without_name(html: str, site: Site) -> str:
    return html.replace(NAMED, NAMELESS).replace(HAT, "")


def without_text(html: str, site: Site) -> str:
    html = without_name(html, site)
    for story in (site.beas, site.beas_film):
        link = re.escape(f'href="{story.url}" rel="nofollow ugc noopener"')
        html = re.sub(link, f'href="/lobsters/stories/{story.short_id}"', html)
        # The domain stands behind the tags of the story that it is the link of.
        html = re.sub(
            rf'(id="s_{story.short_id}">.*?</span>\n)  <span class="domain">example.org</span>',
            r"\1  ",
            html,
            count=1,
            flags=re.S,
        )
        html = html.replace(story.description, DELETED).replace(story.title, DELETED)
    for comment in (site.beas_comment, site.film_comment):
        html = html.replace(comment.comment, DELETED)
    return html


def without_name_in_the_film(html: str, site: Site) -> str:
    for row in (f"s_{site.beas_film.short_id}", f"c_{site.film_comment.short_id}"):
        html = re.sub(rf'(id="{row}">.*?){re.escape(NAMED)}', rf"\1{NAMELESS}", html, flags=re.S)
    return html


DISGUISES = [
    pytest.param("lobsters.delete-account", {}, without_text, id="delete-account"),
    pytest.param("lobsters.decay", {}, without_name, id="decay"),
    pytest.param("lobsters.topic", {"tag": "starwars"}, without_name_in_the_film, id="topic"),
]


@pytest.mark.parametrize(("name", "params", "change"), DISGUISES)
def test_before_during_and_after(
    name: str,
    params: dict[str, Any],
    change: Callable[[str, Site], str],
    site: Site,
    bea: Person,
    carl: Person,
    mod: Person,
) -> None:
    # A moderator's own pages are different ones, with buttons of their own.
    eyes = {"visitor": (Client(), False), "carl": (carl.client, True), "mod": (mod.client, True)}

    def everything() -> dict[str, dict[str, str]]:
        return {who: pages(client, site, member=member) for who, (client, member) in eyes.items()}

    everything()  # a first look leaves ribbons
    before = everything()
    receipt = edna.disguise(name, bea.user, params=params)
    during = everything()
    for who, seen in before.items():
        for url, html in seen.items():
            assert during[who][url] == change(html, site), (who, url)
    assert any(during[who] != before[who] for who in before)
    with edna.unlock(identifier=identifier("bea"), password=PASSWORD) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    assert everything() == before


@pytest.mark.parametrize("name", ["lobsters.delete-account", "lobsters.decay"])
def test_who_is_away_has_no_page_and_no_hat(name: str, site: Site, bea: Person, carl: Person) -> None:
    edna.disguise(name, bea.user)
    for page in ("profile", "profile-stories", "profile-comments"):
        assert carl.client.get(reverse(f"lobsters:{page}", args=["bea"])).status_code == 404
    site.beas.refresh_from_db()
    placeholder = site.beas.user.username
    assert carl.client.get(reverse("lobsters:profile", args=[placeholder])).status_code == 404
    for url in ("hats", "front", "comments", "moderations"):
        html = carl.client.get(reverse(f"lobsters:{url}")).content.decode()
        assert "Tea taster" not in html
        assert "/u/bea" not in html
        assert placeholder not in html


def test_no_page_links_what_one_person_owns_under_disguise(site: Site, bea: Person, carl: Person) -> None:
    """The number of a placeholder would tie together what it owns."""
    edna.disguise("lobsters.decay", bea.user)
    for row in (site.beas, site.beas_comment):
        row.refresh_from_db()
        for html in pages(carl.client, site, member=True).values():
            assert str(row.user_id) not in html
