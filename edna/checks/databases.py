"""Checks of where rows and bags are kept: one database for both, that forgets what is deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Warning
from django.db import DatabaseError, connections, router
from django.db.models import Model

from edna import clock, conf, registry, serverkeys, vouching
from edna.checks.settings import homes, homes_of, principal_models, shards
from edna.checks.steps import usable_steps
from edna.spec import Decorrelate, Modify

_SECURE_DELETE: Final = re.compile(
    r"pragma\s+(?:\w+\.)?secure_delete\s*(?:=\s*|\(\s*)'?(?:1|on|true|yes)\b", re.IGNORECASE
)
_WAITS: Final = {"IMMEDIATE", "EXCLUSIVE"}
_CLOCKS_DIFFER_SECONDS: Final = 1

_RECIPE: Final = 'docs/howto-shards.md, "Rows that cannot be where the person is"'


def check_routes(**_: Any) -> list[CheckMessage]:
    several = shards()
    if not several:
        return [*_one_database(), *_replicas()]
    return [*_apart_from_people(several), *_without_a_row(several), *_one_for_two(several)]


def _apart_from_people(several: Sequence[str]) -> Iterator[CheckMessage]:
    own = conf.own_models()
    for model in dict.fromkeys([*principal_models(), *own, *_touched_models()]):
        for home in several:
            using = _routed(model, home)
            if using == home and router.allow_migrate_model(home, model):
                continue
            problem = "has no table there" if using == home else f"is written to {using!r}"
            hint = (
                f"Keep the rows of {model._meta.label} in each database of EDNA['DATABASES'], with the people whose they are, and let the "
                f"router answer so for a row of that database; or take the model out of the disguise: {_RECIPE}."
            )
            if model in own:
                hint = (
                    "edna's tables are in each database of EDNA['DATABASES']: let the router's allow_migrate and db_for_write say so of "
                    f"its applications, and then manage.py migrate --database {home}."
                )
            yield Error(
                f"People of this site are in the database {home!r}, and {model._meta.label}, whose rows change with them, {problem}: "
                "no transaction spans two databases, so a crash between them would lose what was being disguised.",
                hint=hint,
                obj=model,
                id="edna.E069",
            )
            break


def _routed(model: type[Model], home: str) -> str:
    """Where a row that was read from a database is written, as far as the router says so of a row without values."""
    row = model()
    row._state.db = home
    try:
        return router.db_for_write(model, instance=row)
    except Exception:  # it looks at values: what it says of real rows is asked when they are disguised
        return home


def _without_a_row(several: Sequence[str]) -> Iterator[CheckMessage]:
    """Where rows go that are made without saying where; not of principal models, for operators may be in another database."""
    elsewhere: dict[str, list[str]] = {}
    # A table of a many-to-many relation gets its rows by the related manager, which asks with a row.
    for model in (model for model in _touched_models() if not model._meta.auto_created):
        with suppress(Exception):  # it refuses to say: then nothing goes to the wrong place
            if (using := router.db_for_write(model)) not in several:
                elsewhere.setdefault(using, []).append(model._meta.label)
    for using, labels in elsewhere.items():
        yield Warning(
            f"Without `using`, rows of {', '.join(labels)} go to the database {using!r}, in which nobody's disguise finds them: "
            "`objects.create(...)` asks the router without a row, whoever's they are.",
            hint="Write them with `using` or by the related manager of their person, or let the router refuse without a row; or silence "
            "this where it is meant, with SILENCED_SYSTEM_CHECKS = ['edna.W071']: docs/howto-shards.md.",
            obj="settings.DATABASE_ROUTERS",
            id="edna.W071",
        )


def _one_for_two(several: Sequence[str]) -> Iterator[CheckMessage]:
    """From the settings alone: a server may have more addresses than one, and it is not asked."""
    names: dict[tuple[str, ...], str] = {}
    for alias in several:
        described = connections.settings[alias]
        if _in_memory(described["NAME"]):
            continue
        place = tuple(str(described.get(part) or "") for part in ("ENGINE", "HOST", "PORT", "NAME"))
        if (first := names.setdefault(place, alias)) != alias:
            yield Error(
                f"{first!r} and {alias!r} are one database, by HOST, PORT and NAME: everybody in it is found twice, so that a key opens in "
                "two places, and a job takes each person a second time.",
                hint='Name each database once in EDNA["DATABASES"].',
                obj="settings.EDNA",
                id="edna.E072",
            )


def _one_database() -> Iterator[CheckMessage]:
    principals = principal_models()
    if not principals:
        return
    home = router.db_for_write(principals[0])
    for model in principals[1:]:
        if (using := router.db_for_write(model)) != home:
            yield _apart(model, using, principals[0], home, "edna.E050")
    for model in conf.own_models():
        if (using := router.db_for_write(model)) != home:
            yield _apart(model, using, principals[0], home, "edna.E051")
    for model in _touched_models():
        if (using := router.db_for_write(model)) != home:
            yield _apart(model, using, principals[0], home, "edna.E052")


def _apart(model: type[Model], using: str, principal: type[Model], home: str, check_id: str) -> CheckMessage:
    return Error(
        f"{model._meta.label} is written to the database {using!r} and the principal model {principal._meta.label} to "
        f"{home!r}: no transaction spans both, so a crash between them would lose what was being disguised.",
        hint="Route principal models, the models of their disguises and all apps of edna (`edna`, `edna_operations` ...) to one database.",
        obj=model,
        id=check_id,
    )


def _touched_models() -> list[type[Model]]:
    """Models of all disguises; the principal models have their own check."""
    models = {step.model: None for disguise in registry.disguises().values() for step in usable_steps(disguise)}
    return [model for model in models if model not in principal_models()]


def _replicas() -> Iterator[CheckMessage]:
    for model in [*principal_models(), *_touched_models()]:
        read, written = router.db_for_read(model), router.db_for_write(model)
        if read != written:
            yield Warning(
                f"{model._meta.label} is read from the database {read!r} and written to {written!r}: until the "
                "replica has caught up, pages go on showing what was disguised, and a reveal is not seen at once.",
                hint=f"edna itself always uses {written!r}. Watch the replica's delay, or read these models from "
                f"{written!r}.",
                obj=model,
                id="edna.W053",
            )


def check_lists(**_: Any) -> list[CheckMessage]:
    """From the models alone, where the database is PostgreSQL; it is not asked."""
    models: dict[type[Model], None] = {}
    for disguise in registry.disguises().values():
        steps = usable_steps(disguise)
        if any(isinstance(step, Decorrelate) for step in steps):
            models |= dict.fromkeys(principal_models())
        models |= {step.model: None for step in steps if isinstance(step, Decorrelate | Modify)}
    without = [
        model._meta.label for model in models if not model._meta.ordering and any(map(_is_postgresql, homes_of(model)))
    ]
    if not without:
        return []
    return [
        Warning(
            f"No Meta.ordering: {', '.join(sorted(without))}. PostgreSQL shows lists of these in the order in which rows were written, so "
            "that what one disguise has written stands side by side, for everybody who sees a page of it.",
            hint='Give each one by a column that tells nothing, ordering = ("pk",) for example. Of a package\'s models, see that the '
            "pages that list them order them, and silence this check once the others have an order. Run edna_scrub regularly.",
            obj="models",
            id="edna.W061",
        )
    ]


def _is_postgresql(alias: str) -> bool:
    return alias in connections.settings and connections[alias].vendor == "postgresql"


def check_sqlite_options(**_: Any) -> list[CheckMessage]:
    """From the settings alone; what the database really answers is `check_stored`'s business."""
    return [message for alias in homes() for message in _sqlite_options(alias)]


