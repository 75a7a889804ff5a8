"""A disguise made pseudoprincipals and has expired, and with it their keys; a later one, with the key at hand, names them and has not."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from edna.models import PrincipalEntry
from edna.operations.retention import expiry
from edna.operations.upkeep import residue, verification
from tests.databases import first_everywhere
from tests.lobsters.community import Community
from tests.lobsters.models import Message, User
from tests.lobsters.specs import ANON, CLEAR_OUTBOX, GDPR

pytestmark = [pytest.mark.django_db, pytest.mark.every_database]

MARCH = datetime.date(2026, 3, 1)


@pytest.fixture
def in_february(settings: Any, small_community: Community, monkeypatch: pytest.MonkeyPatch) -> Community:
    """Ann was anonymised in January, which expires in March; now it is February."""

    def month(number: int) -> None:
        now = datetime.datetime(2026, number, 10, tzinfo=datetime.UTC)
        monkeypatch.setattr("django.utils.timezone.now", lambda: now)

    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    month(1)
    small_community.ann.applies(ANON)
    month(2)
    return small_community


def messages() -> set[tuple[Any, ...]]:
    return set(Message.objects.values_list("pk", "author", "recipient", "body"))


@first_everywhere("swept", [False, True])
@pytest.mark.parametrize("keys", ["negative", "random"])
def test_rows_come_back_under_the_names_that_they_had(
    in_february: Community, settings: Any, keys: str, swept: bool
) -> None:
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": keys}
    before = messages()
    [receipt] = in_february.ann.applies(CLEAR_OUTBOX, with_key=True)[in_february.ann.pk]
    assert messages() < before
    expiry.expire(today=MARCH)
    if swept:
        # Where its key does not say that it is one, nobody could make it again.
        assert bool(residue.sweep().pseudoprincipals) == (keys == "negative")
    assert in_february.ann.reveal(receipt).complete
    assert messages() == before
    assert verification.verify().findings == []


@pytest.mark.once
def test_who_comes_back_with_the_account_does_not_pass_for_a_user(in_february: Community) -> None:
    ann = in_february.ann
    [receipt] = ann.applies(GDPR, with_key=True)[ann.pk]
    expiry.expire(today=MARCH)
    assert ann.reveal(receipt).complete
    assert in_february.pseudoprincipals()
    entries = PrincipalEntry.objects.exclude(reference=None)
    assert set(entries.values_list("reference", flat=True)) == {
        str(pk) for pk in User.objects.values_list("pk", flat=True)
    }
    assert set(entries.filter(natural=True).values_list("reference", flat=True)) == {
        str(member.pk) for member in in_february.members
    }
