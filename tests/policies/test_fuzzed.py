"""Whatever a monitor is asked, it answers with what it is asked for, or with one of its refusals: never with an error of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from edna.custody.policies.evidence import ManifestProver
from edna.custody.policies.process.server import _Answering
from edna.errors import EdnaError
from tests.policies.parties import EU_RESTORER, Party

_TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(_TEXTS, each, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def party() -> Party:
    return Party()


@pytest.fixture(scope="module")
def worker(party: Party) -> ManifestProver:
    return party.worker(EU_RESTORER)


def asked_rightly(party: Party, worker: ManifestProver) -> Any:
    """As a worker asks, with a nonce that was not used yet."""
    return json.loads(json.dumps(party.session().request(worker)))


def places(said: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every value in it, and every value in the files that it holds as texts."""
    if isinstance(said, str) and said.startswith("{"):
        said = json.loads(said)
    found = [before] if before else []
    for name in said if isinstance(said, dict) else ():
        found += places(said[name], (*before, name))
    return found


def changed(said: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    if isinstance(said, str):
        return json.dumps(changed(json.loads(said), place, value))
    return {**said, place[0]: changed(said[place[0]], place[1:], value)}


def answered(ask: Callable[[], Any]) -> bool:
    """Whether it did what it was asked for; everything else is an `EdnaError`."""
    try:
        ask()
    except EdnaError:
        return False
    return True


@given(data=st.data(), path=st.sampled_from(["/credential", "/clone"]))
@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_a_request_with_one_value_that_is_something_else(
    party: Party, worker: ManifestProver, data: st.DataObject, path: str
) -> None:
    said = asked_rightly(party, worker)
    place = data.draw(st.sampled_from(sorted(places(said))))
    body = json.dumps(changed(said, place, data.draw(_VALUES))).encode()
    assert not answered(lambda: _Answering(party.monitor).answer("POST", path, {}, body))


@given(body=st.binary(max_size=40) | _VALUES.map(lambda value: json.dumps(value).encode()))
@example(b"[" * 60_000)
@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_a_request_that_is_something_else(party: Party, body: bytes) -> None:
    assert not answered(lambda: _Answering(party.monitor).answer("POST", "/credential", {}, body))


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "", "x"]),
    path=_TEXTS | _TEXTS.map(lambda text: f"/attest?nonce={text}"),
)
@example("GET", "//[")
@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_an_address_that_is_something_else(party: Party, method: str, path: str) -> None:
    assert not answered(lambda: _Answering(party.monitor).answer(method, path, {}, b""))


def test_what_a_worker_asks_rightly_is_answered(party: Party, worker: ManifestProver) -> None:
    """Or the others show nothing."""
    body = json.dumps(asked_rightly(party, worker)).encode()
    assert answered(lambda: _Answering(party.monitor).answer("POST", "/credential", {}, body))
