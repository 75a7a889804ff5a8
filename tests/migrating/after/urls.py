"""What version 2 counts as the same address; shared by the migration and by the rule for records."""

from __future__ import annotations


def normalised(url: str) -> str:
    return url.partition("://")[2].rstrip("/").lower()
