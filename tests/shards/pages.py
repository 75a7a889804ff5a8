"""The operators' pages of a site with two databases: `python -m tests.shards.pages STORY ...`, as `run` tells its own."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.test import Client, override_settings  # noqa: E402

import edna  # noqa: E402
from edna import Disguise, registry  # noqa: E402
from edna.operations import jobs  # noqa: E402
from tests.shards.run import SHARDS, away, both, crowd, everything, manage, tell, untouched_rows  # noqa: E402
from tests.upgrades.club.models import Note  # noqa: E402

stories: dict[str, Callable[[], None]] = {}
VEIL = "/admin/edna_operations/disguisecatalogue/club.veil"


def story(each: Callable[[], None]) -> Callable[[], None]:
    stories[each.__name__] = each
    return each


def operator() -> Client:
    """Of the database in which no people are, with a primary key that somebody has in each of the others."""
    olga = User.objects.db_manager("default").create_superuser("olga", password="login", pk=5)
    client = Client()
    client.force_login(olga)
    return client


def shown(response: Any) -> str:
    assert response.status_code == 200, (response.status_code, response.content[-500:])
    return re.sub(r"\s+", " ", response.content.decode())


def hidden(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))


@story
def a_disguise_is_previewed_and_applied_in_the_chosen_database() -> None:
    crowd()
    client = operator()
    page = shown(client.get(f"{VEIL}/?database=south"))
    assert '<strong aria-current="true">south</strong>' in page
    assert '<a href="?database=north">north</a>' in page
    assert hidden(page)["database"] == "south"
    for whom in ({"whom": "everybody"}, {"whom": "one", "person": "5"}, {"whom": "one", "person": "south-5"}):
        preview = shown(client.post(f"{VEIL}/preview/", {**whom, "database": "south"}))
        assert hidden(preview)["database"] == "south"
        assert "?database=north" not in preview  # what was sent is of one
        # The operator has the primary key of one of them, and is nobody there.
        assert "own account" not in preview
    page = shown(client.post(f"{VEIL}/preview/", {"whom": "one", "person": "north-5", "database": "south"}))
    assert "No auth.User has" in page
    with untouched_rows("north"):
        given = {"whom": "everybody", "confirmation": "club.veil"}
        given |= hidden(shown(client.post(f"{VEIL}/preview/", {"whom": "everybody", "database": "south"})))
        # What was previewed in the south is not applied in the north.
        page = shown(client.post(f"{VEIL}/apply/", {**given, "database": "north"}))
        assert "too old, or not yours" in page
        assert jobs.reports() == []
        response = client.post(f"{VEIL}/apply/", given)
        (report,) = jobs.reports()
        assert (report.database, report.total) == ("south", 3)
        assert response["Location"].endswith(f"/{report.id}/")
        manage("edna_run")
    assert "<dt>Database</dt><dd>south</dd>" in shown(client.get(response["Location"]))


@story
def the_list_of_jobs_is_of_all_and_names_the_database() -> None:
    crowd()
    client = operator()
    for alias in SHARDS:
        with edna.on(alias):
            jobs.start("club.veil", operator="olga")
    page = shown(client.get("/admin/edna_operations/job/"))
    assert all(f"in {alias}, by olga" in page for alias in SHARDS)
    for report in jobs.reports():
        address = f"/admin/edna_operations/job/{report.id}/"
        client.post(f"{address}pause/")
        assert f"<dt>Database</dt><dd>{report.database}</dd>" in shown(client.get(address))
    assert {str(report.state) for report in jobs.reports()} == {"paused"}


@story
def health_and_trail_are_of_the_chosen_database() -> None:
    people = crowd()
    client = operator()
    edna.disguise("club.veil", people["south"][0], operator="sonja")
    for address, here, there in (
        ("/admin/edna_operations/sitehealth/", "The only entry verifies.", "Nothing has been noted yet."),
        ("/admin/edna_operations/auditentry/", "sonja", "0 entries"),
    ):
        north, south = (shown(client.get(f"{address}?database={alias}")) for alias in SHARDS)
        assert here in south, address
        assert here not in north, address
        assert here not in shown(client.get(address)), address
        assert there not in south, address
        assert client.get(f"{address}?database=default").status_code == 404
    assert "<h1>Audit trail: south</h1>" in south
    health = shown(client.get("/admin/edna_operations/sitehealth/?database=south"))
    assert "manage.py check --tag edna --tag database --database south" in health


@story
def what_is_sent_without_a_database_does_nothing() -> None:
    crowd()
    client = operator()
    for given in ({}, {"database": "default"}):
        assert client.post(f"{VEIL}/preview/", {"whom": "everybody", **given}).status_code == 404
        assert client.post(f"{VEIL}/apply/", {"whom": "everybody", **given}).status_code == 404


@story
def a_list_of_people_is_of_its_own_database() -> None:
    from django.contrib import admin
    from django.contrib.auth.admin import UserAdmin

    crowd()
    client = operator()
    page = admin.site.get_model_admin(User)
    given = {"action": "apply_disguise", "_selected_action": ["5", "6"], "index": "0"}
    before = UserAdmin.get_queryset
    for alias in ("south", "default"):
        page.get_queryset = lambda request, alias=alias: before(page, request).using(alias)  # type: ignore[method-assign]
        response = client.post("/admin/auth/user/", given, follow=True)
        if alias == "south":
            assert hidden(shown(response))["database"] == "south"
        else:
            assert "not one of people: 'north', 'south'" in html.unescape(shown(response))


@story
def people_leave_and_come_back_by_the_pages() -> None:
    """Two with one primary key and one name, each logged in: one of them leaves, and comes back by password and receipt."""
    people = dict(zip(SHARDS, both(), strict=True))
    for person in people.values():
        edna.register_principal(person, password="login")
    clients = {alias: Client() for alias in SHARDS}
    for alias, client in clients.items():
        client.force_login(people[alias], backend=f"tests.shards.backends.{alias.capitalize()}")

    @edna.register
    class Out(Disguise):
        """Takes the notes away, and who wrote them."""

        name = "club.out"
        self_service = True
        transformations = [*registry.get("club.veil").steps()]

    try:
        before = everything("north", without="django_session")
        client = clients["south"]
        page = shown(client.get("/privacy/"))
        address = re.search(r'href="(/privacy/[^"]*club.out[^"]*)"', page)
        assert address is not None, page
        with untouched_rows("north"):
            page = shown(client.get(address[1]))
            done = shown(client.post(address[1], {**hidden(page), "password": "login"}, follow=True))
        receipt = re.search(r"edna1:club\.out:\w+", done)
        assert receipt is not None, done
        assert not Note.objects.using("south").filter(author=5).exists()
        with untouched_rows("north"):
            given = {"receipt": receipt[0], "password": "login"}
            page = shown(client.post("/privacy/back/", given, follow=True))
        assert Note.objects.using("south").filter(author=5).count() == 2
        assert everything("north", without="django_session") == before
        assert client.get("/privacy/").wsgi_request.user == people["south"]
    finally:
        edna.registry.unregister(Out)


@story
def people_come_back_by_the_pages_while_another_database_is_away() -> None:
    given = {}
    for alias, person in zip(SHARDS, both(), strict=True):
        edna.register_principal(person, password=f"a long walk in the {alias}")
        receipt = str(edna.disguise("club.veil", person))
        given[alias] = {"receipt": receipt, "identifier": "bea", "password": f"a long walk in the {alias}"}
    for alias, other in (("north", "south"), ("south", "north")):
        veiled = everything(alias)
        with away(other):
            page = shown(Client().post("/privacy/back/", given[other]))
            assert "try again in a minute" in page
            assert "do not answer" not in page  # which databases there are is nobody's business
        assert everything(alias) == veiled
    for alias, other in (("north", "south"), ("south", "north")):
        with away(other):
            shown(Client().post("/privacy/back/", given[alias], follow=True))
        assert Note.objects.using(alias).filter(author=5).count() == 2


@story
def one_database_is_named_nowhere() -> None:
    from django.conf import settings

    with override_settings(EDNA={**settings.EDNA, "DATABASES": []}):
        manage("edna_keys", "add", operator="olga")
        client = operator()
        for address in (f"{VEIL}/", "/admin/edna_operations/sitehealth/", "/admin/edna_operations/auditentry/"):
            page = shown(client.get(address))
            assert "database=" not in page
            assert 'name="database"' not in page
        shown(client.post(f"{VEIL}/preview/", {"whom": "everybody"}))


if __name__ == "__main__":
    print(json.dumps(tell({name: stories[name] for name in sys.argv[1:] or stories})))
