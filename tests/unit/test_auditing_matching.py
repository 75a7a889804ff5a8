"""Finding values in texts: whole words in any case, behind what hides letters, and nothing by chance."""

from __future__ import annotations

from typing import Any

import pytest

from edna.auditing.matching import Index, leaves, needle

pytestmark = pytest.mark.once


def finds(value: str, content: Any) -> bool:
    wanted = needle(value)
    assert wanted is not None
    return bool(Index.of([wanted]).found_in(content))


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("Bea", "written by BEA."),
        ("Bea", "photos/bea_2024.jpg"),
        ("Bea", "https://example.org/~bea/"),
        ("bea@example.org", '{"from": "Bea@Example.org"}'),
        ("bea@example.org", "next=%3Fmail%3Dbea%40example.org"),
        ("Zoë", '{"name": "Zo\\u00eb"}'),
        ("Zoe\u0308", "Zoë was here"),
        ("Straße 5", "STRASSE\n  5"),
        ("O'Hara", "Mrs O&#x27;Hara"),
        ("I like the sea!", "/blog/2024/i-like-the-sea/"),
        ("Bea", '"Hello\\nBea"'),
        ("Bea", b"\x80\x04\x95Bea\x94"),
        ("Bea", {"who": ["Ann", {"name": "Bea"}]}),
        ("田中", "田中さん"),
        ("+49 170 1234567", "call +49 170 1234567!"),
        ("1701234567", 1701234567),
    ],
)
def test_a_value_is_found_however_it_is_written(value: str, content: Any) -> None:
    assert finds(value, content)


@pytest.mark.parametrize(
    ("value", "content"),
    [("Bea", "the beach"), ("Bea", "bea2"), ("Ann", "Hannah"), ("12345", "0123456"), ("Bea", None), ("Bea", 5)],
)
def test_no_value_is_found_in_the_middle_of_a_word(value: str, content: Any) -> None:
    assert not finds(value, content)


def test_of_a_long_text_an_excerpt_is_enough() -> None:
    text = "I have always liked the sea, said Bea, and most of all the sea at night, when nobody is there."
    assert finds(text, f"<p>{text[:70]}…</p>")
    assert not finds(text, "I have always liked the sea")


def test_of_what_has_no_spaces_nobody_quotes_the_beginning() -> None:
    """Hashes of passwords all begin alike."""
    made = "argon2$argon2id$v=19$m=102400,t=2,p=8$SWtDelJuTTVlWVlrUDAzUW5aWGVWYg${}"
    assert finds(made.format("jvyW0X"), f"[{made.format('jvyW0X')}]")
    assert not finds(made.format("jvyW0X"), made.format("dorcAb"))


@pytest.mark.parametrize("text", ["", "  ", "--", "ab", "1234", "田"])
def test_what_says_nothing_is_not_looked_for(text: str) -> None:
    assert needle(text) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", ["plain"]),
        ('{"name": "Bea", "tags": ["a", {"b": "c"}], "age": 4}', ["Bea", "a", "c"]),
        ("[no json", ["[no json"]),
        (["x", 3], ["x"]),
        ({"when": ["None", "2026-11-27 19:28:03.123456+01:00"], "seen": "2026-11-27T19:28Z", "staff": "False"}, []),
        ({"born": "1980-04-05", "said": "at 2026-11-27 19:28"}, ["1980-04-05", "at 2026-11-27 19:28"]),
    ],
)
def test_the_texts_in_json_are_looked_for_one_by_one(value: Any, expected: list[str]) -> None:
    assert list(leaves(value)) == expected


def test_a_page_begins_with_what_it_says_and_not_with_its_signs() -> None:
    """All comments of a forum that answer somebody begin with the same tags."""
    answer = '<blockquote><p><a class="comment-mention" rel="nofollow" href="/user/7/">@Carl</a> said:</p></blockquote>\n<p>{}</p>'
    looked_for = Index.of([str(needle(answer.format("I knit.")))])
    assert looked_for.found_in(answer.format("I knit.")) == {0}
    assert looked_for.found_in("@Carl said: I knit.") == {0}
    assert looked_for.found_in(answer.format("I sew.")) == set()
    assert needle("2 < 3 and 5 > 4, as everybody knows who has learnt to count, to add and to compare") == (
        "2 3 and 5 4 as everybody knows who has learnt to count to"
    )
