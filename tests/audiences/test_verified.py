"""Verification names rows of audiences that this site did not write, and an earlier state that somebody put back; a new key of the server
tags them anew."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db.models import Model
from django.test import override_settings

import edna
from edna import audiences, errors, serverkeys, vouching
from edna.audiences import store
from edna.audiences.models import AudienceName, AudienceUpdate, HeldCopy, HoldRequest, SharedSecret
from edna.operations import audit
from edna.operations.upkeep import verification
from tests.audiences.test_holds import Chairs, WithChairs, chairs, declared, review_of, somebody
from tests.databases import first_everywhere

pytestmark = pytest.mark.django_db

__all__ = ["chairs", "declared"]

#: Of each table, what a vandal would change.
CHANGES: dict[str, tuple[type[Model], dict[str, Any]]] = {
    "audience_updates": (AudienceUpdate, {"update": b"another"}),
    "audience_names": (AudienceName, {"name": "eve"}),
    "audience_shares": (SharedSecret, {"said": b"another"}),
    "held_copies": (HeldCopy, {"sealed": b"another"}),
    "hold_requests": (HoldRequest, {"reason": "another"}),
}


@pytest.fixture
def asked(chairs: Chairs) -> int:
    reviewer = somebody("rae@example.org")
    review_of(reviewer)
    edna.disguise(WithChairs.name, reviewer.user)
    return audiences.ask("chairs", chairs["ada"], reviewer.user, reason="case 12")


def found() -> dict[str, list[int | str]]:
    return {each.kind: each.ids for each in verification.verify().findings if each.kind in {*CHANGES, "set_back"}}


@first_everywhere("kind", CHANGES)
def test_a_row_that_somebody_has_changed_is_named(asked: int, kind: str) -> None:
    assert found() == {}
    model, change = CHANGES[kind]
    row = model._default_manager.first()
    assert row is not None
    model._default_manager.filter(pk=row.pk).update(**change)
    assert found() == {kind: [row.pk]}


def test_a_new_key_of_the_server_tags_all_anew_and_the_former_one_can_go(asked: int, chairs: Chairs) -> None:
    settings = django_settings.EDNA
    former = settings["MAC_KEYS"]
    rows = {kind: model._default_manager.count() for kind, (model, _) in CHANGES.items()}
    assert all(rows.values())
    with override_settings(EDNA={**settings, "MAC_KEYS": ["another key of the server", *former]}):
        serverkeys.add(operator="olga")
        found_former = serverkeys.former()
        assert {kind: found_former.older[kind] for kind in rows} == rows
        assert not any(found_former.wrong.values())
        assert found() == {}
        told = io.StringIO()
        call_command("edna_vouch", "--json", "--operator", "olga", stdout=told)
        assert {kind: json.loads(told.getvalue())[kind]["tagged"] for kind in rows} == rows
    with override_settings(EDNA={**settings, "MAC_KEYS": ["another key of the server"]}):
        assert found() == {}
        # The bag itself is of the former key; what members do needs it no more.
        audiences.agree(asked, chairs["bob"])


def test_a_key_that_rows_of_audiences_need_is_not_forgotten(asked: int) -> None:
    settings = django_settings.EDNA
    former = serverkeys.standing().configured[0]
    with override_settings(EDNA={**settings, "MAC_KEYS": ["another key of the server", *settings["MAC_KEYS"]]}):
        serverkeys.add(operator="olga")
    with override_settings(EDNA={**settings, "MAC_KEYS": ["another key of the server"]}):
        assert serverkeys.former().wrong["audience_shares"] == 1
        with pytest.raises(errors.ServerKeyRefused, match="set of shares"):
            serverkeys.forget(serverkeys.digits(former), operator="olga")


@pytest.mark.once
def test_what_was_changed_is_vouched_for_only_if_somebody_asks_for_it(asked: int) -> None:
    HoldRequest.objects.update(reason="another")
    assert vouching.vouch(operator="olga").wrong == 1
    assert "hold_requests" in found()
    vouching.vouch(as_they_are=True, operator="olga")
    assert found() == {}


def _newest_update() -> None:
    AudienceUpdate.objects.order_by("sequence").last().delete()  # type: ignore[union-attr]


def _an_update_in_the_middle() -> None:
    AudienceUpdate.objects.get(sequence=1).delete()


def _all_updates() -> None:
    AudienceUpdate.objects.all().delete()


@pytest.mark.once
@pytest.mark.parametrize("take_away", [_newest_update, _an_update_in_the_middle, _all_updates])
def test_updates_that_somebody_took_away_are_missed(chairs: Chairs, take_away: Callable[[], None]) -> None:
    """Who was taken out since would be in the audience again."""
    chairs.join("ada", "dan")
    chairs.leave("bob", "cyd")
    assert found() == {}
    take_away()
    assert found() == {"set_back": ["chairs"]}


@pytest.mark.once
def test_earlier_shares_that_somebody_put_back_are_noticed(chairs: Chairs) -> None:
    former = SharedSecret.objects.get()
    chairs.leave("ada", "cyd")
    assert not audiences.hand_on("chairs", chairs["ada"])
    assert audiences.hand_on("chairs", chairs["bob"])
    assert found() == {}
    SharedSecret.objects.all().delete()
    former.save(force_insert=True)
    assert found() == {"set_back": ["chairs, 2 together"]}


@pytest.mark.once
def test_shares_as_they_were_before_somebody_went_are_noticed(chairs: Chairs) -> None:
    """They count the same, and whoever went would be taken for one who is there."""
    former = SharedSecret.objects.get()
    chairs.leave("ada", "cyd")
    assert found() == {}
    former.save()
    assert found() == {"set_back": ["chairs, 2 together"]}
    chairs.join("ada", "dan")
    assert found() == {}


@pytest.mark.once
def test_one_that_was_deleted_and_stands_again_in_place_of_its_successor_is_noticed(chairs: Chairs) -> None:
    """Its rows have this site's tags, and are as many: what is disguised would be sealed to those for whom it was deleted."""
    rows = [*AudienceUpdate.objects.all(), *SharedSecret.objects.all()]
    audiences.delete("chairs")
    Chairs("eve", "fay")
    assert found() == {}
    for model in (AudienceUpdate, SharedSecret):
        model.objects.all().delete()
    for row in rows:
        row.save(force_insert=True)
    assert found() == {"set_back": ["chairs", "chairs, 2 together"]}


@pytest.mark.once
def test_who_changes_an_audience_is_in_the_audit_trail(chairs: Chairs) -> None:
    chairs.join("bob", "dan")
    audiences.create("chairs", chairs["ada"], {}, together=3)
    noted = [(each.action, each.operator, dict(each.details)) for each in audit.entries(most=4)]
    # By what is in the tables, so that another one of that name is none.
    ids = {details.pop("id") for action, _, details in noted if action == "audience-changed"}
    assert ids == {store.audience("chairs", using="default").id.hex()}
    ids = {details.pop("id") for action, _, details in noted if action == "audience-shared"}
    assert ids == {store.sharing("chairs", each, using="default").id.hex() for each in (2, 3)}
    assert noted[::-1] == [
        ("audience-changed", "ada", {"audience": "chairs", "update": 0}),
        ("audience-shared", "ada", {"audience": "chairs", "together": 2, "epoch": 0}),
        ("audience-changed", "bob", {"audience": "chairs", "update": 1}),
        ("audience-shared", "ada", {"audience": "chairs", "together": 3, "epoch": 0}),
    ]
