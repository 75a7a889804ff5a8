"""Short forms in the table of public keys, and one index less in it and in that of bags (docs/decisions/0045-compact-entries.md).

A row's number follows from its public key or its index now. An entry's tag is over its number, so a tag that is right is made anew, under
the first key that the database knows; one that is not right stays as wrong as it was. If that may be for want of a key alone, nothing is
changed. The table of entries is written anew beside the one that is there, page by page, and takes its place at the end. Each
operation looks at what is there, so that it can be done again after a crash in the middle, where the database makes tables outside of
transactions (MariaDB).
"""

from collections.abc import Iterator
from typing import Any

import edna.models
from django.db import migrations, models

from edna import shards
from edna.db import rows
from edna.db.rows import table_of
from edna.db.short_values import label_number, number_of, short_reference
from edna.errors import ServerKeyUnknown
from edna.store import serverkeys
from edna.store.tags import entry_data, entry_tags

_AT_ONCE = 2_000
_BESIDE = "edna_principalentry_beside"
_UNDER = {
    "mysql": "GREATEST(CAST(CONV(HEX(LEFT({index}, 8)), 16, 10) AS UNSIGNED) >> 1, 1)",
    "postgresql": "GREATEST((('x' || encode(substring({index} FROM 1 FOR 8), 'hex'))::bit(64) >> 1)::bigint, 1)",
    "sqlite": "edna_number_of({index})",
}


class WriteEntriesAnew(migrations.SeparateDatabaseAndState):
    """From the one form to the other, and back."""

    def __init__(self, state_operations: Any) -> None:
        super().__init__(state_operations=state_operations)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        _write_anew(self, app_label, schema_editor, from_state, to_state, _Shortened)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        # Django gives the states of a way back with the state operations undone already.
        _write_anew(self, app_label, schema_editor, from_state, to_state, _Lengthened)


def _write_anew(operation: Any, app_label: str, schema_editor: Any, from_state: Any, to_state: Any, form: Any) -> None:
    former, new = (state.apps.get_model(app_label, "principalentry") for state in (from_state, to_state))
    connection = schema_editor.connection
    if schema_editor.collect_sql or not operation.allow_migrate_model(connection.alias, new):
        return
    name = former._meta.db_table
    with connection.cursor() as cursor:
        there = connection.introspection.table_names(cursor)
        if name in there and _has_labels(connection, cursor, name) is form.from_labels:
            if _BESIDE in there:
                schema_editor.execute(schema_editor.sql_delete_table % {"table": schema_editor.quote_name(_BESIDE)})
            new._meta.db_table = _BESIDE
            schema_editor.create_model(new)
            names = [field.name for field in former._meta.local_concrete_fields]
            _copy(former, new, names, form(using=connection.alias), using=connection.alias)
            schema_editor.execute(schema_editor.sql_delete_table % {"table": schema_editor.quote_name(name)})
            there = [_BESIDE]
        if name not in there:
            schema_editor.alter_db_table(new, _BESIDE, name)
            if connection.vendor == "postgresql":
                # Who clusters the table names the index of its key.
                former_name, key = (schema_editor.quote_name(f"{each}_pkey") for each in (_BESIDE, name))
                schema_editor.execute(f"ALTER INDEX IF EXISTS {former_name} RENAME TO {key}")
        new._meta.db_table = name


def _has_labels(connection: Any, cursor: Any, name: str) -> bool:
    described = connection.introspection.get_table_description(cursor, name)
    [column] = [each for each in described if each.name == "model"]
    return bool(connection.introspection.get_field_type(column.type_code, column) == "CharField")


def _copy(former: Any, new: Any, names: list[str], form: Any, *, using: str) -> None:
    for page in _pages(former, names, form.order, using=using):
        # By the number that the row gets: so its pages fill one after the other.
        changed = sorted(form(dict(zip(names, row, strict=True))) for row in page)
        rows.insert(table_of(new), names, changed, using=using)
    counts = {model._base_manager.using(using).count() for model in (former, new)}
    if len(counts) > 1:
        raise RuntimeError(
            "Two rows of edna_principalentry have the same public key, or rows were added meanwhile. Nothing was changed; stop the site, "
            "see manage.py edna_verify, and migrate again."
        )


def _pages(former: Any, names: list[str], order: str, *, using: str) -> Iterator[list[Any]]:
    """In the order of a column with an index."""
    found = former._base_manager.using(using).order_by(order)
    last = None
    while page := list(
        (found if last is None else found.filter(**{f"{order}__gt": last})).values_list(*names)[:_AT_ONCE]
    ):
        yield [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in page]
        last = page[-1][names.index(order)]


