"""Recovery codes: read from paper however they are typed, every slip is noticed, nothing shows them by accident."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edna.custody.recovery import RecoveryCode, derive
from edna.errors import RecoveryCodeMalformed
from tests.unit.leaks import assert_error_leaks_nothing

pytestmark = pytest.mark.long

CODES = st.binary(min_size=16, max_size=16).map(RecoveryCode)
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@given(code=CODES)
def test_a_code_prints_as_seven_groups_and_reads_back(code: RecoveryCode) -> None:
    """Crockford's alphabet: no I, L, O, U."""
    text = str(code)

    assert re.fullmatch(rf"([{ALPHABET}]{{4}}-){{6}}[{ALPHABET}]{{4}}", text)
    assert RecoveryCode.parse(text) == code
    assert f"{code}" == text


@given(code=CODES, data=st.data())
def test_a_code_reads_back_however_it_is_typed(code: RecoveryCode, data: st.DataObject) -> None:
    """Case, spaces, no or other dashes, O for 0, I or L for 1."""
    confusable = {"0": "0oO", "1": "1iIlL", "-": ["-", "", " ", "\u2013", "\u2011", " - ", "\n"]}

    typed = "".join(
        data.draw(st.sampled_from(confusable.get(symbol, [symbol, symbol.lower()]))) for symbol in str(code)
    )

    assert RecoveryCode.parse(f" {typed}\r\n") == code


@given(code=CODES, at=st.integers(0, 33), symbol=st.sampled_from(ALPHABET))
@settings(max_examples=300)
def test_a_wrong_symbol_is_nearly_always_noticed(code: RecoveryCode, at: int, symbol: str) -> None:
    """Twelve bits of checksum: one slip in 4,096 passes as another code, which then opens no slot."""
    text = str(code)
    wrong = text[:at] + symbol + text[at + 1 :]
    if wrong == text or text[at] == "-":
        return

    try:
        other = RecoveryCode.parse(wrong)
    except RecoveryCodeMalformed:
        return
    assert other != code


def test_of_all_single_slips_in_a_code_at_most_a_handful_pass() -> None:
    """All 28 x 31 of them, for one code."""
    text = str(RecoveryCode(bytes(range(16))))
    passed = 0
    for at, right in enumerate(text):
        for symbol in set(ALPHABET) - {right, "-"}:
            try:
                RecoveryCode.parse(text[:at] + symbol + text[at + 1 :])
            except RecoveryCodeMalformed:
                continue
            passed += right != "-"

    assert passed <= 3


@given(text=st.text() | st.text(ALPHABET, min_size=20, max_size=40))
def test_any_other_text_is_malformed(text: str) -> None:
    """Whatever is typed into the field is refused as a code, never as another error."""
    try:
        code = RecoveryCode.parse(text)
    except RecoveryCodeMalformed:
        return
    assert RecoveryCode.parse(str(code)) == code


def test_a_mistyped_code_is_not_repeated_in_the_error() -> None:
    """A code with one slip is still most of a code."""
    text = str(RecoveryCode(b"sixteen bytes ok"))
    wrong = text[:-1] + ("0" if text[-1] != "0" else "1")

    with pytest.raises(RecoveryCodeMalformed) as caught:
        RecoveryCode.parse(wrong)

    assert_error_leaks_nothing(caught.value, wrong.encode(), wrong.replace("-", "").encode(), b"sixteen bytes ok")


def test_codes_are_random_and_lead_to_different_slots() -> None:
    """128 bits each; the slot secret is another 32 bytes."""
    codes = [RecoveryCode.new() for _ in range(50)]

    secrets = {derive(code).expose() for code in codes}

    assert len(secrets) == len({str(code) for code in codes}) == 50
    assert derive(RecoveryCode.parse(str(codes[0]))) == derive(codes[0])
    assert codes[0].expose() not in secrets.pop()
