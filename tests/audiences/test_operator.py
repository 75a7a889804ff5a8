"""What operators see of audiences, on the page and by the command: members, requests and uses; never whom it is about, or content."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

import edna
from apps.hotcrp_sim.models import ContactInfo
from apps.websubmit.models import User
from edna import audiences
from edna.audiences.admin import DELETE_AUDIENCES, VIEW_AUDIENCES
from edna.audiences.history import Tables
from edna.audiences.models import AudienceName, HeldCopy
from edna.operations import audit
from edna.operations.upkeep.health import health
from edna.testing import Person
from tests.audiences.test_holds import Chairs, WithChairs, chairs, declared, review_of
from tests.support import statements

pytestmark = [pytest.mark.django_db, pytest.mark.once]

__all__ = ["chairs", "declared"]


@pytest.fixture
def reviewer(chairs: Chairs) -> ContactInfo:
    """Of whom something was read once; and asked for once more."""
    person = Person.registered(ContactInfo.objects.create_user(email="rae@example.org", password="x", pk=9_021_077))
    review_of(person)
    edna.disguise(WithChairs.name, person.user)
    first = audiences.ask("chairs", chairs["ada"], person.user, reason="case 12")
    audiences.agree(first, chairs["cyd"])
    audiences.read(first, chairs["ada"])
    audiences.ask("chairs", chairs["bob"], person.user, reason="case 13")
    chairs.join("bob", "dan")
    return person.user  # type: ignore[no-any-return]


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    call_command("edna_audiences", "--json", *arguments)
    return json.loads(capsys.readouterr().out)["audiences"]


def test_the_command_lists_members_requests_and_uses(reviewer: ContactInfo, capsys: pytest.CaptureFixture[str]) -> None:
    [found] = told(capsys, "list")
    [shares] = found["shares"]
    assert (found["name"], found["members"], found["changes"], found["requests"], found["uses"]) == (
        "chairs",
        4,
        1,
        2,
        1,
    )
    assert (shares["together"], shares["epoch"], shares["members"]) == (2, 0, 3)
    assert shares["held"] > 0
    [members] = told(capsys, "members", "chairs")
    assert [(each["name"], each["has_share"]) for each in members["members"]] == [
        ("ada", True),
        ("bob", True),
        ("cyd", True),
        ("dan", False),
    ]
    [asked], [used] = told(capsys, "requests"), told(capsys, "uses", "chairs")
    assert {each["reason"]: each["uses"] for each in asked["requests"]} == {"case 12": 1, "case 13": 0}
    [request] = used["requests"]
    assert (request["asked_by"], set(request["agreed"]), request["together"]) == ("ada", {"ada", "cyd"}, 2)
    assert "reference" not in request
    ids = [member["id"] for each in told(capsys, "members") for member in each["members"]]
    for action in ("list", "members", "requests", "uses"):
        call_command("edna_audiences", action)
        out = capsys.readouterr().out
        assert action != "members" or all(id_ in out for id_ in ids)  # as errors and JSON write them
        assert "chairs" in out
        assert str(reviewer.pk) not in out


def test_the_command_refuses_what_there_is_not(chairs: Chairs) -> None:
    with pytest.raises(CommandError, match='no audience "judges"'):
        call_command("edna_audiences", "members", "judges")
    with pytest.raises(CommandError, match="takes no audience"):
        call_command("edna_audiences", "list", "chairs")


def test_the_page_shows_it_to_whoever_may_see_it(
    reviewer: ContactInfo, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("admin:edna_audiences_audienceoverview_changelist")
    assert Permission.objects.filter(codename="view_audiences", content_type__app_label="edna_audiences").exists()
    client.force_login(User.objects.create_user("olga@example.org", is_admin=True))
    with monkeypatch.context() as patch:
        patch.setattr(User, "has_perm", lambda self, permission, obj=None: permission != VIEW_AUDIENCES)
        assert client.get(address).status_code == 403
    response = client.get(address)
    page = response.content.decode()
    assert response.status_code == 200
    for said in ("ada", "bob", "cyd", "dan", "no share yet", "case 12", "case 13", "2 together", "1 time"):
        assert said in page, said
    assert str(reviewer.pk) not in page
    assert reviewer.email not in page
    assert address in client.get(reverse("admin:index")).content.decode()
    assert client.post(address).status_code == 405


def test_the_health_of_audiences_takes_as_many_questions_for_more_of_them(chairs: Chairs) -> None:
    """And says nothing else of those in which nobody went."""

    def asked() -> int:
        return len(statements(lambda: [*Tables().lines(using="default")]))

    few = asked()
    for name in ("one", "two"):
        audiences.create(name, chairs["ada"], {who: chairs.new[who].card for who in ("ada", "bob")})
    assert asked() == few


def test_too_few_who_are_left_are_told_everywhere(
    chairs: Chairs, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    def line() -> Any:
        [found] = [each for each in health().lines if each.name == "audiences"]
        return found

    assert (line().verdict, line().finding) == ("ok", "1 audience.")
    for name in ("bob", "cyd"):
        chairs.leave("ada", name)
    assert "chairs (1 left of the 2 who act together)" in line().finding
    assert line().verdict != "ok"
    assert told(capsys, "list")[0]["shares"][0]["is_usable"] is False
    call_command("edna_audiences", "list")
    assert "2 together, 1 left with a share: TOO FEW" in capsys.readouterr().out
    client.force_login(User.objects.create_user("olga@example.org", is_admin=True))
    page = client.get(reverse("admin:edna_audiences_audienceoverview_changelist")).content.decode()
    assert "too few are left" in page
    person = Person.registered(ContactInfo.objects.create_user(email="rae@example.org", password="x"))
    call_command("edna_plan", WithChairs.name, "--principal", person.user.email)
    assert "AudienceTooSmall" in capsys.readouterr().err


def test_the_command_deletes_an_audience_and_what_is_held_only_if_that_is_said(
    reviewer: ContactInfo, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="copies are held"):
        call_command("edna_audiences", "delete", "chairs")
    with pytest.raises(CommandError, match="needs the name"):
        call_command("edna_audiences", "delete")
    with pytest.raises(CommandError, match="is for delete"):
        call_command("edna_audiences", "list", "--lose-held")
    call_command("edna_audiences", "delete", "chairs", "--lose-held", "--operator", "olga")
    said = capsys.readouterr().err
    assert "Deleted: chairs. Lost for its members:" in said
    assert WithChairs.name in said
    assert audit.entries(most=1)[0].operator == "olga"
    with pytest.raises(CommandError, match="no audience"):
        call_command("edna_audiences", "delete", "chairs")


def test_the_page_deletes_an_audience_for_whoever_may_and_confirms_it(
    reviewer: ContactInfo, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(User.objects.create_user("olga@example.org", is_admin=True))
    overview = reverse("admin:edna_audiences_audienceoverview_changelist")
    address = reverse("admin:edna_audiences_audienceoverview_remove", args=["chairs"])
    assert Permission.objects.filter(codename="delete_audiences", content_type__app_label="edna_audiences").exists()
    with monkeypatch.context() as patch:
        patch.setattr(User, "has_perm", lambda self, permission, obj=None: permission != DELETE_AUDIENCES)
        assert client.post(address, {"lose_held": "on"}).status_code == 403
        assert address not in client.get(overview).content.decode()
    assert address in client.get(overview).content.decode()
    page = client.get(address).content.decode()
    assert "What is held for it shall be lost" in page
    assert WithChairs.name in page
    assert "copies are held" in client.post(address).content.decode()
    # Of copies that somebody has changed it is told when it is tried.
    former = list(HeldCopy.objects.all())
    HeldCopy.objects.update(shared_by=bytes(16))
    assert "shall be lost" not in client.get(address).content.decode()
    page = client.post(address).content.decode()
    assert "nobody can tell" in page
    assert "shall be lost" in page
    HeldCopy.objects.bulk_update(former, ["shared_by"])
    assert audiences.is_there("chairs")
    assert client.post(address, {"lose_held": "on"}, follow=True).redirect_chain == [(overview, 302)]
    assert not audiences.is_there("chairs")
    assert audit.entries(most=1)[0].operator == "olga@example.org"
    assert client.get(address).status_code == 404


def test_an_audience_with_a_forged_row_is_told_as_that(
    chairs: Chairs, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.force_login(User.objects.create_user("olga@example.org", is_admin=True))
    AudienceName.objects.update(name="eve")
    page = client.get(reverse("admin:edna_audiences_audienceoverview_changelist")).content.decode()
    assert "AudienceForged" in page
    assert ">eve<" not in page
    with pytest.raises(CommandError) as refused:
        call_command("edna_audiences", "list")
    assert refused.value.returncode == 3
    assert "AudienceForged" in capsys.readouterr().err
