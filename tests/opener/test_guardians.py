"""The JavaScript twin of what people compute with guardians: the same vectors as the library, defects included."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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
