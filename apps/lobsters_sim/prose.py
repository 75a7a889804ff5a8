"""What people wrote, as HTML: paragraphs, quotations and links, and nothing that they could do harm with.

Everything is escaped. A line that begins with ``>`` is a quotation; addresses become links that search engines do not follow.
"""

from __future__ import annotations

import re
from itertools import groupby

from django.utils.html import escape, urlize
from django.utils.safestring import SafeString, mark_safe

_BLANK_LINES = re.compile(r"\n\s*\n")


def render(text: str) -> SafeString:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    blocks = [block for block in _BLANK_LINES.split(lines) if block.strip()]
    return mark_safe("\n".join(_block(block) for block in blocks))  # noqa: S308 - every line is escaped below


def _block(block: str) -> str:
    parts = []
    for quoted, lines in groupby(block.split("\n"), key=lambda line: line.startswith(">")):
        inner = "<br>".join(_line(line[1:].lstrip() if quoted else line) for line in lines)
        parts.append(f"<blockquote><p>{inner}</p></blockquote>" if quoted else f"<p>{inner}</p>")
    return "\n".join(parts)


def _line(line: str) -> str:
    # Looking for links takes longer than all else on a page of many comments.
    return urlize(line, nofollow=True, autoescape=True) if "://" in line else escape(line)
