"""What people wrote becomes paragraphs, quotations and links, and can do no harm."""

from __future__ import annotations

import pytest

from apps.lobsters_sim.prose import render


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("", ""),
        ("one\r\n\r\ntwo", "<p>one</p>\n<p>two</p>"),
        ("one\ntwo", "<p>one<br>two</p>"),
        ("> said you\nsay I", "<blockquote><p>said you</p></blockquote>\n<p>say I</p>"),
        ("a < b & c", "<p>a &lt; b &amp; c</p>"),
        ("\n \n\n", ""),
    ],
)
def test_what_becomes_what(text: str, html: str) -> None:
    assert render(text) == html


def test_links_are_not_followed_by_search_engines() -> None:
    assert render("see https://example.org/a?b=1&c=2 .") == (
        '<p>see <a href="https://example.org/a?b=1&amp;c=2" rel="nofollow">https://example.org/a?b=1&amp;c=2</a> .</p>'
    )


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "https://example.org/<script>alert(1)</script>",
        'https://example.org/"onmouseover="alert(1)',
        "> <img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "[x](javascript:alert(1))",
    ],
)
def test_nothing_that_runs(text: str) -> None:
    html = render(text)
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert '"onmouseover' not in html.replace("&quot;", "")
