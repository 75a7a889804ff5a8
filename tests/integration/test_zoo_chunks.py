"""What chunks divide in the zoo: composite keys, children of tables, trees, several groupings. What is left whole stands here by name."""

from __future__ import annotations

from typing import Any

import pytest

import edna
from edna.engine.chunks.units import units_of
from edna.engine.planning.statements import compiled_disguise
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.integration.test_zoo_statements import DISGUISES, HABITATS, Numbers
from tests.support import cut_into_chunks
from tests.zoo.tables import zoo, zoo_tables  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db


def rows_by_table() -> dict[str, int]:
    return {table: len(rows) for table, rows in application_dump().items()}


@pytest.mark.once
def test_which_tables_one_chunk_takes_whole(zoo: None) -> None:  # noqa: F811 - the fixture
    whole = {
        (cls.name, *(table._meta.label for table in unit.tables))
        for cls in DISGUISES
        for unit in units_of(compiled_disguise(cls, using="default").steps, beside=())
        if not unit.divisible
    }
    # What one pseudoprincipal owns in two tables, and a condition about a row of the same table.
    guild = {(f"zoo.guild-{name}", "zoo.Piece", "zoo.Tool") for name in ("leave", "mask", "one-nobody", "two-nobodies")}
    assert whole == {("zoo.council-retract", "zoo.Motion"), *guild}


@first_everywhere("habitat", ["lending", "studio", "town", "court", "shop"], count=2)
def test_chunks_leave_what_one_transaction_leaves(habitat: str, zoo: None) -> None:  # noqa: F811 - the fixture
    make, fill = HABITATS[habitat]
    one = make(1)
    fill(one.user, 3, Numbers())
    before = application_dump()
    for cls in DISGUISES:
        if not cls.name.startswith(f"zoo.{habitat}-"):
            continue
        params: Any = dict.fromkeys(cls.params, 2)
        receipt = edna.disguise(cls.name, one.user, params=params, atomic=True)
        left, [entry] = rows_by_table(), one.history()
        assert one.reveal(receipt).complete, cls
        with cut_into_chunks(2):
            receipt = edna.disguise(cls.name, one.user, params=params)
        assert rows_by_table() == left, cls
        [cut] = one.history()
        assert cut.counts == entry.counts, cls
        assert one.reveal(receipt).complete, cls
        assert application_dump() == before, cls
