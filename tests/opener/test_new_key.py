"""A new key, made in a browser: by the modules in Node against a real server, which is shown neither a key nor what is in a bag."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache.backends import locmem

import edna
from edna import conf, store
from edna.crypto.keys import HybridSecretKey
from edna.crypto.sealing import STANZA_HYBRID, STANZA_X25519, content_key_of, open_sealed
from edna.engine.renewing import parts
from edna.models import Bag
from edna.records.bag import BagKind
from edna.testing.search import finds, places
from tests.acceptance.conftest import lobsters, lobsters_tables, small_community  # noqa: F401  # fixtures
from tests.handing import Browser, without_keys
from tests.integration.test_making_over import let_several_own
from tests.integration.test_rotation import assert_opens_nothing
from tests.lobsters.community import Community, Member, state
from tests.lobsters.specs import ANON, CLEAR_MESSAGES, GDPR, HIDE_PROFILE
from tests.opener.test_handing_over import RECEIVED, either_kind, in_browser, opened  # noqa: F401  # fixtures
from tests.support import edna_dump

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]

InBrowser = Callable[..., Any]


def secrets_of(browser: Browser) -> dict[str, bytes]:
    """Of one person: keys, keys of contents, contents, and the locators of what several own, which open that."""
    found = {f"key {name.hex()}": holder.opener.secret_key.expose() for name, holder in browser.graph.holders.items()}
    for locator, segments in browser.bags.items():
        for segment in segments:
            name = f"{segment.kind.name} {locator.index(segment.kind, segment.sequence).hex()}"
            if segment.kind is BagKind.SHARED:
                found[f"locator of {name}"] = locator.expose()
                continue
            key = segment.holder.opener.secret_key
            found[f"content key of {name}"] = content_key_of(segment.stored.sealed, secret_key=key).expose()
            found[f"content of {name}"] = open_sealed(segment.stored.sealed, secret_key=key)[65:]
    return found


def kinds_of_stanzas() -> set[int]:
    return {bytes(bag.sealed)[7] for bag in Bag.objects.all()}


def is_kept_back(what: str) -> bool:
    """Also where the server looks that nobody is left out."""
    return not what.startswith(("locator", "content key of SPEAKS_FOR"))


def anew(member: Member, in_browser: InBrowser, **given: str | int) -> str:  # noqa: F811
    """Give them a new key, in their browser; the recovery code that goes with it."""
    made = in_browser(member, "rotate", **given)
    assert "error" not in made, made
    member.secret_key = edna.SecretKey.parse(made["result"]["text"])
    code: str = made["result"]["code"]
    return code


def test_the_new_key_opens_everything_and_the_server_has_seen_nothing(
    either_kind: str,  # noqa: F811
    small_community: Community,  # noqa: F811
    in_browser: InBrowser,  # noqa: F811
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Removed, changed, given away, shared, one over the other, in server custody and after it; then once more, and the answer is lost.

    Of bags nothing; but where several may own rows, who speaks for whom."""
    caplog.set_level(logging.DEBUG)
    ann, bob = small_community.ann, small_community.bob
    before, tables = state(), edna_dump()
    settings.EDNA = {**settings.EDNA, "CUSTODY": "server"}
    ann.applies(HIDE_PROFILE)
    small_community.everybody(ANON)
    ann.applies(CLEAR_MESSAGES, with_key=True)
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    bob.applies(GDPR, with_key=True)
    [*_, last] = ann.applies(GDPR, with_key=True)[ann.pk]
    disguised, history = state(), ann.history()
    first = Browser(ann.secret_key)
    old = [holder.opener.secret_key for holder in first.graph.holders.values()]
    known = {"public key": bytes(ann.secret_key.public_key)}
    hidden = secrets_of(first)
    assert {name.split()[0] for name in hidden} == {"key", "content", "locator"}

    let_several_own(monkeypatch, False)
    code = anew(ann, in_browser)

    assert type(ann.secret_key) is type(first.secret_key)
    assert (state(), ann.history()) == (disguised, history)
    assert_opens_nothing(old)
    hidden |= secrets_of(Browser(ann.secret_key)) | {"code": edna.RecoveryCode.parse(code).expose(), "its text": code}
    logged = [str(record.__dict__).encode() for record in caplog.records]
    cached = [value for kept in locmem._caches.values() for value in kept.values()]
    assert any(finds(seen, known) for seen in RECEIVED)
    shared = {name for name in hidden if name.startswith("locator")}  # the database has these sealed
    # In the hybrid kind the locator itself shows what is in an item, in place of the key of a box.
    sent = shared if either_kind == "x-wing" else set()
    for seen in RECEIVED:
        assert not finds(seen, {name: value for name, value in hidden.items() if name not in sent})
    for seen in [*logged, *cached]:
        assert not finds(seen, hidden)
    assert places({name: value for name, value in hidden.items() if name not in shared}) == []

    again = [holder.opener.secret_key for holder in Browser(ann.secret_key).graph.holders.values()]
    let_several_own(monkeypatch, True)
    code = anew(ann, in_browser, lost="yes")
    hidden = {what: value for what, value in secrets_of(Browser(ann.secret_key)).items() if is_kept_back(what)}
    for seen in RECEIVED:
        assert not finds(seen, hidden)
    assert_opens_nothing(old + again)
    with edna.unlock(recovery_code=code) as unlocked:
        assert unlocked.secret_key == ann.secret_key
    with without_keys():
        answer = in_browser(ann, "reveal", receipt=str(last))
    assert "error" not in answer, answer
    for member in (small_community.bob, small_community.cat, ann):
        member.reveal_everything()
    assert state() == before
    assert {name: len(rows) for name, rows in edna_dump().items() if name != "edna_keyslot"} == {
        name: len(rows) for name, rows in tables.items() if name != "edna_keyslot"
    }


