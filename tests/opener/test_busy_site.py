"""A site that lets in no more for a moment: a walk waits as long as it is told and goes on; what changes anything is asked once."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.once]

JS = Path(__file__).resolve().parents[2] / "edna" / "static" / "edna" / "js"

#: Asks `address` of a site whose answers are given, on a clock of its own.
SCRIPT = """
import { readFileSync } from "node:fs";
const { address, answers, js } = JSON.parse(readFileSync(0, "utf8"));
const { Server } = await import(`file://${js}/server.js`);
const waited = [];
globalThis.setTimeout = (work, milliseconds) => { waited.push(milliseconds / 1000); queueMicrotask(work); };
let asked = 0;
globalThis.fetch = async () => {
  const seconds = answers[asked++];
  if (seconds === null) return new Response(JSON.stringify({ fine: true }));
  const content = JSON.stringify({ error: { code: "TooBusy", message: `Try again in ${seconds} seconds.` } });
  return new Response(content, { status: 429, headers: { "Retry-After": String(seconds) } });
};
const server = new Server({ base: "/privacy/", csrfToken: "" });
const result = await server.post(address, {}).catch(({ code, message, retryAfterSeconds }) => ({ code, message, retryAfterSeconds }));
process.stdout.write(JSON.stringify({ result, asked, waited }));
"""


def ask(address: str, *answers: int | None) -> dict[str, Any]:
    """``answers`` are the seconds that the site says, or None for what was asked for."""
    node = shutil.which("node") or shutil.which("nodejs")
    assert node is not None
    done = subprocess.run(
        [node, "--input-type=module", "-e", SCRIPT],
        input=json.dumps({"address": address, "answers": answers, "js": str(JS)}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_only_asks_waits_as_long_as_it_is_told() -> None:
    assert ask("graph/bags", 2, 7, None) == {"result": {"fine": True}, "asked": 3, "waited": [2, 7]}


@pytest.mark.parametrize(
    ("address", "answers", "waited"),
    [
        ("graph/bags", [1, 1, 1, 9, None], [1, 1, 1]),
        ("graph/entries", [60, None], []),
        ("graph/reveal", [1, None], []),
        ("slots/replace", [1, None], []),
    ],
    ids=["again and again", "too long", "a reveal", "a slot"],
)
def test_in_the_end_it_says_so(address: str, answers: list[int | None], waited: list[int]) -> None:
    """Neither for ever nor for a minute without a word, and nothing that changes anything is sent twice."""
    seconds = answers[len(waited)]
    said = {"code": "TooBusy", "message": f"Try again in {seconds} seconds.", "retryAfterSeconds": seconds}
    assert ask(address, *answers) == {"result": said, "asked": len(waited) + 1, "waited": waited}
