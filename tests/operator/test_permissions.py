"""Every page and every button against every permission: each asks for its own, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.websubmit.models import User
from edna import Disguise, Remove
from edna.models import Bag
from edna.operations import jobs
from edna.operations.admin import permissions
from edna.operations.admin.permissions import codename
from edna.operations.models import AuditEntry
from tests.installed import registering
from tests.operator.conftest import (
    APPLY,
    CONTROL,
    EVERYTHING,
    VIEW_HEALTH,
    VIEW_JOBS,
    VIEW_TRAIL,
    Operator,
    address,
)
from tests.support import ANONYMISE_ALL, DELETE, enrol_in_course, nothing_changes

pytestmark = [pytest.mark.django_db, pytest.mark.once]

#: What is asked for, how, and the permission that it takes.
DOORS: dict[str, tuple[str, Callable[[int], str], str]] = {
    "catalogue": ("get", lambda job: address("disguisecatalogue_changelist"), APPLY),
    "disguise": ("get", lambda job: address("disguisecatalogue_disguise", DELETE), APPLY),
    "preview": ("post", lambda job: address("disguisecatalogue_preview", DELETE), APPLY),
    "apply": ("post", lambda job: address("disguisecatalogue_apply", DELETE), APPLY),
    "jobs": ("get", lambda job: address("job_changelist"), VIEW_JOBS),
    "progress of all": ("get", lambda job: address("job_progress_of_all"), VIEW_JOBS),
    "job": ("get", lambda job: address("job_job", job), VIEW_JOBS),
    "progress": ("get", lambda job: address("job_progress", job), VIEW_JOBS),
    "pause": ("post", lambda job: address("job_action", job, "pause"), CONTROL),
    "resume": ("post", lambda job: address("job_action", job, "resume"), CONTROL),
    "retry": ("post", lambda job: address("job_action", job, "retry"), CONTROL),
    "cancel": ("post", lambda job: address("job_action", job, "cancel"), CONTROL),
    "health": ("get", lambda job: address("sitehealth_changelist"), VIEW_HEALTH),
    "trail": ("get", lambda job: address("auditentry_changelist"), VIEW_TRAIL),
}


@pytest.fixture
def job(db: None) -> int:
    return jobs.start(ANONYMISE_ALL, principals=[enrol_in_course("bea@example.org").user]).id


def knock(client: Client, door: str, job: int) -> Any:
    method, where, _ = DOORS[door]
    return getattr(client, method)(where(job))


def test_the_list_of_doors_is_complete() -> None:
    """A page that is added has to be added here."""
    from django.contrib import admin

    names = {
        pattern.name
        for model in (*(model for model in admin.site._registry if model._meta.app_label == "edna_operations"),)
        for pattern in admin.site.get_model_admin(model).get_urls()
        if pattern.name and not pattern.name.startswith("edna_operations_auditentry")
    }
    assert names == {
        "edna_operations_disguisecatalogue_changelist",
        "edna_operations_disguisecatalogue_disguise",
        "edna_operations_disguisecatalogue_preview",
        "edna_operations_disguisecatalogue_apply",
        "edna_operations_job_changelist",
        "edna_operations_job_progress_of_all",
        "edna_operations_job_job",
        "edna_operations_job_progress",
        "edna_operations_job_action",
        "edna_operations_sitehealth_changelist",
    }


@pytest.mark.parametrize("door", DOORS)
def test_a_door_opens_with_its_own_permission_alone(operator: Operator, job: int, door: str) -> None:
    _, _, needed = DOORS[door]
    for permission in sorted(EVERYTHING):
        operator.granted.clear()
        operator.granted.add(permission)
        answer = knock(operator.client, door, job)
        assert (answer.status_code == 403) == (permission != needed), (permission, answer.status_code)
        assert answer.status_code < 500


@pytest.mark.parametrize("door", DOORS)
def test_all_other_permissions_do_not_open_it(operator: Operator, job: int, door: str) -> None:
    operator.granted.discard(DOORS[door][2])
    with nothing_changes():
        assert knock(operator.client, door, job).status_code == 403


@pytest.mark.parametrize("door", DOORS)
def test_who_is_not_of_the_staff_is_asked_to_log_in(granted: set[str], job: int, door: str) -> None:
    client = Client()
    for user in (None, User.objects.create_user("carl@example.org")):
        if user is not None:
            client.force_login(user)
        answer = knock(client, door, job)
        assert answer.status_code == 302
        assert "/login/" in answer.url


@pytest.mark.parametrize("path", ["add/", "1/change/", "1/delete/", "1/history/"])
@pytest.mark.parametrize("page", ["auditentry", "job", "sitehealth"])
def test_nothing_is_edited_here_by_anybody(operator: Operator, page: str, path: str) -> None:
    for method in (operator.client.get, operator.client.post):
        answer = method(f"{address(f'{page}_changelist')}{path}", {"operator": "otto"})
        # A page of somebody who is not there leads back to the site's index.
        assert answer.status_code in (302, 403, 404, 405)
        assert answer.status_code != 302 or "/add/" not in answer.url


@pytest.mark.parametrize("path", ["change/", "delete/", "history/"])
def test_without_the_permission_an_entry_of_the_trail_that_is_there_answers_like_one_that_is_not(
    operator: Operator, job: int, path: str
) -> None:
    there = AuditEntry.objects.latest("id").pk  # the job was started
    operator.granted.discard(VIEW_TRAIL)
    for method in (operator.client.get, operator.client.post):
        for entry in (there, there + 1, "rubbish"):
            answer = method(f"{address('auditentry_changelist')}{entry}/{path}")
            assert answer.status_code == 403, (entry, answer.status_code)


@pytest.mark.parametrize(
    ("permission", "entry"),
    [
        (APPLY, "disguisecatalogue_changelist"),
        (VIEW_JOBS, "job_changelist"),
        (VIEW_HEALTH, "sitehealth_changelist"),
        (VIEW_TRAIL, "auditentry_changelist"),
    ],
)
def test_the_index_shows_what_may_be_seen(operator: Operator, permission: str, entry: str) -> None:
    entries = ["disguisecatalogue_changelist", "job_changelist", "sitehealth_changelist", "auditentry_changelist"]
    operator.granted.clear()
    operator.granted.add(permission)
    html = operator.client.get("/admin/").content.decode()
    assert [name for name in entries if f'href="{address(name)}"' in html] == [entry]


def test_without_any_permission_the_index_is_silent(operator: Operator) -> None:
    operator.granted.clear()
    assert "/admin/edna_operations/" not in operator.client.get("/admin/").content.decode()


def test_who_may_control_and_not_look_comes_back_to_the_index(operator: Operator, job: int) -> None:
    operator.granted.clear()
    operator.granted.add(CONTROL)
    answer = operator.post("job_action", job, "pause")
    assert (answer.status_code, answer.url) == (302, "/admin/")
    assert jobs.report(job).state is jobs.JobState.PAUSED


def test_who_may_look_and_not_control_sees_no_buttons(operator: Operator, job: int) -> None:
    assert "/pause/" in operator.html("job_job", job)
    operator.granted.discard(CONTROL)
    assert "/pause/" not in operator.html("job_job", job)


# A permission for each disguise


def test_the_permission_for_one_disguise_opens_that_one_alone(operator: Operator) -> None:
    operator.granted.clear()
    operator.granted.add(f"edna_operations.{codename(ANONYMISE_ALL)}")
    html = operator.html("disguisecatalogue_changelist")
    assert ANONYMISE_ALL in html
    assert DELETE not in html
    assert operator.get("disguisecatalogue_disguise", ANONYMISE_ALL).status_code == 200
    for page in ("disguise", "preview", "apply"):
        method = operator.client.get if page == "disguise" else operator.client.post
        assert method(address(f"disguisecatalogue_{page}", DELETE)).status_code == 403
        # Nor does it say whether there is one of that name.
        assert method(address(f"disguisecatalogue_{page}", "no.such")).status_code == 403


def test_migrate_makes_a_permission_for_each_disguise() -> None:
    class Leave(Disguise):
        name = "test." + "leave-" * 15 + "now"
        transformations = [Remove(User)]

    with registering(Leave):
        for _ in range(2):
            call_command("migrate", verbosity=0)
            made = Permission.objects.filter(content_type__app_label="edna_operations", codename__startswith="apply:")
            names = {found.codename: found.name for found in made}
        assert names["apply:websubmit:delete-account"] == f"Can apply {DELETE}"
        assert names[codename(Leave.name)] == f"Can apply {Leave.name}"
    assert max(map(len, names)) <= 100


def test_the_permissions_are_those_that_the_documentation_names() -> None:
    call_command("migrate", verbosity=0)
    made = Permission.objects.filter(content_type__app_label__startswith="edna").exclude(codename__startswith="apply:")
    others = {f"edna_audiences.{each}_audiences" for each in ("view", "delete")} | {"edna_policies.view_policies"}
    assert {f"{found.content_type.app_label}.{found.codename}" for found in made} == EVERYTHING | others


def test_a_site_from_before_loses_the_permissions_that_mean_nothing_and_keeps_the_others() -> None:
    """They were offered for tables that have no page; whoever was given them can do as much as before."""
    bags = ContentType.objects.get_for_model(Bag)
    group = Group.objects.create(name="operators")
    group.permissions.add(
        *(Permission.objects.create(codename=f"{verb}_bag", name=verb, content_type=bags) for verb in ("add", "view")),
        Permission.objects.create(codename="audit_bag", name="the site's own", content_type=bags),
        Permission.objects.get(content_type__app_label="edna_operations", codename="view_job"),
    )
    call_command("migrate", verbosity=0)
    assert set(group.permissions.values_list("codename", flat=True)) == {"audit_bag", "view_job"}
    made = Permission.objects.filter(content_type__app_label="edna_operations")
    assert {found.codename for found in made} >= {
        permission.removeprefix("edna_operations.") for permission in EVERYTHING
    }
    with CaptureQueriesContext(connection) as captured:
        permissions._make(using="default")
    assert not [query for query in captured if query["sql"].startswith("DELETE")]


def test_a_job_may_be_started_by_who_may_not_look_at_jobs(operator: Operator) -> None:
    bea = enrol_in_course("bea@example.org")
    operator.granted.clear()
    operator.granted.add(APPLY)
    answer = operator.apply(ANONYMISE_ALL, bea)
    assert jobs.reports()[0].total == 1
    assert (answer.status_code, answer.url) == (302, address("job_job", jobs.reports()[0].id))


def test_who_may_apply_one_disguise_sees_the_jobs_that_they_started_and_no_others(operator: Operator, job: int) -> None:
    operator.granted.clear()
    operator.granted.add(f"edna_operations.{codename(ANONYMISE_ALL)}")
    own = jobs.start(ANONYMISE_ALL, principals=[], operator=operator.user.get_username()).id
    assert "Jobs" not in operator.html("job_job", own).partition('id="edna"')[0].rpartition("breadcrumbs")[2]
    assert operator.get("job_progress", own).json()["jobs"][0]["id"] == str(own)
    assert address("job_job", own) in operator.html("disguisecatalogue_changelist")
    assert address("job_job", job) not in operator.html("disguisecatalogue_changelist")
    # Neither those of others, nor whether there are any, nor their own of a disguise that they may not apply any more.
    other = jobs.start(DELETE, principals=[], operator=operator.user.get_username()).id
    for number in (job, other, 12345):
        assert operator.get("job_job", number).status_code == 403
        assert operator.get("job_progress", number).status_code == 403
    assert operator.get("job_changelist").status_code == 403
    assert operator.post("job_action", own, "pause").status_code == 403