def _sqlite_options(alias: str) -> Iterator[CheckMessage]:
    described = connections.settings.get(alias)
    if described is None or not described["ENGINE"].endswith((".sqlite3", ".spatialite")):
        return
    options = described.get("OPTIONS", {})
    if not _in_memory(described["NAME"]) and not _SECURE_DELETE.search(options.get("init_command", "")):
        yield Warning(
            "SQLite is not told to overwrite what it deletes: disguised rows stay readable in the free pages of the "
            "file.",
            hint='Add "PRAGMA secure_delete=ON;" to OPTIONS["init_command"], and run VACUUM once.',
            obj=f"settings.DATABASES[{alias!r}]",
            id="edna.W054",
        )
    if str(options.get("transaction_mode") or "").upper() not in _WAITS:
        yield Warning(
            "SQLite starts transactions without a lock: a disguise that meets another writer fails with `database is "
            "locked` instead of waiting its turn (nothing is lost, but it has to be started again).",
            hint='Set OPTIONS["transaction_mode"] = "IMMEDIATE".',
            obj=f"settings.DATABASES[{alias!r}]",
            id="edna.W055",
        )


def _in_memory(name: object) -> bool:
    return str(name) in ("", ":memory:") or "mode=memory" in str(name)


def check_stored(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Asks the databases themselves. Tagged ``database``: runs with ``migrate`` and ``check --database``.

    When none is named, Django 6.1 passes all of them, and earlier ones pass None and expect that none is asked.
    """
    messages: list[CheckMessage] = []
    for alias in databases or ():
        principals = [model for model in principal_models() if alias in homes_of(model)]
        if principals and connections[alias].vendor == "sqlite":
            messages += _sqlite_answers(alias)
        if principals and connections[alias].vendor == "mysql":
            messages += _mysql_engines(alias, principals)
        if principals:
            messages += _clocks(alias)
            messages += _server_keys(alias)
            messages += _tags(alias)
    return messages


def _sqlite_answers(alias: str) -> Iterator[CheckMessage]:
    if _in_memory(connections[alias].settings_dict["NAME"]):
        return
    with connections[alias].cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        (answer,) = cursor.fetchone()
    if answer != 1:
        state = "fast: pages that become free keep their content" if answer == 2 else "off"
        yield Warning(
            f"SQLite says that secure_delete is {state}, so disguised rows stay readable in the file.",
            hint='Put "PRAGMA secure_delete=ON;" last in OPTIONS["init_command"]; a signal receiver may be setting it '
            "otherwise.",
            obj=f"database {alias!r}",
            id="edna.W056",
        )


def _clocks(alias: str) -> Iterator[CheckMessage]:
    differ = clock.ask(using=alias).differs
    if differ > _CLOCKS_DIFFER_SECONDS:
        yield Warning(
            f"The clocks of this server and of the database {alias!r} differ by {differ:,.0f} s. Jobs, codes, sessions and days "
            "of expiry go by the servers' clocks; which disguise of a row lies on top is told by the database's.",
            hint="Let one NTP server set all clocks.",
            obj=f"database {alias!r}",
            id="edna.W080",
        )


def _server_keys(alias: str) -> Iterator[CheckMessage]:
    standing = serverkeys.look(using=alias)
    if standing is None:
        return  # before the migration, or edna.E002 says why
    if standing.refusal:
        yield Error(
            standing.refusal,
            hint="manage.py edna_keys list shows the keys that are configured, and those that the database knows.",
            obj=f"database {alias!r}",
            id="edna.E059",
        )
    for check_value in standing.missing:
        yield Warning(
            f'The database knows a server key (check value {serverkeys.digits(check_value)}) that is not in EDNA["MAC_KEYS"]: what was '
            "made under it alone does not open or verify.",
            hint=serverkeys.PUT_BACK,
            obj=f"database {alias!r}",
            id="edna.W060",
        )


def _tags(alias: str) -> Iterator[CheckMessage]:
    """Of a site that had one database before."""
    try:
        if not vouching.some_of_one_database(using=alias):
            return
    except DatabaseError:
        return  # before the migrations
    yield Warning(
        f"In the database {alias!r} there are public keys that were noted while this site had one database, or by a release that did not "
        "tell databases apart: in one of several they do not count. Disguises and reveals of these people are refused (EntryForged).",
        hint=f"Run manage.py edna_vouch --formerly-alone --database {alias}, with the site stopped, if nobody has put rows of another "
        'database into this one: docs/howto-shards.md, "Whose tags count where".',
        obj=f"database {alias!r}",
        id="edna.W073",
    )


def _mysql_engines(alias: str, principals: Sequence[type[Model]]) -> Iterator[CheckMessage]:
    models = [*principals, *_touched_models(), *conf.own_models()]
    tables = {model._meta.db_table: model for model in models}
    sql = (
        "SELECT t.table_name, t.engine FROM information_schema.tables t JOIN information_schema.engines e ON e.engine "
        "= t.engine WHERE t.table_schema = DATABASE() AND e.transactions <> 'YES'"
    )
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute(sql)
            rows = [(table, engine) for table, engine in cursor.fetchall() if table in tables]
    except DatabaseError:
        return  # may not read the schema's description: then there is nothing to say
    for table, engine in rows:
        yield Error(
            f"The table {table} uses the storage engine {engine}, which knows no transactions: a crash in the middle "
            "of a disguise loses data.",
            hint=f"ALTER TABLE {table} ENGINE=InnoDB.",
            obj=tables[table],
            id="edna.E057",
        )
