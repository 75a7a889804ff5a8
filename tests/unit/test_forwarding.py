"""Records walk the migrations from when they were sealed to today; rules of the application take part.

The migrations here exist in memory; the models of today are those of an isolated application.
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.apps import apps
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.migrations.graph import MigrationGraph

import edna
from edna import recordmigrations
from edna.db.rows import table_of
from edna.engine.bags.opened_bag import Opened
from edna.engine.forwarding import driver_values, table_history, walk
from edna.engine.forwarding.walk import Forwarded, bring_forward
from edna.engine.graph.outcome import Reason
from edna.errors import SpecError
from edna.records.bag import Bag, BagKind
from edna.records.diff import Decorrelated, Modified, Operation, Removed, RowBatch, Shares
from edna.records.locator import Locator
from edna.records.sealedrecord import SealedRecord


def nothing(apps: Any, schema_editor: Any) -> None:
    """A migration's code that says nothing about what it does."""


def reads_posts(apps: Any, schema_editor: Any) -> None:
    apps.get_model("shop", "Post")


def reads_tags(apps: Any, schema_editor: Any) -> None:
    apps.get_model("websubmit", "Lecture")


class Site:
    """An application ``shop`` with a history, and models of today."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.tables: dict[str, type[models.Model]] = {}
        self.nodes: dict[tuple[str, str], migrations.Migration] = {}
        self.on_disk: dict[tuple[str, str], migrations.Migration] = {}
        self.newest: dict[str, str] = {}
        monkeypatch.setattr(walk, "table_by_label", self._table)
        self.history()

    def _table(self, label: str) -> Any:
        return table_of(self.tables[label]) if label in self.tables else None

    def migration(
        self, name: str, *operations: Any, app: str = "shop", after: Sequence[tuple[str, str]] = (), replaces: Any = ()
    ) -> None:
        made = migrations.Migration(name, app)
        made.operations, made.replaces = list(operations), list(replaces)
        made.dependencies = [*after, *([(app, self.newest[app])] if app in self.newest else [])]
        self.nodes[app, name] = self.on_disk[app, name] = made
        self.newest[app] = name
        self.history()

    def history(self) -> None:
        graph = MigrationGraph()
        for key, node in self.nodes.items():
            graph.add_node(key, node)
        for key, node in self.nodes.items():
            for parent in node.dependencies:
                graph.add_dependency(node, key, parent)
        loader = type("Loader", (), {"graph": graph, "disk_migrations": self.on_disk})()
        self.monkeypatch.setattr(table_history, "_loader", lambda: loader)
        table_history._newest.cache_clear()
        table_history.history.cache_clear()

    def today(self, *tables: type[models.Model]) -> None:
        self.tables |= {table._meta.label_lower: table for table in tables}

    def forward(self, *batches: RowBatch) -> Forwarded:
        return bring_forward(batches, using="default")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site(monkeypatch)
    made.migration("0001_initial")
    yield made
    monkeypatch.undo()
    table_history._newest.cache_clear()
    table_history.history.cache_clear()
    for key in recordmigrations.named():
        if key[0] in ("shop", "blog"):
            recordmigrations.unregister(*key)


def table(name: str, /, *, app: str = "shop", **fields: Any) -> type[models.Model]:
    meta = type("Meta", (), {"app_label": app, "apps": Apps()})
    return type(name, (models.Model,), {"__module__": __name__, "Meta": meta, **fields})


def post(**fields: Any) -> type[models.Model]:
    return table("Post", **fields)


def removed(*rows: Sequence[Any], columns: Sequence[str] = ("id", "title"), stamp: str = "0001_initial") -> RowBatch:
    return Removed("shop.post", stamp, ("id",), tuple(columns), [list(row) for row in rows])


def modified(
    *rows: Sequence[Any],
    columns: Sequence[str] = ("title",),
    stamp: str = "0001_initial",
    operation: Operation = Modified,
) -> RowBatch:
    return operation("shop.post", stamp, ("id",), tuple(columns), [list(row) for row in rows])


def only(done: Forwarded) -> RowBatch:
    assert done.stuck == []
    [batch] = done.batches
    return batch


def stuck_field(done: Forwarded) -> str | None:
    assert done.batches == []
    [stuck] = done.stuck
    assert stuck.reason is Reason.SCHEMA_CHANGED
    return stuck.field


Rule = Callable[[SealedRecord], object]


class TestNothingToDo:
    def test_a_record_of_today_is_the_very_same(self, site: Site) -> None:
        site.today(post(title=models.TextField()))
        batches = [removed([1, "One"]), modified([1, "old", "new"])]

        done = site.forward(*batches)

        assert [one is other for one, other in zip(done.batches, batches, strict=True)] == [True, True]

    def test_pointers_and_blobs_pass(self, site: Site) -> None:
        batch = Shares("shop.gone", "", ("locator",), ("rows",), [[b"x", 1]])
        assert site.forward(batch).batches == [batch]

    def test_columns_in_another_order_are_put_into_the_models(self, site: Site) -> None:
        site.today(post(title=models.TextField()))
        batch = only(site.forward(removed(["One", 1], columns=("title", "id"))))
        assert (batch.columns, [list(row) for row in batch.rows]) == (("id", "title"), [[1, "One"]])

    def test_records_in_another_order_can_be_rewritten(self, site: Site) -> None:
        site.today(post(title=models.TextField()))
        sealed = removed(["One", 1], columns=("title", "id"))
        applied_at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        head = Bag(BagKind.SHARED, "", applied_at, "shop.user", None, {}, "sqlite", True, (1, 0), (sealed,))
        opened = Opened(Locator.new(), [head], holder=None)
        opened.bring_forward(site.forward(*opened.diffs))
        opened.put(opened.diffs[0].rows[0], 1, "Two")
        assert list(opened.diffs[0].rows[0]) == [1, "Two"]

    def test_a_table_that_changed_without_a_migration_holds(self, site: Site) -> None:
        site.today(post(title=models.TextField(), extra=models.TextField(null=True)))
        assert stuck_field(site.forward(removed([1, "One"]))) == "extra"
        assert stuck_field(site.forward(modified([1, "a", "b"], columns=("gone",)))) == "gone"

    def test_a_model_that_is_gone_holds(self, site: Site) -> None:
        assert stuck_field(site.forward(removed([1, "One"]))) is None


class TestOperations:
    def test_renamed_field_and_model(self, site: Site) -> None:
        site.migration("0002", migrations.RenameField("Post", "title", "heading"))
        site.migration("0003", migrations.RenameModel("Post", "Article"))
        site.migration("0004", migrations.RenameField("Article", "heading", "name"))
        site.today(table("Article", name=models.TextField()))

        done = site.forward(removed([1, "One"]), modified([2, "old", "new"]))

        assert [(b.model, b.columns, b.key, b.stamp) for b in done.batches] == [
            ("shop.article", ("id", "name"), ("id",), "0004"),
            ("shop.article", ("name",), ("id",), "0004"),
        ]
        assert [b.rows for b in done.batches] == [[[1, "One"]], [[2, "old", "new"]]]

    def test_only_what_came_after_the_stamp_is_done(self, site: Site) -> None:
        site.migration("0002", migrations.RenameField("Post", "title", "a"))
        site.migration("0003", migrations.RenameField("Post", "a", "title"))
        site.migration("0004", migrations.RenameField("Post", "title", "b"))
        site.today(post(b=models.TextField()))
        assert only(site.forward(removed([1, "One"], stamp="0003"))).columns == ("id", "b")

    def test_added_columns_take_the_default_that_live_rows_took(self, site: Site) -> None:
        """The migration's, which may be given for this once, and not that of the model today."""
        site.migration(
            "0002",
            migrations.AddField("Post", "level", models.IntegerField(default=7), preserve_default=False),
            migrations.AddField("Post", "note", models.TextField(blank=True)),
            migrations.AddField("Post", "maybe", models.TextField(null=True)),
            migrations.AddField("Post", "state", models.CharField(max_length=9, db_default="new", default="old")),
            migrations.AddField("Post", "tags", models.ManyToManyField("shop.Tag")),
        )
        site.today(
            post(
                title=models.TextField(),
                level=models.IntegerField(),
                note=models.TextField(blank=True),
                maybe=models.TextField(null=True),
                state=models.CharField(max_length=9, db_default="new", default="old"),
            )
        )

        batch = only(site.forward(removed([1, "One"], [2, "Two"])))

        assert batch.columns == ("id", "title", "level", "note", "maybe", "state")
        assert batch.rows == [[1, "One", 7, "", None, "new"], [2, "Two", 7, "", None, "new"]]

    def test_a_default_is_computed_for_each_row(self, site: Site) -> None:
        numbers = iter(range(100))
        site.migration("0002", migrations.AddField("Post", "n", models.IntegerField(default=lambda: next(numbers))))
        site.today(post(title=models.TextField(), n=models.IntegerField()))
        assert only(site.forward(removed([1, "One"], [2, "Two"]))).rows == [[1, "One", 0], [2, "Two", 1]]

    def test_a_column_that_nothing_fills_holds(self, site: Site) -> None:
        site.migration("0002", migrations.AddField("Post", "level", models.IntegerField()))
        site.today(post(title=models.TextField(), level=models.IntegerField()))
        batch = removed([1, "One"])
        done = site.forward(batch, modified([1, "a", "b"]))
        assert [s.batch for s in done.stuck] == [batch]
        assert list(map(type, done.batches)) == [Modified]

    def test_removed_columns_are_dropped_and_a_change_of_nothing_else_is_done(self, site: Site) -> None:
        site.migration("0002", migrations.RemoveField("Post", "title"))
        site.today(post(body=models.TextField(null=True)))
        done = site.forward(
            removed([1, "One", None], columns=("id", "title", "body")),
            modified([1, "a", "b"]),
            modified([1, "a", "x", "b", "y"], columns=("title", "body")),
        )
        assert done.stuck == []
        assert [(b.columns, b.rows) for b in done.batches] == [
            (("id", "body"), [[1, None]]),
            (("body",), [[1, "x", "y"]]),
        ]

    def test_an_altered_field_keeps_values_and_fills_nulls_that_may_not_be(self, site: Site) -> None:
        site.migration("0002", migrations.AlterField("Post", "title", models.CharField(max_length=50, default="none")))
        site.today(post(title=models.CharField(max_length=50)))
        done = site.forward(removed([1, "One"], [2, None]), modified([3, None, "x"]))
        assert [b.rows for b in done.batches] == [[[1, "One"], [2, "none"]], [[3, "none", "x"]]]

    def test_a_deleted_model_holds_even_if_another_one_has_its_name_now(self, site: Site) -> None:
        site.migration("0002", migrations.DeleteModel("Post"))
        site.migration("0003", migrations.CreateModel("Post", [("id", models.AutoField(primary_key=True))]))
        site.today(post(title=models.TextField()))
        assert stuck_field(site.forward(removed([1, "One"]))) is None

    def test_only_the_state_counts_where_it_is_told_apart_from_the_database(self, site: Site) -> None:
        site.migration(
            "0002",
            migrations.SeparateDatabaseAndState(
                database_operations=[migrations.RunSQL("SELECT 1")],
                state_operations=[migrations.RenameField("Post", "title", "name")],
            ),
            migrations.RunSQL("SELECT 1", state_operations=[migrations.RemoveField("Post", "old")]),
        )
        site.today(post(name=models.TextField()))
        batch = only(site.forward(removed([1, "One", 0], columns=("id", "title", "old"))))
        assert (batch.columns, batch.rows) == (("id", "name"), [[1, "One"]])

    def test_a_renamed_model_renames_its_hidden_tables(self, site: Site) -> None:
        site.migration("0002", migrations.RenameModel("Post", "Article"))
        site.migration("0003", migrations.RenameField("Article", "tags", "labels"))
        site.today(table("Article_labels", article=models.IntegerField(), tag=models.IntegerField()))
        batch = Removed("shop.post_tags", "0001_initial", ("id",), ("id", "post", "tag"), [[1, 2, 3]])
        done = only(site.forward(batch))
        assert (done.model, done.columns, done.rows) == ("shop.article_labels", ("id", "article", "tag"), [[1, 2, 3]])

    def test_a_column_for_an_order(self, site: Site) -> None:
        site.migration("0002", migrations.AlterOrderWithRespectTo("Post", "blog"))
        site.today(post(title=models.TextField(), _order=models.IntegerField()))
        assert only(site.forward(removed([1, "One"]))).rows == [[1, "One", 0]]

    def test_the_primary_key_is_renamed_too(self, site: Site) -> None:
        site.migration("0002", migrations.RenameField("Post", "id", "number"))
        site.today(post(number=models.AutoField(primary_key=True), title=models.TextField()))
        done = site.forward(removed([1, "One"]), modified([1, "a", "b"]))
        assert [b.key for b in done.batches] == [("number",), ("number",)]

    def test_a_change_whose_key_is_gone_holds(self, site: Site) -> None:
        site.migration("0002", migrations.RemoveField("Post", "id"))
        site.today(post(slug=models.TextField(primary_key=True), title=models.TextField()))
        assert stuck_field(site.forward(modified([1, "a", "b"]))) == "id"


