"""What is handed over comes by HTTP: what a reveal takes besides, and what happens to a body that is not as it should be."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import transaction
from django.test import override_settings

import edna
from apps.websubmit.models import Answer
from apps.websubmit.models import User as Student
from edna import Disguise, Remove, errors
from edna.api_http import graph
from edna.models import Bag
from tests.custody.browser import Browser as Asking
from tests.custody.browser import decoded, encoded, refused_as
from tests.handing import Browser, as_sent, without_keys
from tests.installed import registering
from tests.lobsters.community import Community, Member, state
from tests.lobsters.models import Comment, User
from tests.lobsters.specs import GDPR
from tests.support import edna_dump, enrol_in_course

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]


@pytest.fixture(autouse=True)
def over_http() -> Iterator[None]:
    configured = {**django_settings.EDNA, "CUSTODY": "browser"}
    with override_settings(EDNA=configured, ROOT_URLCONF="edna.urls"):
        yield


class Asks:
    """A member whose browser has proved its key."""

    def __init__(self, member: Member) -> None:
        self.browser, self.key = Asking(), member.secret_key
        self.token = self.browser.prove(self.key)

    def __call__(self, path: str, content: Any) -> Any:
        return self.browser.ask(path, content, **{"X-Edna-Key-Session": self.token})

    def handed(self, receipt: edna.Receipt) -> dict[str, Any]:
        handover = Browser(self.key, start=[receipt.locator]).for_reveal(receipt)
        return {"receipt": str(receipt), "handed": as_sent(handover)}

    def reveal(self, receipt: edna.Receipt, **more: Any) -> dict[str, Any]:
        content = {**self.handed(receipt), **more}
        with without_keys():
            response = self("graph/reveal", content)
        assert response.status_code == 200, response.content
        answer: dict[str, Any] = response.json()
        return answer


def test_a_name_that_is_taken_is_held_until_another_is_given(community: Community) -> None:
    ann = community.ann
    [receipt] = ann.applies(GDPR)[ann.pk]
    User.objects.create(username="ann", about="I am another Ann")
    asks = Asks(ann)

    held = asks.reveal(receipt)
    assert held["held"][0] == {
        "model": "lobsters.user",
        "pk": ann.pk,
        "reason": "unique_taken",
        "field": "username",
    }
    back = asks.reveal(receipt, overrides={"lobsters.User.username": "ann2"})
    assert back["complete"]
    assert User.objects.get(pk=ann.pk).username == "ann2"


def test_another_value_is_taken_for_the_column_that_is_in_the_way_alone(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One collision is no way to choose a value that nobody has taken, or one that people may not edit."""
    ann = community.ann
    [receipt] = ann.applies(GDPR)[ann.pk]
    User.objects.create(username="ann", about="I am another Ann")
    asks, chosen = Asks(ann), {"lobsters.User.username": "ann2", "lobsters.User.email": "chosen@example.org"}
    email = User._meta.get_field("email")
    with monkeypatch.context() as fixed:
        fixed.setattr(email, "editable", False)
        refused = asks("graph/reveal", {**asks.handed(receipt), "overrides": chosen})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "RequestRefused")
    assert asks.reveal(receipt, overrides=chosen)["complete"]
    back = User.objects.get(pk=ann.pk)
    assert back.username == "ann2"
    assert back.email != "chosen@example.org"


@pytest.mark.parametrize("how", ["accept", "accept_all"])
def test_what_is_in_the_way_is_given_up_when_its_owner_says_so(community: Community, how: str) -> None:
    """One row that an earlier answer held, or whatever is held now; what is not named stays held."""
    ann = community.ann
    comments = Comment.objects.filter(user=ann.pk, replies=None).order_by("-pk")[:2]
    keys = [comment.pk for comment in comments]
    [receipt] = ann.applies(GDPR)[ann.pk]
    for key in keys:
        Comment.objects.create(pk=key, user=community.bob.user, text="Mine")
    asks = Asks(ann)

    held = asks.reveal(receipt)["held"]
    rows = {(each["model"], each["pk"]) for each in held}
    assert len(rows) > 1
    given = {"accept_all": True} if how == "accept_all" else {"accept": held[:1]}
    answer = asks.reveal(receipt, **given)

    named = rows if how == "accept_all" else {(held[0]["model"], held[0]["pk"])}
    assert sum(answer["accepted"].values()) == len(named)
    assert {(each["model"], each["pk"]) for each in answer["held"]} == rows - named


