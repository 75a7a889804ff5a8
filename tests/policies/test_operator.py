"""What operators see of policies: clauses, and what the process that serves the page is attested as; no key."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from apps.websubmit.models import User
from edna.custody.policies.signing import to_base64
from edna.policies.admin import VIEW_POLICIES
from tests.policies.parties import EU_RESTORER
from tests.policies.test_bags import become, party
from tests.policies.test_process import Served

pytestmark = [pytest.mark.django_db, pytest.mark.once]

__all__ = ["become", "party"]


@pytest.fixture
def operator(client: Client) -> User:
    user = User.objects.create_user("olga@example.org", is_admin=True)
    client.force_login(user)
    return user


def test_the_page_shows_clauses_and_what_this_process_is_attested_as(
    party: Served,
    become: Callable[[Mapping[str, str]], None],
    client: Client,
    operator: User,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = reverse("admin:edna_policies_policyoverview_changelist")
    assert Permission.objects.filter(codename="view_policies", content_type__app_label="edna_policies").exists()
    with monkeypatch.context() as patch:
        patch.setattr(User, "has_perm", lambda self, permission, obj=None: permission != VIEW_POLICIES)
        assert client.get(address).status_code == 403
    become(EU_RESTORER)
    page = client.get(address).content.decode()
    for said in (
        "region = eu, role = restorer",
        "region = eu and role = restorer",
        "websubmit.delete-account",
        "lacks 1 of 2",
        "a signed manifest, which is not hardware",
        "Its credential ends",
        party.address,
    ):
        assert said in page, said
    assert to_base64(party.monitor.public_key) not in page
    party.server.shutdown()
    party.server.server_close()
    become({"region": "us"})
    page = client.get(address).content.decode()
    assert "opens no policy seal" in page
    assert "MonitorUnavailable" in page


def test_without_policies_the_page_says_so(client: Client, operator: User) -> None:
    page = client.get(reverse("admin:edna_policies_policyoverview_changelist")).content.decode()
    assert "There are no policies" in page
