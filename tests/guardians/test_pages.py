"""The pages of guardians: a person has them keep a way back, loses everything, and comes back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client, override_settings
from django.urls import reverse

import edna
from apps.websubmit.models import User
from edna import guardians
from edna.guardians import http
from tests.guardians.parties import NAMES, Parties
from tests.support import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.once]
NAME, ANOTHER = "bea@example.org", "five yaks in a rowing boat"


@pytest.fixture
def bea() -> User:
    user = User.objects.create_user(NAME, PASSWORD)
    edna.register_principal(user, password=PASSWORD, identifier=NAME)
    return user


def at(name: str) -> str:
    return reverse(f"websubmit-privacy:{name}")


def enrolled(client: Client, **more: str) -> str:
    client.login(username=NAME, password=PASSWORD)
    page = client.get(at("guardians")).content.decode()
    assert all(name.replace("'", "&#x27;") in page for name in NAMES)
    given = {"contact": "bea@home.example", "password": PASSWORD, **more}
    return client.post(at("guardians"), given).content.decode()


def asked(client: Client) -> dict[str, str]:
    """What the forms of the page bring along."""
    page = client.post(at("guardians-ask"), {"identifier": NAME}).content.decode()
    (code,) = set(re.findall(r'name="request_code" value="([^"]+)"', page))
    return {"identifier": NAME, "request_code": code}


def test_from_enrolling_to_a_new_password(client: Client, five: Parties, bea: User) -> None:
    """The page says who agrees and who waits for what; in the end the new password logs in and opens the key."""
    assert "5 of 5 guardians keep a piece" in enrolled(client, pin="4711", pin_again="4711")
    assert "keep a way back for you" in client.get(at("guardians")).content.decode()
    client.logout()
    request = asked(client)
    page = client.post(at("guardians-request"), request).content.decode()
    assert "0 of the guardians have agreed; 3 are needed" in page
    assert (page.count("waits until"), page.count("Give the code")) == (3, 2)

    page = client.post(at("guardians-request"), {**request, "step": "confirm", "number": 4, "code": five.code(4)})
    assert "1 of the guardians have agreed" in page.content.decode()
    page = client.post(at("guardians-request"), {**request, "step": "confirm", "number": 5, "code": "AAAA"})
    assert "does not take that" in page.content.decode()
    nobody = {**request, "step": "confirm", "number": 300, "code": "AAAA"}
    assert client.post(at("guardians-request"), nobody).status_code == 200
    five.now += 7201

    finish = {**request, "step": "finish", "new_password": ANOTHER, "again": ANOTHER}
    for wrong, said in (
        ({"pin": "4711", "again": "x"}, "two passwords differ"),
        ({"pin": "0815"}, "this is not your PIN"),
    ):
        assert said in client.post(at("guardians-request"), {**finish, **wrong}).content.decode()
    page = client.post(at("guardians-request"), {**finish, "pin": "4711"})
    assert "your new password opens your key" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert client.login(username=NAME, password=ANOTHER)
    edna.unlock(identifier=NAME, password=ANOTHER).close()


def test_without_an_account(client: Client, five: Parties, bea: User) -> None:
    """Guardians bring back the key of somebody whose account is hidden; the key brings back the account."""
    enrolled(client)
    client.logout()
    edna.disguise("websubmit.delete-account", bea)
    request = asked(client)
    five.now += 7201
    page = client.post(
        at("guardians-request"), {**request, "step": "finish", "new_password": ANOTHER, "again": ANOTHER}
    )
    assert at("return") in page.content.decode()
    client.post(at("return"), {"identifier": NAME, "password": ANOTHER})
    assert User.objects.filter(email=NAME).exists()


def test_refused_and_withdrawn(client: Client, five: Parties, bea: User) -> None:
    """The owner refuses by a page what somebody else asks; and gives the guardians up."""
    enrolled(client)
    request = asked(Client())
    assert (
        "5 of 5 guardians have heard it" in client.post(at("guardians-veto"), {"password": PASSWORD}).content.decode()
    )
    page = Client().post(at("guardians-request"), request).content.decode()
    assert page.count("refuses: the owner did") == 5
    page = client.post(at("guardians-withdraw"), {"password": PASSWORD}).content.decode()
    assert "5 of 5 guardians have destroyed" in page
    assert not guardians.is_enrolled(bea)
    page = client.post(at("guardians-ask"), {"identifier": NAME}).content.decode()
    assert ("Nobody of this name has guardians here" in page, "does not open your key" in page) == (True, False)


ENDS = "does not lead to your new key"


def test_a_new_key_ends_the_way_back_and_its_page_says_so_before(client: Client, five: Parties, bea: User) -> None:
    """What guardians keep leads to the old key: whoever replaces it is told, and sent where it is set up anew."""
    enrolled(client)
    before = client.get(at("replace-key")).content.decode()
    assert (ENDS in before, f'href="{at("guardians")}"' in before) == (True, True)
    client.post(at("replace-key"), {"password": PASSWORD, "new_password": ANOTHER, "again": ANOTHER})
    assert "The guardians do not know you yet." in client.get(at("guardians")).content.decode()


def test_devices_say_so_too(client: Client, five: Parties, bea: User) -> None:
    client.login(username=NAME, password=PASSWORD)
    assert ENDS in client.get(at("devices-first")).content.decode()


@pytest.mark.django_db(transaction=True)
def test_what_was_begun_is_noted_for_good_before_guardians_hear_of_it(
    client: Client, five: Parties, bea: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site that wraps each request in a transaction (`ATOMIC_REQUESTS`) would lose the note with a kill, and guardians kept a share
    for nobody."""
    ours, in_transaction = transaction.get_connection(), []
    enrol = five.guardians[1].enrol
    monkeypatch.setitem(ours.settings_dict, "ATOMIC_REQUESTS", True)

    def enrols(*args: Any, **more: Any) -> None:
        in_transaction.append(ours.in_atomic_block)
        enrol(*args, **more)

    monkeypatch.setattr(five.guardians[1], "enrol", enrols)
    assert "5 of 5 guardians keep a piece" in enrolled(client)
    assert in_transaction == [False]


def test_what_browsers_send_to_guardians_goes_in_no_transaction_of_the_request_either() -> None:
    for route in (http.enroll, http.withdraw):
        assert "default" in vars(route)["_non_atomic_requests"]  # what Django's handler asks


def test_not_there_where_there_are_no_guardians(client: Client, five: Parties, bea: User, settings: Any) -> None:
    """No page, and no link to one."""
    client.login(username=NAME, password=PASSWORD)
    with override_settings(EDNA={**settings.EDNA, "GUARDIANS": None}):
        names = ("guardians", "guardians-ask", "guardians-request", "guardians-veto", "guardians-withdraw")
        assert {client.get(at(name)).status_code for name in names} == {404}
        assert at("guardians") not in client.get(at("home")).content.decode()
    assert at("guardians") in client.get(at("home")).content.decode()
