"""Alike records of several bags are one batch, and each row stays its own bag's."""

from __future__ import annotations

from edna.engine.layers.joint_batches import joint_batches
from edna.records.diff import Modified, Owners
from tests.unit.test_folding import opened, text


def rows(*batches: Modified) -> list[list[object]]:
    return [list(row) for batch in batches for row in batch.rows]


def test_the_last_records_of_all_bags_come_first_and_what_is_alike_is_one_batch() -> None:
    note = Modified("shop.quote", "", ("id",), ("note",), [(3, "by hand", "")])
    one = opened(text(1, "a", "b"), text(1, "b", "c"), day=1)
    other = opened(text(2, "x", "c"), day=1)
    third = opened(note, day=1)
    joint = list(joint_batches([one, other, third], Modified))
    assert [rows(each.batch) for each in joint] == [
        [[1, "b", "c"], [2, "x", "c"]],
        [[3, "by hand", ""]],
        [[1, "a", "b"]],
    ]
    assert joint[0].whose == {(1,): one, (2,): other}


def test_no_key_stands_twice_in_a_batch() -> None:
    """Whose a row is could not be told any more."""
    one, other = opened(text(1, "a", "b"), day=1), opened(text(1, "b", "c"), text(2, "x", "c"), day=1)
    third = opened(text(1, "c", "d"), day=1)
    joint = list(joint_batches([one, other, third], Modified))
    assert [rows(each.batch) for each in joint] == [[[1, "a", "b"], [2, "x", "c"]], [[1, "c", "d"]], [[1, "b", "c"]]]


def test_what_is_taken_is_gone_from_its_bag_and_no_other_bag_is_sealed_again() -> None:
    one, other = opened(text(1, "a", "c"), day=1), opened(text(2, "x", "c"), day=1)
    [joint] = joint_batches([one, other], Modified)
    [(bag, taken)] = joint.take({(1,)})
    assert bag is one
    assert rows(taken) == [[1, "a", "c"]]
    assert rows(*one.diffs) == []  # type: ignore[arg-type]
    assert one.changed
    assert rows(*other.diffs) == [[2, "x", "c"]]  # type: ignore[arg-type]
    assert not other.changed


def test_who_else_owns_a_row_is_what_its_own_bag_says() -> None:
    """Another bag of the same moment may know the row by another step."""

    def owners(reference: str) -> Owners:
        return Owners.of("shop.quote", "", ("id",), [[1, "author", reference, b"k" * 32, ""]])

    one, other = opened(text(1, "a", "c"), owners("3"), day=1), opened(text(2, "x", "c"), owners("4"), day=1)
    [joint] = joint_batches([one, other], Modified)
    assert {row: [need.reference for need in needs] for row, needs in joint.needs.items()} == {
        ("shop.quote", (1,)): ["3"]
    }
