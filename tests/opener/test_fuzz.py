"""Python beside JavaScript, over mutated bags: the same verdicts. `make test-deep` goes through a hundred thousand (EDNA_FUZZ_BAGS)."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from edna import errors
from tests.opener.conftest import Case
from tests.opener.fuzz import WRITER, mutated_bags
from tests.unit.test_vectors import run_open_bag

pytestmark = pytest.mark.browser

#: So many at a time are in memory.
AT_ONCE = 2_000
SEED = 20_261_123


@pytest.fixture
def deep() -> Iterator[None]:
    """Content may have a thousand levels: too many for how Python reads JSON, if it is not told."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


def verdict(case: Case) -> Case:
    """Of the library, in the words of the JavaScript."""
    try:
        return {"result": _tagged(run_open_bag(case["input"]))}
    except errors.EdnaError as error:
        return {"error": type(error).__name__}


def _tagged(value: Any) -> Any:
    """As the vectors write it; a key that is a list is read as a tuple."""
    match value:
        case list() | tuple():
            return {"type": "list", "value": [_tagged(item) for item in value]}
        case dict():
            return {"type": "dict", "value": [[_tagged(key), _tagged(item)] for key, item in value.items()]}
    return WRITER["tagged"](value)


def test_python_and_javascript_say_the_same_of_mutated_bags(
    in_node: Callable[..., list[Case]], deep: None, record_property: Callable[..., None]
) -> None:
    """The same error, or the same content with its types and bits: of bytes that nobody sealed, and of content that no server writes."""
    count = int(os.environ.get("EDNA_FUZZ_BAGS", "400"))
    bags, verdicts = mutated_bags(count, seed=SEED), Counter[str]()
    while some := list(islice(bags, AT_ONCE)):
        for case, found in zip(some, in_node(some), strict=True):
            expected = verdict(case)
            assert found == expected, case
            verdicts[expected.get("error", "opens")] += 1

    # What a policy seals is for workers to open, and has vectors of its own.
    others = {errors.BagMissing, errors.PolicyError, errors.PolicySealForged}
    leaves = {error.__name__ for error in set(errors.BagError.__subclasses__()) - others}
    # Each kind of refusal was met, and none drowns the others.
    assert leaves <= verdicts.keys() if count >= 10_000 else len(verdicts) > 5
    assert verdicts["opens"] > count // 20
    record_property("mutated bags of which Python and JavaScript said the same", sum(verdicts.values()))