def test_who_was_there_before_moves_to_a_key_of_the_hybrid_kind(
    small_community: Community,  # noqa: F811
    in_browser: InBrowser,  # noqa: F811
    settings: Any,
) -> None:
    """By a new key in their browser: bags, lists, and placeholders. The old keys open nothing, and everything comes back."""
    ann, before = small_community.ann, state()
    ann.applies(HIDE_PROFILE)
    ann.applies(ANON)
    first = Browser(ann.secret_key)
    assert kinds_of_stanzas() == {STANZA_X25519}
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x-wing"}
    [last] = ann.applies(CLEAR_MESSAGES, with_key=True)[ann.pk]
    old = [holder.opener.secret_key for holder in Browser(ann.secret_key).graph.holders.values()]

    anew(ann, in_browser)

    assert isinstance(ann.secret_key, HybridSecretKey)
    assert kinds_of_stanzas() == {STANZA_HYBRID}
    assert_opens_nothing(old)
    holders = Browser(ann.secret_key).graph.holders
    assert len(holders) >= len(first.graph.holders) > 1
    assert all(holder.entry.encapsulation_key for holder in holders.values())
    with without_keys():
        answer = in_browser(ann, "reveal", receipt=str(last))
    assert "error" not in answer, answer
    ann.reveal_everything()
    assert state() == before


def test_a_new_key_of_another_kind_than_the_site_gives_is_refused(
    small_community: Community,  # noqa: F811
    in_browser: InBrowser,  # noqa: F811
    settings: Any,
) -> None:
    """A page that was loaded before the setting changed makes none that a quantum computer opens."""
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x-wing"}
    ann, before = small_community.ann, edna_dump()
    answer = in_browser(ann, "rotate", hybrid="")
    assert answer["error"] == "KeyMalformed"
    assert edna_dump() == before


def kept_parts(member: Member) -> int:
    """How many parts of a new key lie among the bags."""
    places = parts._places(member.secret_key.public_key, conf.mac_keys()[0])
    return len(store.indexes_there(places, using="default"))


def test_one_who_is_interrupted_between_parts_has_lost_nothing_and_begins_again(
    small_community: Community,  # noqa: F811
    in_browser: InBrowser,  # noqa: F811
) -> None:
    """A closed tab, a dead connection: after any part the old key opens everything, and the new one is nobody's."""
    ann, before, tables = small_community.ann, state(), edna_dump()
    small_community.everybody(ANON)
    ann.applies(HIDE_PROFILE)
    ann.applies(CLEAR_MESSAGES, with_key=True)
    disguised, history = state(), ann.history()
    old = [holder.opener.secret_key for holder in Browser(ann.secret_key).graph.holders.values()]
    left = edna_dump()
    for number in (3, 1):
        assert in_browser(ann, "rotate", part_bytes=2000, killed_after=number) == {"killed": number}
        assert kept_parts(ann) == number
        assert (state(), ann.history()) == (disguised, history)
        assert {name: rows for name, rows in edna_dump().items() if name != "edna_bag"} == {
            name: rows for name, rows in left.items() if name != "edna_bag"
        }
        assert places(secrets_of(Browser(ann.secret_key))) == []

    made = in_browser(ann, "rotate", part_bytes=2000)
    assert made["result"]["parts"] > 4
    assert kept_parts(ann) == 0
    ann.secret_key = edna.SecretKey.parse(made["result"]["text"])
    assert (state(), ann.history()) == (disguised, history)
    assert_opens_nothing(old)
    assert len(edna_dump()["edna_bag"]) == len(left["edna_bag"])
    for member in (small_community.bob, small_community.cat, ann):
        member.reveal_everything()
    assert state() == before
    assert len(edna_dump()["edna_bag"]) == len(tables["edna_bag"])
