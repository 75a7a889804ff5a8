"""An operator at the admin site, with exactly the permissions that a test grants."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from django.test import Client
from django.urls import reverse

from apps.websubmit.models import Answer, User
from edna import Disguise, Modify
from edna.operations import jobs
from edna.operations.jobs import batches
from tests.installed import registering
from tests.thorough import thorough

pytest_collection_modifyitems = thorough(__file__)

APPLY, FOR_GOOD, CONTROL, VIEW_JOBS, VIEW_HEALTH, VIEW_TRAIL = (
    "edna_operations.apply_disguise",
    "edna_operations.disguise_for_good",
    "edna_operations.control_job",
    "edna_operations.view_job",
    "edna_operations.view_health",
    "edna_operations.view_auditentry",
)
EVERYTHING = {APPLY, FOR_GOOD, CONTROL, VIEW_JOBS, VIEW_HEALTH, VIEW_TRAIL}


def address(name: str, *args: Any) -> str:
    return reverse(f"admin:edna_operations_{name}", args=args)


def without_tokens(html: str) -> str:
    """A page without what is random in it: the site's token against forgery, and the number of the next job."""
    html = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", html)
    return re.sub(r'name="submission" value="[^"]*"', "", html)


class Operator:
    """Somebody of the staff with a browser."""

    def __init__(self, user: User, granted: set[str]) -> None:
        self.user = user
        self.granted = granted
        self.client = Client()
        self.client.force_login(user)

    def get(self, name: str, *args: Any) -> Any:
        return self.client.get(address(name, *args))

    def post(self, name: str, *args: Any, **data: Any) -> Any:
        return self.client.post(address(name, *args), data)

    def html(self, name: str, *args: Any) -> str:
        answer = self.get(name, *args)
        assert answer.status_code == 200, answer.status_code
        return str(answer.content.decode())

    def preview(self, disguise: str, *people: Any, person: str = "", **params: Any) -> Any:
        """For the one whose name or key is typed, for those chosen, or for everybody."""
        return self.post("disguisecatalogue_preview", disguise, **whom(*people, person=person), **named(params))

    def apply(self, disguise: str, *people: Any, confirmation: str | None = None, **params: Any) -> Any:
        """Preview, and confirm what the preview shows."""
        return self.client.post(
            address("disguisecatalogue_apply", disguise),
            self.form(disguise, *people, **params)
            | {"confirmation": disguise if confirmation is None else confirmation},
        )

    def form(self, disguise: str, *people: Any, **params: Any) -> dict[str, Any]:
        """What the preview's page would send."""
        shown = self.preview(disguise, *people, **params).content.decode()
        found = re.search(r'name="submission" value="([^"]*)"', shown)
        assert found, shown
        return {**whom(*people), **named(params), "submission": found[1]}

    def run(self, answer: Any) -> jobs.JobReport:
        """Run the job to whose page an application has led."""
        assert answer.status_code == 302, answer.content.decode()
        found = re.search(r"/job/(\d+)/", answer.url)
        assert found, answer.url
        return jobs.run(int(found[1]))


def whom(*people: Any, person: str = "") -> dict[str, Any]:
    if person:
        return {"whom": "one", "person": person}
    if people:
        return {"whom": "chosen", "chosen": chosen(people)}
    return {"whom": "everybody"}


def chosen(people: Sequence[Any]) -> str:
    return json.dumps(
        [str(getattr(person, "user", person).pk) if not isinstance(person, str) else person for person in people]
    )


def named(params: dict[str, Any]) -> dict[str, Any]:
    return {f"param-{name}": value for name, value in params.items()}


@pytest.fixture
def granted(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The permissions of everybody of the staff: all of edna's, unless a test takes some away."""
    permissions = set(EVERYTHING)
    monkeypatch.setattr(
        User,
        "has_perm",
        lambda self, permission, obj=None: (
            self.is_admin and (permission in permissions or not permission.startswith("edna_operations."))
        ),
    )
    return permissions


@pytest.fixture
def operator(db: None, granted: set[str]) -> Operator:
    return Operator(User.objects.create_user("olga@example.org", is_admin=True), granted)


class Refusal:
    """For whom a job fails, by their primary key, as long as it is set."""

    key: ClassVar[str] = ""


class Stubborn(Disguise):
    """Blank all answers."""

    name = "test.stubborn"
    transformations = [Modify(Answer, owner="author", set={"text": "blank"})]


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Refusal]]:
    execute = batches.disguising.execute

    def fail(plan: Any, **kwargs: Any) -> Any:
        if any(target.entry.reference == Refusal.key for target in plan.targets):
            raise ZeroDivisionError("An answer of bea@example.org")
        return execute(plan, **kwargs)

    monkeypatch.setattr(batches.disguising, "execute", fail)
    with registering(Stubborn):
        yield Refusal
    Refusal.key = ""
