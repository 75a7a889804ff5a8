"""What becomes of a row with several owners, when one of them leaves."""

from __future__ import annotations

from typing import Any

import pytest

from apps.websubmit.models import User
from edna.engine.planning.shares import decide
from tests.support import enrol

pytestmark = pytest.mark.django_db

NOBODY = 4_711


def stays(*owners: Any, leaving: User) -> bool:
    [share] = decide([owners], owners={str(leaving.pk): 0}, known={}, model=User, lock=False, using="default")
    return share.stays


def test_a_row_stays_while_somebody_owns_it_and_who_has_no_row_is_nobody() -> None:
    """A foreign key without a constraint may name somebody who is not there any more; a person without a key is there."""
    ann = enrol("ann@example.org").user
    bob = User.objects.create_user("bob@example.org", None)
    assert stays(ann.pk, bob.pk, leaving=ann)
    assert not stays(ann.pk, NOBODY, leaving=ann)
    assert not stays(ann.pk, None, leaving=ann)
