"""The migration that writes entries in short forms and numbers bags: nothing is lost, wherever it is interrupted."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from apps.websubmit.models import Lecture
from edna.db.short_values import number_of
from edna.errors import ServerKeyUnknown
from edna.models import Bag, PrincipalEntry, random_primary_key
from edna.operations.upkeep import verification
from edna.store import vouching
from edna.store.tags import entry_data, entry_tags
from tests.support import ANONYMISE_LECTURE, DELETE, Student, edna_dump, enrol_in_course, execute, rows_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.usefixtures("of_x25519")]

BEFORE = "0012"


def migrate(*to: str) -> None:
    call_command("migrate", *to, verbosity=0, stdout=io.StringIO())


@pytest.fixture(autouse=True)
def _tables_as_today() -> Iterator[None]:
    yield
    migrate()


@pytest.fixture
def bea() -> Student:
    student = enrol_in_course("bea@example.org", "carl@example.org")
    student.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.all()[0].pk)
    student.disguise(DELETE)
    return student


def back(*, mac_key: bytes | None = None, database: str | None = None) -> None:
    """As an earlier release would have them: with numbers that were drawn by lot, and tags over these; perhaps of one of several
    databases."""
    migrate("edna", BEFORE)
    tags = entry_tags()
    made = tags.maker(using="default") if mac_key is None else tags._maker(mac_key)
    names = ("id", "public_key", "model", "reference", "natural", "encapsulation_key")
    for pk, key, *said in rows_of("edna_principalentry", names):
        number = random_primary_key()
        data = entry_data(number, bytes(key), *said, database=database)
        tag = None if data is None else made(data)
        execute("UPDATE edna_principalentry SET id = %s, tag = %s WHERE id = %s", [number, tag, pk])
    for (pk,) in rows_of("edna_bag", ["id"]):
        execute("UPDATE edna_bag SET id = %s WHERE id = %s", [random_primary_key(), pk])


@pytest.mark.parametrize("database", [None, "default"])
def test_of_several_databases_each_tag_stays_what_it_was(bea: Student, settings: Any, database: str | None) -> None:
    """Nobody vouches for where an entry is: what was tagged while there was one database counts in none of several afterwards."""
    settings.EDNA = {**settings.EDNA, "DATABASES": ["default"]}
    back(database=database)

    migrate()

    found = list(vouching.checked(vouching.entries(), using="default"))
    assert {sound for page in found for _, sound in page} == {database is not None}
    assert vouching.any_tagged_alone(vouching.entries(), using="default") is (database is None)


def test_what_an_earlier_release_has_written_is_found_and_comes_back(bea: Student) -> None:
    before = edna_dump()
    back()
    assert edna_dump() != before
    migrate()
    assert edna_dump() == before
    assert all(bag.pk == number_of(bytes(bag.index)) for bag in Bag.objects.all())
    assert verification.verify(secret_key=bea.secret_key).findings == []
    bea.reveal_everything()
    assert not Bag.objects.exists()


class _Crash(Exception):
    pass


STEPS = ["create_model", "alter_db_table", "alter_field"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
def test_a_crash_in_the_middle_loses_nothing(
    bea: Student, monkeypatch: pytest.MonkeyPatch, step: str, behind: bool
) -> None:
    before = edna_dump()
    back()
    kind: type[BaseDatabaseSchemaEditor] = connection.SchemaEditorClass  # type: ignore[assignment]
    original = getattr(kind, step)

    def crashed(self: Any, *given: Any, **named: Any) -> None:
        if behind:
            original(self, *given, **named)
        raise _Crash

    with monkeypatch.context() as patched:
        patched.setattr(kind, step, crashed)
        with pytest.raises(_Crash):
            migrate()
    migrate()
    assert edna_dump() == before
    assert bea.reveal_latest().complete


def test_a_wrong_tag_stays_wrong(bea: Student) -> None:
    """Whoever writes to the database gains nothing by a migration."""
    [carl] = PrincipalEntry.objects.filter(natural=True)
    back()
    execute("UPDATE edna_principalentry SET tag = %s WHERE reference = %s", [b"t" * 16, carl.reference])
    migrate()
    [carl] = PrincipalEntry.objects.filter(natural=True)
    assert bytes(carl.tag) == b"t" * 16
    assert {each.kind: each.ids for each in verification.verify().findings} == {"entry_tag": [carl.pk]}
    back()
    execute("UPDATE edna_principalentry SET tag = NULL WHERE reference IS NOT NULL")
    migrate()
    assert not PrincipalEntry.objects.exclude(tag=None).exists()


def test_a_tag_under_a_key_that_is_away_is_waited_for(bea: Student, settings: Any) -> None:
    from edna import serverkeys

    before, keys = edna_dump(), settings.EDNA["MAC_KEYS"]
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a newer key, which is long enough", *keys]}
    serverkeys.add(operator="")
    migrate("edna", BEFORE)
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a newer key, which is long enough"]}
    with pytest.raises(ServerKeyUnknown, match="Put it back behind the present one and migrate"):
        migrate()
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a newer key, which is long enough", *keys]}
    migrate()
    assert edna_dump() != before
    assert [each.kind for each in verification.verify(secret_key=bea.secret_key).findings] == []
