"""The steps of a reveal: the order is the program's, and each says why it stands where it stands."""

from __future__ import annotations

from edna.engine.revealing.reveal import STEPS

ORDER = [step.__name__ for step in STEPS]


def test_each_step_says_what_it_does_and_comes_once() -> None:
    assert [step.__name__ for step in STEPS if not (step.__doc__ or "").strip()] == []
    assert len(set(ORDER)) == len(ORDER)


def test_a_record_is_erased_after_all_that_brings_back_and_all_that_refuses() -> None:
    """Nothing lost: whatever fails before has erased nothing."""
    before = ORDER[: ORDER.index("erase")]
    assert {"insert_rows", "undo_changes", "let_go", "settle_files", "reveal_blobs", "refuse"} <= set(before)


def test_rows_are_locked_before_one_is_written() -> None:
    assert ORDER.index("lock_rows") < min(ORDER.index(name) for name in ("insert_rows", "undo_changes", "let_go"))


def test_rows_are_known_by_keys_only_after_each_has_one() -> None:
    for name in ("alter_rows", "note_rows", "note_later_chunks", "lock_rows"):
        assert ORDER.index("make_again") < ORDER.index("give_keys") < ORDER.index(name)
