"""What the processes of such a site do, one after another: `python -m tests.core_only.run STAGE`, with `edna.operations` or without."""

from __future__ import annotations

import io
import itertools
import json
import sys
from typing import Any

import django

django.setup()

from django.apps import apps as installed  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.core.files.base import ContentFile  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.core.management.base import SystemCheckError  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.db.migrations.loader import MigrationLoader  # noqa: E402
from django.db.migrations.recorder import MigrationRecorder  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

import edna  # noqa: E402
from edna import serverkeys  # noqa: E402
from edna.checks.without_operations import TABLES  # noqa: E402
from edna.store import serverkeys as stored_keys  # noqa: E402
from tests.upgrades.club.models import Message, Note, Vote  # noqa: E402

OPERATORS = (
    "edna_run",
    "edna_jobs",
    "edna_run_schedules",
    "edna_expire",
    "edna_hold",
    "edna_sweep",
    "edna_scrub",
    "edna_verify",
)
GRANTED = ("apply_disguise", "control_job", "view_auditentry", "view_job")


def manage(*arguments: str, **options: Any) -> str:
    printed = io.StringIO()
    if arguments[0] == "migrate":
        options.setdefault("skip_checks", False)
    call_command(*arguments, stdout=printed, stderr=io.StringIO(), **options)
    return printed.getvalue()


def refused(*arguments: str) -> str:
    try:
        manage(*arguments)
    except (CommandError, SystemCheckError) as error:
        return str(error)
    raise AssertionError(f"{arguments} was not refused")


def tables() -> set[str]:
    return set(connection.introspection.table_names()) & set(TABLES)


def optional_imported() -> list[str]:
    """Modules of what this site has not installed."""
    parts = ("audiences", "devices", "guardians", "policies")
    rooms = (
        "edna.operations",
        "edna.custody.sockets",
        *(f"edna.{each}{part}" for part in parts for each in ("", "custody.")),
    )
    return [name for name in sys.modules for room in rooms if f"{name}.".startswith(f"{room}.")]


def everything() -> dict[str, list[Any]]:
    return {
        model._meta.label: sorted(map(repr, model._base_manager.values_list())) for model in (User, Note, Message, Vote)
    }


