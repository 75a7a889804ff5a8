"""What is theirs as one document, and what is erased for good, with a key that never leaves the browser: by the modules in Node."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import edna
from edna.models import Bag, PrincipalEntry
from edna.testing.search import finds
from tests.acceptance.conftest import lobsters, lobsters_tables, small_community  # noqa: F401  # fixtures
from tests.acceptance.test_export import SCHEMA, fits
from tests.handing import Browser, without_keys
from tests.lobsters.community import Community, Member, state
from tests.lobsters.specs import ANON, CLEAR_MESSAGES, GDPR, HIDE_PROFILE, REDACT_COMMENTS
from tests.opener.test_handing_over import RECEIVED, in_browser, opened  # noqa: F401  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]


def by_key(member: Member) -> dict[str, Any]:
    with member.unlock() as unlocked:
        document: dict[str, Any] = json.loads(json.dumps(edna.export(unlocked)))
    return document


def in_order(document: dict[str, Any]) -> dict[str, Any]:
    lists = {name: sorted(document[name], key=json.dumps) for name in ("rows", "files", "blobs")}
    for row in lists["rows"]:
        row["left_out"].sort()
    return {**document, **lists, "made_at": ""}


def test_a_browser_writes_the_document_that_the_key_would(
    small_community: Community,  # noqa: F811
    in_browser: Callable[..., Any],  # noqa: F811
    opened: list[bytes],  # noqa: F811
) -> None:
    """With an account and without one; of what is sealed the server is shown who speaks for whom, and nothing else."""
    ann = small_community.ann
    type(ann.user).objects.filter(pk=ann.pk).update(about="What nobody else is to read")
    ann.disguise(HIDE_PROFILE)
    small_community.everybody(ANON)
    ann.disguise(REDACT_COMMENTS, with_key=True)
    for leaves in (False, True):
        if leaves:
            ann.disguise(GDPR, with_key=True)
        RECEIVED.clear()
        opened.clear()
        with without_keys():
            document = in_browser(ann, "export")["result"]
        fits(document, SCHEMA)
        assert in_order(document) == in_order(by_key(ann))
        assert "What nobody else is to read" in json.dumps(document)
        hidden = {
            name.hex(): holder.opener.secret_key.expose()
            for name, holder in Browser(ann.secret_key).graph.holders.items()
        }
        assert opened
        assert not any(finds(seen, hidden | {"text": b"What nobody else is to read"}) for seen in [*RECEIVED, *opened])


def test_what_is_erased_one_by_one_leaves_the_rest_and_in_the_end_nothing(
    small_community: Community,  # noqa: F811
    in_browser: Callable[..., Any],  # noqa: F811
) -> None:
    """Each plan says what is destroyed then. The last erasure of somebody who has left forgets them."""
    ann, entries = small_community.ann, PrincipalEntry.objects.count()
    [anon] = small_community.everybody(ANON)[ann.pk]
    ann.disguise(CLEAR_MESSAGES, with_key=True)
    left = ann.disguise(GDPR, with_key=True)
    for receipt in (anon, left):
        with without_keys():
            done = in_browser(ann, "erase", receipt=str(receipt))["result"]
        assert done["planned"] == done["erased"]
        assert done["erased"]["rows"]
        assert not done["erased"]["forgets"]
    [last] = [entry.receipt for entry in ann.history()]
    before = state()
    with without_keys():
        assert in_browser(ann, "erase", receipt=str(last))["result"]["erased"]["forgets"]
    assert state() == before
    assert bytes(ann.secret_key.public_key) not in {bytes(entry.public_key) for entry in PrincipalEntry.objects.all()}
    assert entries > 0
    assert in_browser(ann, "erase", receipt=str(last))["error"] in ("ReceiptUnknown", "PrincipalNotRegistered")
    assert Bag.objects.exists()