class TestCodeWithoutARule:
    """RunPython may have moved anything; what it may have moved is not dropped or made up."""

    def test_a_column_that_goes_after_unknown_code_holds(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing), migrations.RemoveField("Post", "title"))
        site.today(post(body=models.TextField(null=True)))
        assert stuck_field(site.forward(modified([1, "a", "b"]))) == "title"
        assert stuck_field(site.forward(removed([1, "One", None], columns=("id", "title", "body")))) == "title"

    def test_a_column_that_went_before_it_is_dropped(self, site: Site) -> None:
        site.migration("0002", migrations.RemoveField("Post", "title"), migrations.RunPython(nothing))
        site.today(post(body=models.TextField(null=True)))
        assert only(site.forward(removed([1, "One", None], columns=("id", "title", "body")))).rows == [[1, None]]

    @pytest.mark.parametrize("code", [nothing, reads_posts], ids=["says-nothing", "names-the-model"])
    def test_a_column_that_it_may_have_filled_holds(self, site: Site, code: Any) -> None:
        self.monkeypatched(site)
        site.migration("0002", migrations.AddField("Post", "slug", models.TextField(default="")))
        site.migration("0003", migrations.RunPython(code))
        site.today(post(title=models.TextField(), slug=models.TextField()))
        assert stuck_field(site.forward(removed([1, "One"]))) == "slug"
        assert stuck_field(site.forward(modified([1, "a", "b"]))) == "slug"
        assert only(site.forward(modified([1, 5, 6], operation=Decorrelated, columns=("title",)))).rows == [[1, 5, 6]]

    def test_code_that_names_other_models_only_does_not_concern_it(self, site: Site) -> None:
        site.migration("0002", migrations.AddField("Post", "slug", models.TextField(default="")))
        site.migration("0003", migrations.RunPython(reads_tags))
        site.today(post(title=models.TextField(), slug=models.TextField()))
        assert only(site.forward(removed([1, "One"]))).rows == [[1, "One", ""]]

    def test_code_that_changes_no_shape_lets_pass(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing), migrations.RunSQL("SELECT 1"))
        site.today(post(title=models.TextField()))
        assert only(site.forward(removed([1, "One"]))).stamp == "0002"

    def test_a_rule_for_no_model_says_that_it_concerns_none(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing), migrations.RemoveField("Post", "title"))
        site.today(post(body=models.TextField(null=True)))
        edna.record_migration("shop", "0002", models=())(lambda record: ())
        assert only(site.forward(removed([1, "One", None], columns=("id", "title", "body")))).rows == [[1, None]]

    @pytest.mark.parametrize("operation", [migrations.RunPython(migrations.RunPython.noop), migrations.RunSQL("")])
    def test_an_empty_operation_is_none(self, site: Site, operation: Any) -> None:
        site.migration("0002", operation, migrations.RemoveField("Post", "title"))
        site.today(post(body=models.TextField(null=True)))
        assert only(site.forward(removed([1, "One", None], columns=("id", "title", "body")))).rows == [[1, None]]

    def monkeypatched(self, site: Site) -> None:
        config = type("Config", (), {"label": "shop"})
        site.monkeypatch.setattr(apps, "get_app_configs", lambda: [config])
        model = type("Model", (), {"_meta": type("Meta", (), {"label_lower": "shop.post"})})
        site.monkeypatch.setattr(apps, "get_models", lambda: [model])


