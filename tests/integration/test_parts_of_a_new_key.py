"""Parts of what a browser sends for a new key: kept for whoever has the key, opened by what they were told alone, and gone afterwards."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

import edna
from edna import errors, inner_door
from edna.api_http import rotations
from edna.crypto.keys import ContentKey, PublicKey
from edna.engine.renewing import parts
from edna.models import Bag
from edna.operations.retention import expiry
from tests.acceptance.conftest import lobsters, lobsters_tables, small_community  # noqa: F401  # fixtures
from tests.handing import Browser
from tests.lobsters.community import Community
from tests.lobsters.specs import ANON
from tests.support import edna_dump, nothing_changes

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def test_parts_are_opened_by_what_their_sender_was_told(small_community: Community) -> None:  # noqa: F811
    """Also if the server has another key since; the table has no word of them."""
    own = small_community.ann.secret_key.public_key
    keys = [inner_door.keep_part(own, number, b"part %d" % number) for number in range(3)]
    with pytest.MonkeyPatch.context() as patched:
        former = parts.conf.mac_keys()
        patched.setattr(parts.conf, "mac_keys", lambda: [b"another key of the server", *former])
        assert inner_door.kept_parts(own, keys) == [b"part 0", b"part 1", b"part 2"]
        parts.forget_parts(own, using="default")
    with pytest.raises(errors.HandoverRefused, match="not there"):
        inner_door.kept_parts(own, keys)


def test_a_part_of_an_earlier_attempt_is_gone_with_the_first_one_of_another(small_community: Community) -> None:  # noqa: F811
    own, before = small_community.ann.secret_key.public_key, len(edna_dump()["edna_bag"])
    keys = [inner_door.keep_part(own, number, b"earlier") for number in range(3)]
    again = inner_door.keep_part(own, 2, b"in its place")
    with pytest.raises(errors.HandoverRefused, match="another one"):
        inner_door.kept_parts(own, keys)
    assert inner_door.kept_parts(own, [*keys[:2], again]) == [b"earlier", b"earlier", b"in its place"]

    first = inner_door.keep_part(own, 0, b"of another attempt")
    assert len(edna_dump()["edna_bag"]) == before + 1
    with pytest.raises(errors.HandoverRefused, match="not there"):
        inner_door.kept_parts(own, [first, again])


def test_another_attempt_after_the_server_has_another_key(
    small_community: Community,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What lies at the places of the former key of the server does not come into its way."""
    own, former = small_community.ann.secret_key.public_key, parts.conf.mac_keys()
    for number in range(3):
        inner_door.keep_part(own, number, b"earlier")
    with monkeypatch.context() as patched:
        patched.setattr(parts.conf, "mac_keys", lambda: [b"another key of the server", *former])
        patched.setattr(parts.serverkeys, "signing_key", lambda using: b"another key of the server")
        keys = [inner_door.keep_part(own, number, b"again") for number in range(3)]
        assert inner_door.kept_parts(own, keys) == [b"again"] * 3


def test_nobody_opens_anothers_part_or_keeps_one_with_a_key_that_is_nobodys(small_community: Community) -> None:  # noqa: F811
    """Nor with that of a pseudoprincipal, nor more than there may be."""
    ann, bob = (member.secret_key.public_key for member in (small_community.ann, small_community.bob))
    key = inner_door.keep_part(ann, 0, b"of Ann")
    inner_door.keep_part(bob, 0, b"of Bob")
    for whose, opens in ((bob, key), (ann, ContentKey.new())):
        with pytest.raises(errors.HandoverRefused, match="another one"):
            inner_door.kept_parts(whose, [opens])
    small_community.everybody(ANON)
    [voice, *_] = Browser(small_community.ann.secret_key).voices
    for stranger in (edna.SecretKey.generate().public_key, PublicKey(voice.entry.public_key)):
        with nothing_changes(), pytest.raises(errors.PrincipalNotRegistered):
            inner_door.keep_part(stranger, 0, b"of nobody")
    with nothing_changes(), pytest.raises(errors.HandoverRefused, match="at most"):
        inner_door.keep_part(ann, inner_door.MOST_PARTS, b"one too many")


def test_a_part_that_is_left_expires(small_community: Community) -> None:  # noqa: F811
    """Whatever the site keeps bags for; and is no bag that something is wrong with."""
    own, before = small_community.ann.secret_key.public_key, len(edna_dump()["edna_bag"])
    inner_door.keep_part(own, 0, b"left behind")
    expiry.expire(today=datetime.date.today() + datetime.timedelta(days=40))
    assert len(edna_dump()["edna_bag"]) == before


def test_a_part_takes_no_more_room_than_was_sent(
    small_community: Community,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    """Whatever stands in fields that nobody looks at."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    monkeypatch.setattr(rotations, "proved_key", lambda request: small_community.ann.secret_key.public_key)

    def sent(rubbish: str) -> HttpResponse:
        key = "A" * 43 + "="
        listed = f'{{"public_key": "{key}", "items": "", "anew": [], "rubbish": {rubbish}}}'
        body = f'{{"number": 0, "part": {{"lists": [{listed}]}}}}'.encode()
        request = RequestFactory().post("/", body, content_type="application/json")
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]  # as Django's own client
        return rotations.rotate_part(request)

    assert sent(json.dumps("\ud800")).status_code == 200
    assert sent(f'"{"é" * 500_000}"').status_code == 200
    assert max(len(bag.sealed) for bag in Bag.objects.all()) < 1024 * 1024 + 70_000
    assert sent(f"[{','.join(['1e15'] * 200_000)}]").status_code == 413
