"""Renews the pictures of pages in docs/pictures, from what the browser tests see: `make pictures`.

With --only-copy it takes those of their last run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
SEEN = ROOT / "build" / "screenshots"
KEPT = ROOT / "docs" / "pictures"
WIDTH = 960
COLOURS = 64
GAP = 24
TESTS = [
    *(f"apps/{app}/tests/test_browser.py" for app in ("websubmit", "lobsters_sim")),
    "tests/operator/test_browser.py",
    "tests/pages/test_bare.py",
    "tests/devices/test_in_chromium.py",
]
#: Several stand beside each other.
PICTURES: dict[str, str | list[str]] = {
    "leaving": "websubmit/10-delete",
    "good-bye": "websubmit/12-good-bye",
    "returning": "websubmit/14-return",
    "returned": "websubmit/16-returned",
    "waiting": "websubmit/93-what-waits",
    "giving-up": "websubmit/91-give-up",
    "anonymising-preview": "websubmit/25-staff-anonymise-preview",
    "answers-of-nobody": "websubmit/27-staff-answers-anonymous",
    "story-of-nobody": "lobsters/43-story-anonymous",
    "still-mine": "lobsters/45-disguised-list",
    "recovery-code": "websubmit/04-recovery-code",
    "pages-home": "pages/01-home",
    "pages-leaving": "pages/10-leave",
    "pages-done": "pages/04-done",
    "pages-hidden": "pages/06-hidden-list",
    "pages-taken": "pages/13-taken",
    "key-made": "pages-in-browser/01-make-key",
    "key-code": "pages-in-browser/03-code",
    "key-renewed": "pages-in-browser/07-replace-key",
    "key-taken-along": "pages-in-browser/15-take-along",
    "key-edited": "pages-in-browser/16-edit-disowned",
    "key-phone": [f"pages-in-browser/{name}-phone" for name in ("01-make-key", "03-code", "14-delete")],
    "devices": [f"devices/{name}-phone" for name in ("04-code", "06-two", "09-remove")],
    "admin-catalogue": "edna/02-catalogue",
    "admin-preview": "edna/05-preview",
    "admin-job": "edna/09-failed",
    "admin-health": "edna/12-health",
}


def main() -> int:
    if "--only-copy" not in sys.argv:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *TESTS], cwd=ROOT, env={**os.environ, "EDNA_PICTURES": "1"}
        )
        if done.returncode:
            return done.returncode
    for name, pages in PICTURES.items():
        picture = beside([Image.open(SEEN / f"{page}.png") for page in ([pages] if isinstance(pages, str) else pages)])
        height = round(picture.height * WIDTH / picture.width)
        small = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
        small.quantize(COLOURS, dither=Image.Dither.NONE).save(KEPT / f"{name}.png", optimize=True)
    return 0


def beside(pictures: list[Image.Image]) -> Image.Image:
    """In one row, with a gap between them."""
    width = sum(picture.width for picture in pictures) + GAP * (len(pictures) - 1)
    row = Image.new("RGB", (width, max(picture.height for picture in pictures)), "white")
    at = 0
    for picture in pictures:
        row.paste(picture.convert("RGB"), (at, 0))
        at += picture.width + GAP
    return row


if __name__ == "__main__":
    sys.exit(main())
