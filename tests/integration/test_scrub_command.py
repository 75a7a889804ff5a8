"""``manage.py edna_scrub``: what it prints, and with which exit status it ends."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction

from edna import conf
from tests.support import DELETE, enrol_in_course, execute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_beside")]


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("edna_scrub", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_it_says_what_it_did() -> None:
    enrol_in_course("bea@example.org").disguise(DELETE)
    out, err = run()
    assert "rows written anew" in out
    assert "Left" not in out
    assert err == "", "cron mails what is written there"


def test_as_json() -> None:
    document = json.loads(run("--json", "--keep-application-tables")[0])
    assert set(document) == {"rows", "tables", "left", "seconds"}
    assert document["left"] == []
    if connection.vendor != "sqlite":
        labels = {model._meta.app_label for model in conf.own_models() if model._meta.managed}
        assert {table.partition(".")[0] for table in document["tables"]} == labels


def test_inside_a_transaction_it_is_refused() -> None:
    with transaction.atomic(), pytest.raises(CommandError) as refused:
        run()
    assert refused.value.returncode == 1


@pytest.mark.only_on("sqlite3")
def test_what_is_left_is_said_with_the_reason() -> None:
    other: Any = connections.create_connection("default")
    execute("PRAGMA busy_timeout = 20")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT count(*) FROM edna_bag")
            cursor.fetchall()  # whoever reads keeps the write-ahead log from being cut
            with pytest.raises(CommandError, match="1 table") as left:
                run()
            cursor.execute("ROLLBACK")
    finally:
        other.close()
        connection.close()
    assert left.value.returncode == 3
    run()