def use() -> None:
    """All that needs no operator's part: by function, by command, over HTTP."""
    people = [User.objects.create_user(name, f"{name}@example.org", "login") for name in ("ann", "ben", "cyd")]
    for number, author in enumerate(people * 2):
        Note.objects.create(
            author=author, text=f"note {number}", attachment=ContentFile(b"a file", name=f"{number}.txt")
        )
    for sender, recipient in itertools.permutations(people, 2):
        Message.objects.create(sender=sender, recipient=recipient, text="hello")
    before = everything()
    ann, ben, _ = people
    key = edna.register_principal(ann, password="a long walk home").secret_key
    keys = settings.SCRATCH / "keys.jsonl"
    manage("edna_register", "--all", "--keys-file", str(keys))
    assert len(keys.read_text().splitlines()) == 2
    assert json.loads(manage("edna_plan", "club.leave", "--principal", "ann", "--json"))["rows"] > 4

    receipt = manage("edna_disguise", "club.leave", "--principal", "ann", "--yes").strip()
    assert not User.objects.filter(pk=ann.pk).exists()
    edna.disguise("club.veil", ben)
    manage("edna_disguise", "club.blur", "--all", "--param", "below=3", "--yes")
    manage("edna_files")
    assert json.loads(manage("edna_keys", "list", "--json"))
    manage("edna_vouch")
    secret = settings.SCRATCH / "ann.key"
    secret.write_text(key.expose_text())
    manage("edna_reveal", receipt, "--secret-key-file", str(secret))
    with edna.unlock(identifier="ann", password="a long walk home") as unlocked:
        receipt = str(edna.disguise("club.leave", ann, unlocked=unlocked))
        assert edna.history(unlocked)
    with edna.unlock(secret_key=key) as unlocked:
        rotated = edna.rotate(unlocked, identifier="ann", password="another walk")
    with edna.unlock(secret_key=rotated.secret_key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    for line in keys.read_text().splitlines():
        with edna.unlock(secret_key=json.loads(line)["secret_key"]) as unlocked:
            for entry in edna.history(unlocked):
                assert edna.reveal(entry.receipt, unlocked).complete
    assert everything() == before
    client = Client()
    client.force_login(ann)
    assert client.get("/metrics").status_code == 404


def alone() -> None:
    """`edna` alone, from the first migration on."""
    manage("migrate", verbosity=0)
    assert tables() == set()
    use()
    said = io.StringIO()
    call_command("check", databases=["default"], fail_level="WARNING", tags=["database"], stdout=said, stderr=said)
    assert "edna.E062" not in said.getvalue()
    for command in (("edna_disguise", "club.veil", "--all", "--yes", "--job"), ("edna_vouch", "--job", "7")):
        assert '--job needs "edna.operations" in INSTALLED_APPS' in refused(*command)
    for command in OPERATORS:
        assert "Unknown command" in refused(command)
    assert not Permission.objects.filter(content_type__app_label__startswith="edna", codename="view_job").exists()
    manage("makemigrations", "--check", "--dry-run")
    assert optional_imported() == []


def joined() -> None:
    """The operator's part, added later."""
    manage("migrate", verbosity=0)
    assert tables() == set(TABLES)
    manage("check", databases=["default"])
    manage("makemigrations", "--check", "--dry-run")
    assert json.loads(manage("edna_disguise", "club.veil", "--all", "--yes", "--job", "--json"))["left"] == 0
    assert "club.veil" in manage("edna_jobs")
    manage("edna_sweep")
    manage("edna_verify")
    assert set(permissions()) >= {f"edna_operations.{name}" for name in GRANTED}


def before() -> None:
    """A site of the release in which all tables were of `edna`: with a row in each, and permissions that were granted."""
    manage("migrate", "edna", "0009", verbosity=0, skip_checks=True)
    manage("migrate", "auth", verbosity=0, skip_checks=True)
    state = MigrationLoader(connection).project_state(("edna", "0009_a_job_counts_whom_it_left_out"))
    for model in state.apps.get_app_config("edna").get_models():
        if model._meta.db_table in TABLES and not model._meta.proxy:
            _fill(model)
    # That release knew its own tables when it let the database know the keys; this one sees that they are not those of today.
    stored_keys.add(serverkeys.standing().configured, added_on=timezone.now().date(), using="default")
    group = Group.objects.create(name="operators")
    for name in GRANTED:
        group.permissions.add(Permission.objects.get(content_type__app_label="edna", codename=name))
    assert tables() == set(TABLES)
    keep()


def _fill(model: type[models.Model]) -> None:
    values: dict[str, Any] = {}
    for field in model._meta.concrete_fields:
        if not field.primary_key and not field.has_default() and not field.null:
            values[field.attname] = _value(field)
    if model._meta.db_table == "edna_lastrun":
        values["name"] = "expire"
    model._base_manager.create(**values)


def _value(field: Any) -> Any:
    if isinstance(field, models.DateTimeField):
        return timezone.now()
    if isinstance(field, models.DateField):
        return timezone.now().date()
    if isinstance(field, models.BinaryField):
        return bytes(field.max_length or 9)
    if isinstance(field, models.BooleanField):
        return False
    return "finished" if field.name == "state" else "7" if isinstance(field, models.CharField) else 7


def stored(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """What stands in these columns of each table."""
    found = {}
    with connection.cursor() as cursor:
        for table, names in columns.items():
            cursor.execute(f"SELECT {', '.join(map(connection.ops.quote_name, names))} FROM {table}")
            found[table] = [repr([_plain(value) for value in row]) for row in cursor.fetchall()]
    return found


def columns() -> dict[str, list[str]]:
    with connection.cursor() as cursor:
        return {
            table: [column.name for column in connection.introspection.get_table_description(cursor, table)]
            for table in TABLES
        }


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def keep() -> None:
    then = columns()
    found = stored(then)
    assert all(found.values())
    (settings.SCRATCH / "stored.json").write_text(json.dumps([then, found]))


def permissions() -> list[str]:
    """Those about what operators keep."""
    of_operations = Permission.objects.filter(content_type__model__in=("job", "auditentry"))
    return sorted(f"{each.content_type.app_label}.{each.codename}" for each in of_operations)


def kept() -> None:
    """All rows are there, in the tables that the models of today have, and each permission once, granted as it was."""
    then, found = json.loads((settings.SCRATCH / "stored.json").read_text())
    assert stored(then) == found
    owner = "edna_operations" if installed.is_installed("edna.operations") and _migrated() else "edna"
    granted = Group.objects.get(name="operators").permissions.select_related("content_type")
    names = sorted(f"{each.content_type.app_label}.{each.codename}" for each in granted)
    assert names == [f"{owner}.{name}" for name in GRANTED], names
    assert permissions() == sorted(set(permissions()))
    assert {name.partition(".")[0] for name in permissions()} == {owner}, permissions()
    if owner == "edna_operations":
        for model in installed.get_app_config("edna_operations").get_models():
            assert model._base_manager.count() == 1, model


def _migrated() -> bool:
    return "edna_operations" in {app for app, _ in MigrationLoader(connection).applied_migrations}


def upgrade() -> None:
    manage("migrate", verbosity=0)
    kept()
    manage("check", databases=["default"])
    manage("migrate", verbosity=0)
    kept()


def upgrade_alone() -> None:
    """Refused, and says what to do; whoever goes on all the same loses nothing."""
    assert "edna.E062" in refused("migrate")
    assert "0010_operations_are_an_application" not in {
        name for _, name in MigrationLoader(connection).applied_migrations
    }
    manage("migrate", verbosity=0, skip_checks=True)
    kept()
    said = refused("check", "--database", "default")
    assert ("edna.E062" in said, 'INSTALLED_APPS += ["edna.operations"]' in said) == (True, True)


def back() -> None:
    """To the release before, and forward again."""
    manage("migrate", "edna_operations", "zero", verbosity=0)
    kept()
    manage("migrate", "edna", "0009", verbosity=0)
    kept()


def again() -> None:
    """The migrations run once more, as after a crash behind their last statement where tables are made outside of transactions."""
    manage("migrate", "edna_operations", "0001", verbosity=0)
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("edna_operations", "0001_initial")
    for name in (
        "0010_operations_are_an_application",
        "0011_hybrid_keys",
        "0012_a_disguise_under_way",
        "0013_compact_entries",
    ):
        recorder.record_unapplied("edna", name)
    upgrade()


def metrics() -> None:
    """Asked for where nothing can read them: the site starts, `check` says what is missing, and there is no page."""
    assert "edna.E006" in refused("check")
    page = Client().get("/metrics", headers={"Authorization": f"Bearer {settings.EDNA['METRICS_TOKEN']}"})
    assert page.status_code == 404
    assert optional_imported() == []


if __name__ == "__main__":
    stages = (alone, joined, before, upgrade, upgrade_alone, back, again, metrics)
    for name in sys.argv[1:]:
        {stage.__name__: stage for stage in stages}[name]()
