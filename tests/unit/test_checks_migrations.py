"""What `check` says about migrations that sealed records cannot follow."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

import edna
from edna import recordmigrations
from edna.checks.migrations import check_applied, check_rules
from edna.engine.forwarding import table_history


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    yield
    for key in recordmigrations.named():
        recordmigrations.unregister(*key)


def test_a_rule_for_no_migration() -> None:
    edna.record_migration("websubmit", "0001_initial")(lambda record: record)
    assert check_rules() == []
    edna.record_migration("websubmit", "0002_mistyped")(lambda record: record)
    [message] = check_rules()
    assert (message.id, message.obj) == ("edna.W120", "websubmit.0002_mistyped")


@pytest.mark.django_db
class TestCodeWithoutARule:
    @pytest.fixture(autouse=True)
    def runs_code(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(table_history, "unreadable", lambda label: ["0001_initial"] if label == "websubmit" else [])

    def applied_later(self, **later: int) -> None:
        recorder = MigrationRecorder(connection).migration_qs
        since = recorder.get(app="edna", name="0001_initial").applied
        recorder.filter(app="websubmit").update(applied=since + datetime.timedelta(**later))

    def test_it_is_said_if_bags_may_be_older(self) -> None:
        self.applied_later(days=1)
        [message] = check_applied(databases=["default"])
        assert message.id == "edna.W058"
        assert "0001_initial" in str(message.hint)
        assert check_applied() == []

    def test_nothing_is_said_of_a_new_database(self) -> None:
        self.applied_later(minutes=5)
        assert check_applied(databases=["default"]) == []

    def test_a_rule_settles_it(self) -> None:
        self.applied_later(days=1)
        edna.record_migration("websubmit", "0001_initial", models=())(lambda record: record)
        assert check_applied(databases=["default"]) == []