class TestRules:
    def split(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing), migrations.RemoveField("Post", "title"))
        site.today(
            post(body=models.TextField(null=True)),
            table("Title", post=models.IntegerField(primary_key=True), words=models.TextField()),
        )

        @edna.record_migration("shop", "0002", models=["shop.Post"])
        def title_in_its_own_table(record: SealedRecord) -> tuple[SealedRecord | None, ...]:
            return record, record.split_off("shop.Title", {"title": "words"}, key={"post": "id"})

    def test_a_table_that_was_split(self, site: Site) -> None:
        self.split(site)
        done = site.forward(
            removed([1, "One", "b"], [2, "Two", None], columns=("id", "title", "body")),
            modified([1, "a", "b"]),
            modified([1, "x", "y"], columns=("body",)),
        )
        assert done.stuck == []
        assert [(type(b), b.model, b.key, b.columns, b.rows) for b in done.batches] == [
            (Removed, "shop.post", ("id",), ("id", "body"), [[1, "b"], [2, None]]),
            (Removed, "shop.title", ("post",), ("post", "words"), [[1, "One"], [2, "Two"]]),
            (Modified, "shop.title", ("post",), ("words",), [[1, "a", "b"]]),
            (Modified, "shop.post", ("id",), ("body",), [[1, "x", "y"]]),
        ]

    def test_a_derived_column_for_both_sides_of_a_change(self, site: Site) -> None:
        site.migration(
            "0002",
            migrations.AddField("Post", "shout", models.TextField(default="")),
            migrations.RunPython(nothing),
        )
        site.today(post(title=models.TextField(), shout=models.TextField()))

        @edna.record_migration("shop", "0002")
        def shouting(record: SealedRecord) -> SealedRecord:
            record.derive("shout", str.upper, "title")
            return record

        done = site.forward(removed([1, "One"]), modified([1, "old", "new"]))
        assert [(b.columns, b.rows) for b in done.batches] == [
            (("id", "title", "shout"), [[1, "One", "ONE"]]),
            (("title", "shout"), [[1, "old", "OLD", "new", "NEW"]]),
        ]

    def test_later_operations_apply_to_what_a_rule_has_made(self, site: Site) -> None:
        self.split(site)
        site.migration("0003", migrations.RenameModel("Title", "Headline"))
        site.migration("0004", migrations.AddField("Headline", "size", models.IntegerField(default=3)))
        site.today(
            table(
                "Headline",
                post=models.IntegerField(primary_key=True),
                words=models.TextField(),
                size=models.IntegerField(),
            )
        )
        done = site.forward(removed([1, "One", None], columns=("id", "title", "body")))
        assert [(b.model, b.rows) for b in done.batches] == [
            ("shop.post", [[1, None]]),
            ("shop.headline", [[1, "One", 3]]),
        ]

    def test_a_record_that_moves_to_another_application_goes_on_there(self, site: Site) -> None:
        site.migration("0001_blog", app="blog")
        site.migration("0002", migrations.RenameField("Post", "title", "early"), app="blog")
        site.migration("0002_moved", after=[("blog", "0002")])
        site.migration("0003", migrations.RenameField("Post", "title", "late"), app="blog")
        site.today(table("Post", app="blog", late=models.TextField()))

        @edna.record_migration("shop", "0002_moved")
        def moved(record: SealedRecord) -> SealedRecord:
            record.model = "blog.post"
            return record

        batch = only(site.forward(removed([1, "One"])))
        assert (batch.model, batch.stamp, batch.columns) == ("blog.post", "0003", ("id", "late"))

    def test_a_merge_becomes_a_change_of_the_other_row(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing), migrations.DeleteModel("Post"))
        site.today(table("Blog", id=models.IntegerField(primary_key=True), motto=models.TextField(default="")))

        @edna.record_migration("shop", "0002")
        def merged(record: SealedRecord) -> SealedRecord:
            return record.change(
                "shop.blog", key={"id": record["id"]}, old={"motto": record["title"]}, new={"motto": ""}
            )

        batch = only(site.forward(removed([1, "One"])))
        assert (type(batch), batch.model, batch.rows) == (Modified, "shop.blog", [[1, "One", ""]])

    def test_values_that_a_rule_sets_are_pythons(self, site: Site) -> None:
        moment = datetime.datetime(2020, 1, 2, 3, 4, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
        site.migration("0002", migrations.RunPython(nothing))
        site.today(post(title=models.JSONField(), seen=models.DateTimeField(), raw=models.BinaryField()))

        @edna.record_migration("shop", "0002")
        def rule(record: SealedRecord) -> SealedRecord:
            record.set("title", {"en": record["title"]})
            record.set("seen", moment)
            record.set("raw", memoryview(b"x"))
            return record

        [row] = only(site.forward(removed([1, "One"]))).rows
        field = models.DateTimeField()
        assert row == [1, '{"en": "One"}', driver_values.raw_value(field, moment, using="default"), b"x"]

    def test_nothing_is_kept_only_if_the_rule_says_so(self, site: Site, caplog: pytest.LogCaptureFixture) -> None:
        site.migration("0002", migrations.RunPython(nothing))
        site.today(post(title=models.TextField()))
        edna.record_migration("shop", "0002")(lambda record: () if record["id"] == 1 else None)
        batch = removed([1, "One"], [2, "Two"])
        with caplog.at_level(logging.ERROR, "edna"):
            done = site.forward(batch)
        assert done.batches == []
        assert [stuck.batch.rows for stuck in done.stuck] == [[[2, "Two"]]]
        assert "TypeError" in caplog.text
        assert "Two" not in caplog.text

    def test_a_rule_that_fails_for_one_row_holds_that_row_only(self, site: Site) -> None:
        """And nothing of it arrives: not the half that another rule or table would have taken."""
        self.split(site)

        @edna.record_migration("shop", "0002", models=["shop.title"])
        def picky(record: SealedRecord) -> SealedRecord:
            if record["words"] == "Two":
                raise ValueError("Two")
            return record

        batch = removed([1, "One", None], [2, "Two", None], columns=("id", "title", "body"))
        done = site.forward(batch)
        assert [(b.model, b.rows) for b in done.batches] == [("shop.post", [[1, None]]), ("shop.title", [[1, "One"]])]
        [stuck] = done.stuck
        assert (stuck.batch.columns, stuck.batch.stamp, stuck.batch.rows) == (
            batch.columns,
            "0001_initial",
            [[2, "Two", None]],
        )

    def test_a_part_that_does_not_fit_holds_the_whole_record(self, site: Site) -> None:
        self.split(site)
        site.today(
            table(
                "Title",
                post=models.IntegerField(primary_key=True),
                words=models.TextField(),
                colour=models.IntegerField(),
            )
        )
        assert stuck_field(site.forward(removed([1, "One", None], columns=("id", "title", "body")))) == "colour"

    def test_a_column_that_no_table_has_holds_rather_than_getting_lost(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing))
        site.today(post(title=models.TextField()))

        @edna.record_migration("shop", "0002")
        def mistyped(record: SealedRecord) -> SealedRecord:
            record.rename("title", "tilte")
            return record

        assert stuck_field(site.forward(removed([1, "One"]))) == "tilte"
        assert stuck_field(site.forward(modified([1, "a", "b"]))) == "tilte"

    def test_a_rename_that_the_rule_has_done_is_not_done_again(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing), migrations.RenameField("Post", "title", "name"))
        site.today(post(name=models.TextField()))

        @edna.record_migration("shop", "0002")
        def shouting(record: SealedRecord) -> SealedRecord:
            record.derive("name", str.upper, "title")
            return record

        batch = only(site.forward(removed([1, "One"])))
        assert (batch.columns, batch.rows) == (("id", "name"), [[1, "ONE"]])

    def test_a_value_that_the_column_cannot_have_holds_its_row_only(
        self, site: Site, caplog: pytest.LogCaptureFixture
    ) -> None:
        site.migration("0002", migrations.RunPython(nothing))
        site.today(post(title=models.TextField(), size=models.IntegerField()))

        @edna.record_migration("shop", "0002")
        def sized(record: SealedRecord) -> SealedRecord:
            record.set("size", record["title"])
            return record

        with caplog.at_level(logging.ERROR, "edna"):
            done = site.forward(removed([1, "11"], [2, "secret"], [3, "33"]))
        assert [b.rows for b in done.batches] == [[[1, "11", 11], [3, "33", 33]]]
        assert [stuck.batch.rows for stuck in done.stuck] == [[[2, "secret"]]]
        assert "ValueError" in caplog.text
        assert "secret" not in caplog.text

    def test_a_new_row_waits_for_its_key(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing))
        site.today(post(title=models.TextField()), table("Log", post=models.IntegerField(), seen=models.BooleanField()))

        @edna.record_migration("shop", "0002", models=["shop.post"])
        def logged(record: SealedRecord) -> Iterator[SealedRecord]:
            yield record
            yield record.another("shop.log", post=record["id"], seen=True)

        done = site.forward(removed([7, "One"]))
        assert [b.rows for b in done.batches] == [[[7, "One"]], [[None, 7, True]]]

    def test_two_rules_for_one_migration_take_turns(self, site: Site) -> None:
        site.migration("0002", migrations.RunPython(nothing))
        site.today(post(title=models.TextField()))

        def louder(record: SealedRecord) -> SealedRecord:
            record.old["title"] += "!"
            return record

        def question(record: SealedRecord) -> SealedRecord:
            record.old["title"] += "?"
            return record

        for rule in (louder, question, louder):  # registered again, as by a module that is loaded again
            edna.record_migration("shop", "0002")(rule)
        assert only(site.forward(removed([1, "One"]))).rows == [[1, "One?!"]]

    @pytest.mark.parametrize(
        ("migration", "wanted"), [("shop.0002", None), ("", None), ("0002", "shop.post"), ("0002", ["post"])]
    )
    def test_a_mistaken_rule_is_refused(self, migration: str, wanted: Any) -> None:
        with pytest.raises(SpecError):
            edna.record_migration("shop", migration, models=wanted)


