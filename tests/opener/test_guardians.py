"""The JavaScript twin of what people compute with guardians: the same vectors as the library, defects included."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from edna.custody.guardians.evaluation import Partial
from edna.custody.guardians.process.routes import _told
from tests.guardians.test_evaluation import DATA, ENROLMENT, LIARS, Sharing
from tests.guardians.test_vectors import CASES
from tests.opener.conftest import Case

pytestmark = pytest.mark.browser
#: What guardians compute among themselves, and what the site orders, no browser does.
OF_OTHERS = {"add_masks", "asked_first", "check_order", "check_receipt", "check_receiver", "check_status"}
OF_OTHERS |= {"code", "make_order", "make_part", "read_roster", "repair", "take"}
OURS = {name: case for name, case in CASES.items() if case["operation"] not in OF_OTHERS}


def test_the_twin_reads_every_vector_of_a_client_in_node(in_node: Callable[..., list[Case]]) -> None:
    """Hash to curve, blinding, verified parts, combination, envelopes, shares and vetoes, to the byte."""
    outcomes = dict(zip(OURS, in_node(OURS.values()), strict=True))
    expected = {
        name: {"error": case["error"]} if "error" in case else {"result": case["expect"]} for name, case in OURS.items()
    }
    assert len(OURS) > 70
    assert outcomes == expected


def test_a_lie_is_refused_by_the_guardians_number_and_the_honest_ones_suffice_in_node(
    in_node: Callable[..., list[Case]],
) -> None:
    """One guardian stops nobody who comes back in a browser, either."""

    def answers_of(parts: list[Partial]) -> Case:
        return {str(each.place.number): {"partials": [_told(each)]} for each in parts}

    shared = Sharing(count=5, threshold=3)
    given = {
        "input": DATA.hex(),
        "factor": shared.blinded.factor.expose().hex(),
        "enrolment": ENROLMENT.hex(),
        "secret_commitment": shared.commitment.hex(),
        "threshold": 3,
    }
    cases = [
        {"operation": "combine", "input": {**given, "answers": answers_of(parts)}}
        for lie in LIARS.values()
        for parts in [[shared.partial(1), lie(shared), shared.partial(4), shared.partial(5)]]
    ]
    expected = {"result": {"output": shared.value.expose().hex(), "wrong": [2]}}
    assert dict(zip(LIARS, in_node(cases), strict=True)) == dict.fromkeys(LIARS, expected)