class _Shortened:
    """A row as it is to be. What the columns hold is as the driver takes it."""

    from_labels = True
    #: Also that of the numbers to be, up to the last bit.
    order = "public_key"

    def __init__(self, *, using: str) -> None:
        self._using, self._tags = using, entry_tags()
        self._made = self._tags.maker(using=using)
        #: What was tagged in a release, or on a site, that knew one database alone is so afterwards: nobody has vouched for where it is.
        self._databases = dict.fromkeys([None, shards.named(using)])

    def __call__(self, row: dict[str, Any]) -> tuple[Any, ...]:
        key, model, reference = bytes(row["public_key"]), row["model"], row["reference"]
        number, tag = number_of(key), row["tag"]
        if tag is not None:
            said = (key, model, reference, row["natural"], row["encapsulation_key"])
            for database in self._databases:
                if self._tags.is_right(tag, entry_data(row["id"], *said, database=database)):
                    data = entry_data(number, *said, database=database)
                    assert data is not None  # or its tag could not be right
                    tag = self._made(data)
                    break
            else:
                _require_all_keys(using=self._using)
        short = None if reference is None else short_reference(reference)
        changed = {"id": number, "model": label_number(model), "reference": short, "tag": tag}
        return tuple((row | changed).values())


def _require_all_keys(*, using: str) -> None:
    """
    Raises:
        ServerKeyUnknown: a tag may be wrong only because the key is not there under which it was made.
    """
    missing = serverkeys.standing(using=using).missing
    if missing:
        raise ServerKeyUnknown(
            "The tag of a public key cannot be checked: a key of the server that this database knows is not in EDNA[\"MAC_KEYS\"] "
            f"({', '.join(map(serverkeys.digits, missing))}). Nothing was changed. Put it back behind the present one and migrate "
            "again; if it is lost for good, run manage.py edna_keys forget first."
        )


class _Lengthened:
    """A row as it was, but for its number, which may be any."""

    from_labels = False
    order = "id"

    def __init__(self, *, using: str) -> None:
        pass

    def __call__(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row.values())


class NumberBags(migrations.RunPython):
    """Bags get the numbers under which they are looked for. Backwards nothing has to be done: any numbers were."""

    def __init__(self) -> None:
        super().__init__(_number_bags, migrations.RunPython.noop, elidable=False)

    def deconstruct(self) -> Any:
        return self.__class__.__name__, [], {}


def _number_bags(apps: Any, schema_editor: Any) -> None:
    bags = apps.get_model("edna", "bag")
    connection = schema_editor.connection
    if connection.vendor == "sqlite":
        connection.connection.create_function("edna_number_of", 1, number_of, deterministic=True)
    quote = schema_editor.quote_name
    number = _UNDER[connection.vendor].format(index=quote("index"))
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {quote(bags._meta.db_table)} SET {quote('id')} = {number}")  # noqa: S608 - our own names


class AlterUnique(migrations.AlterField):
    """As `AlterField`, but where the column is unique already, or is not any more, nothing is done."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        connection, model = schema_editor.connection, to_state.apps.get_model(app_label, self.model_name)
        if not schema_editor.collect_sql and self.allow_migrate_model(connection.alias, model):
            with connection.cursor() as cursor:
                constraints = connection.introspection.get_constraints(cursor, model._meta.db_table)
            is_unique = any(each["unique"] and each["columns"] == [self.name] for each in constraints.values())
            if is_unique == model._meta.get_field(self.name).unique:
                return
        super().database_forwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0012_a_disguise_under_way'),
    ]

    operations = [
        WriteEntriesAnew(
            state_operations=[
                migrations.RemoveConstraint(model_name='principalentry', name='edna_principal_reference'),
                migrations.AlterField(
                    model_name='principalentry',
                    name='id',
                    field=edna.models.RandomKeyField(editable=False, primary_key=True, serialize=False),
                ),
                migrations.AlterField(
                    model_name='principalentry',
                    name='public_key',
                    field=edna.models.FixedBinaryField(max_length=32),
                ),
                migrations.AlterField(
                    model_name='principalentry',
                    name='model',
                    field=edna.models.LabelField(),
                ),
                migrations.AlterField(
                    model_name='principalentry',
                    name='reference',
                    field=edna.models.ReferenceField(max_length=1021, null=True),
                ),
                migrations.AddConstraint(
                    model_name='principalentry',
                    constraint=models.UniqueConstraint(fields=('reference', 'model'), name='edna_entry_reference'),
                ),
            ],
        ),
        NumberBags(),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='bag',
                    name='id',
                    field=edna.models.RandomKeyField(editable=False, primary_key=True, serialize=False),
                ),
            ],
        ),
        AlterUnique(
            model_name='bag',
            name='index',
            field=edna.models.FixedBinaryField(max_length=32),
        ),
    ]