class TestStamps:
    def test_a_stamp_that_is_gone_holds_unless_the_columns_fit(self, site: Site) -> None:
        site.migration("0002")
        site.today(post(title=models.TextField()))
        assert only(site.forward(removed([1, "One"], stamp="0000_gone"))).stamp == "0002"
        assert stuck_field(site.forward(removed([1], columns=("id",), stamp="0000_gone"))) is None

    def test_the_last_of_squashed_migrations_is_the_squash(self, site: Site) -> None:
        site.nodes.clear(), site.on_disk.clear(), site.newest.clear()
        site.migration(
            "0001_squashed",
            migrations.RenameField("Post", "x", "title"),
            replaces=[("shop", "0001_initial"), ("shop", "0002")],
        )
        site.migration("0003", migrations.RenameField("Post", "title", "name"))
        site.today(post(name=models.TextField()))
        assert only(site.forward(removed([1, "One"], stamp="0002"))).columns == ("id", "name")
        assert only(site.forward(removed([1, "One"], stamp="0001_squashed"))).columns == ("id", "name")
        assert stuck_field(site.forward(removed([1, "One"], columns=("id", "x"), stamp="0001_initial"))) is None

    def test_squashed_migrations_are_read_while_their_files_are_there(self, site: Site) -> None:
        site.migration("0002", migrations.RenameField("Post", "title", "name"))
        site.migration("0003", migrations.RenameField("Post", "name", "heading"))
        replaced = dict(site.nodes)
        site.nodes.clear(), site.newest.clear()
        site.migration("0001_squashed", replaces=list(replaced))
        site.today(post(heading=models.TextField()))
        assert only(site.forward(removed([1, "One"], stamp="0001_initial"))).columns == ("id", "heading")
        assert only(site.forward(removed([1, "One"], columns=("id", "name"), stamp="0002"))).columns == (
            "id",
            "heading",
        )

    def test_an_application_that_has_got_migrations_since_holds_unless_the_columns_fit(self, site: Site) -> None:
        site.today(post(title=models.TextField()))
        assert only(site.forward(removed([1, "One"], stamp=""))).rows == [[1, "One"]]
        assert stuck_field(site.forward(removed([1], columns=("id",), stamp=""))) is None