def test_an_answer_has_no_more_bytes_than_its_bound_and_says_what_is_left(
    small_community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bag at least, so that whoever asks again gets on."""
    small_community.everybody()
    sealed = {bytes(bag.index): len(bag.sealed) for bag in Bag.objects.all()}
    asks, answered = Asks(small_community.ann), []
    left = [encoded(index) for index in [*sealed, bytes(32)]]
    largest = max(sealed.values())
    for bound in [1, *[largest] * len(sealed)]:
        monkeypatch.setattr(graph, "_MOST_ANSWERED_BYTES", bound)
        answer = asks("graph/bags", {"indexes": left}).json()
        sizes = [len(decoded(bag["sealed"])) for bag in answer["bags"]]
        assert len(sizes) == 1 or sum(sizes) <= bound
        answered += [decoded(bag["index"]) for bag in answer["bags"]]
        left = answer["left"]
        if not left:
            break

    assert sorted(answered) == sorted(sealed)
    assert asks("graph/bags", {"indexes": [encoded(bytes(32))]}).json() == {"bags": [], "barred": [], "left": []}


# A disguise


class Tidy(Disguise):
    """What people may do by themselves."""

    name = "test.tidy"
    self_service = True
    transformations = [Remove(Answer, owner="author")]


class TidyByStaff(Disguise):
    """What they may not."""

    name = "test.tidy-by-staff"
    transformations = Tidy.transformations


def test_who_is_logged_in_to_the_account_applies_what_is_offered(settings: Any) -> None:
    """A key alone does not, nor who is logged in to another account or was shut out of theirs; and nothing that people are not offered.
    Each proves the key anew: a token of before a log-in proves nothing."""
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.AllowAllUsersModelBackend"]
    bea = enrol_in_course("bea@example.org", "carl@example.org")
    asks = Asks(bea)

    def disguise(name: str = Tidy.name) -> Any:
        return asks("graph/disguise", {"disguise": name, "handed": as_sent(Browser(bea.secret_key).for_disguise())})

    with registering(Tidy, TidyByStaff):
        before = bea.texts()
        alone = disguise()
        asks.browser.force_login(Student.objects.get(email="carl@example.org"))
        assert refused_as(disguise()) == (403, "KeyNotProved")
        asks.token = asks.browser.prove(asks.key)
        as_another = disguise()
        asks.browser.force_login(bea.user)
        asks.token = asks.browser.prove(asks.key)
        not_offered = disguise(TidyByStaff.name)
        Student.objects.filter(pk=bea.user.pk).update(is_active=False)
        shut_out = disguise()
        Student.objects.filter(pk=bea.user.pk).update(is_active=True)
        refusals = [refused_as(each) for each in (alone, as_another, not_offered, shut_out)]
        assert refusals == [(status, "RequestRefused") for status in (403, 403, 404, 403)]
        assert bea.texts() == before

        receipt = edna.Receipt.parse(disguise().json()["receipt"])
        assert bea.texts() == {}
        assert refused_as(disguise()) == (409, "RequestRefused")
        assert bea.reveal(receipt).complete
    assert bea.texts() == before


JUNK: list[Any] = [None, 7, "ä\ud800\x00", "", [], [[]], {"": None}, encoded(bytes(32)), encoded(bytes(80))]


def is_sound(place: tuple[Any, ...], junk: Any) -> bool:
    """It says something that may be so, whatever it leads to."""
    match place[-1], junk:
        case "public_key", str() if "voices" in place:
            return True
        case ("models" | "public_keys" | "indexes", [str()]) | (
            "overrides" | "accept" | "voices" | "receipts" | "models" | "succession",
            [],
        ):
            return True
        case ("field", _) | ("half", None):
            return True
        case "sealed_key" | "lobsters.user.username" | "model", str():
            return junk != "" or place[-1] == "lobsters.user.username"
        case "pk", str() | int():
            return True
    return place[0] in ("models", "public_keys", "indexes") and isinstance(junk, str)


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of lists, the first item."""
    if path:
        yield path
    match content:
        case dict():
            for name in content:
                yield from places(content[name], (*path, name))
        case [first, *_]:
            yield from places(first, (*path, 0))


def with_junk(content: Any, place: tuple[Any, ...], junk: Any) -> Any:
    changed = inner = copy.deepcopy(content)
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = junk
    return changed


@pytest.mark.thorough
def test_rubbish_in_any_field_is_refused_with_a_code_and_changes_nothing(small_community: Community) -> None:
    """Of another type or size, empty, nothing; not what an error of the server's own would be."""
    ann = small_community.ann
    small_community.everybody()
    [*_, receipt] = ann.applies(GDPR, with_key=True)[ann.pk]
    asks = Asks(ann)
    held = {"model": "lobsters.user", "pk": 1, "reason": "row_exists", "field": None}
    more = {"overrides": {"lobsters.user.username": "x"}, "accept": [held], "accept_all": False}
    bodies = {
        "graph/entries": {"public_keys": [encoded(bytes(asks.key.public_key))]},
        "graph/bags": {"indexes": [encoded(bytes(32))]},
        "graph/references": {"models": ["lobsters.user"]},
        "graph/reveal": {**asks.handed(receipt), **more},
        "graph/disguise": {"disguise": GDPR, "handed": as_sent(Browser(asks.key).for_disguise())},
        "graph/plan-erasure": {**asks.handed(receipt), "receipts": [str(receipt)], "receipts_complete": True},
        "graph/export": {"models": ["lobsters.user"], "handed": as_sent(Browser(asks.key).for_disguise())},
    }
    before = state(), edna_dump()
    answered = []
    for path, content in bodies.items():
        for place, junk in product(places(content), JUNK):
            with transaction.atomic():
                response = asks(path, with_junk(content, place, junk))
                if response.status_code == 200 and is_sound(place, junk):
                    transaction.set_rollback(True)
                else:
                    code = response.json()["error"]["code"] if response.status_code >= 400 else ""
                    if not 400 <= response.status_code < 500 or not hasattr(errors, code):
                        answered.append((path, place, junk, response.status_code))

    assert answered == []
    assert (state(), edna_dump()) == before
