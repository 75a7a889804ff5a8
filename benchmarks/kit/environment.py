"""The environment of a process that opens a sample site of its own."""

from __future__ import annotations

import os


def without_settings() -> dict[str, str]:
    """Ours, without what would make the sample site another one."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("EDNA_", "DJANGO_", "CELERY_"))}