def test_the_rows_of_a_large_batch_are_not_looked_at_one_by_one(site: Site) -> None:
    """Ten renames and drops are a matter of names; the rows are taken apart once."""
    for number in range(10):
        site.migration(f"1{number}", migrations.RenameField("Post", f"c{number}", f"c{number + 1}"))
    site.today(post(c10=models.TextField()))

    class Row(list[Any]):
        touched = 0

        def __getitem__(self, item: Any) -> Any:
            Row.touched += 1
            return super().__getitem__(item)

    batch = Removed("shop.post", "0001_initial", ("id",), ("id", "c0"), [Row([1, "a"]) for _ in range(100)])
    assert only(site.forward(batch)).columns == ("id", "c10")
    assert Row.touched <= 200


class TestReadingMigrations:
    """What `engine.schema` makes of them."""

    def steps(self, *operations: Any) -> list[Any]:
        return list(table_history._flat(operations))

    def test_code_that_names_its_models(self) -> None:
        def named(apps: Any, schema_editor: Any) -> None:
            apps.get_model("websubmit", "Answer")
            apps.get_model("websubmit.Lecture")

        [opaque] = self.steps(migrations.RunPython(named))
        assert opaque.may_concern("websubmit.answer")
        assert opaque.may_concern("websubmit.lecture")
        assert not opaque.may_concern("websubmit.question")

    def test_code_that_names_none(self) -> None:
        def loops(apps: Any, schema_editor: Any) -> None:
            for name in NAMES:
                apps.get_model("websubmit", name)

        for code in (loops, nothing, print):
            [opaque] = self.steps(migrations.RunPython(code))
            assert opaque.may_concern("websubmit.question")

    def test_somebodys_own_operation_may_do_more_than_it_is_built_on(self) -> None:
        class Own(migrations.RemoveField):
            pass

        operation = Own("Post", "title")
        [first, second] = self.steps(operation)
        assert first is operation
        assert isinstance(second, table_history.Opaque)

    def test_what_is_known(self, site: Site) -> None:
        site.migration("0002_squashed", replaces=[("shop", "0002")])
        site.migration("0003", migrations.RunPython(nothing))
        assert [table_history.known("shop", name) for name in ("0001_initial", "0002", "0004")] == [True, True, False]
        assert table_history.unreadable("shop") == ["0003"]
        assert table_history.newest("nowhere") == ""
        assert table_history.history("nowhere").end == 0

    def test_a_record_that_is_sent_to_and_fro_arrives(self, site: Site) -> None:
        """Two rules that send it to each other's application, where it goes on from where it has been."""
        site.migration("0001_blog", migrations.RunPython(nothing), app="blog")
        site.migration("0002", migrations.RunPython(nothing))
        site.today(post(title=models.TextField()), table("Post", app="blog", title=models.TextField()))

        def elsewhere(record: SealedRecord) -> SealedRecord:
            record.model = "blog.post" if record.model == "shop.post" else "shop.post"
            return record

        edna.record_migration("shop", "0002")(elsewhere)
        edna.record_migration("blog", "0001_blog")(elsewhere)
        assert only(site.forward(removed([1, "One"]))).model == "shop.post"


NAMES = ("Question",)
