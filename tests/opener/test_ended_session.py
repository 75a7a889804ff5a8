"""A key in a page whose session has ended meanwhile: it is proved anew, once, and the request is sent again."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.opener.test_busy_site import JS

pytestmark = [pytest.mark.browser, pytest.mark.once]

#: A site that refuses the first tokens that it is sent; its challenges are in the clear.
SCRIPT = """
import { readFileSync } from "node:fs";
const { refused, js } = JSON.parse(readFileSync(0, "utf8"));
const { Server } = await import(`file://${js}/server.js`);
const { OpenKey } = await import(`file://${js}/custody.js`);
const challenge = Buffer.alloc(72, "edna key proof 1");
const sodium = { publicKey: () => Buffer.alloc(32, 1), openSealedBox: (sealed) => sealed };
let sessions = 0;
const sent = [];
globalThis.fetch = async (address, { headers }) => {
  if (address.endsWith("challenge")) return new Response(JSON.stringify({ challenge: challenge.toString("base64") }));
  if (address.endsWith("session")) return new Response(JSON.stringify({ token: `token ${++sessions}` }));
  sent.push(headers["X-Edna-Key-Session"]);
  if (sent.length > refused) return new Response("{}");
  return new Response(JSON.stringify({ error: { code: "KeyNotProved", message: "Prove it again." } }), { status: 403 });
};
const key = new OpenKey(sodium, new Server({ base: "/privacy/", csrfToken: "" }), { publicKey: Buffer.alloc(32, 1) });
const result = await key.ask("graph/erase", {}).catch(({ code }) => code);
process.stdout.write(JSON.stringify([result, sent]));
"""


@pytest.mark.parametrize(
    ("refused", "said"),
    [(0, [{}, ["token 1"]]), (1, [{}, ["token 1", "token 2"]]), (9, ["KeyNotProved", ["token 1", "token 2"]])],
)
def test_the_key_is_proved_anew_once(refused: int, said: object) -> None:
    node = shutil.which("node") or shutil.which("nodejs")
    assert node is not None
    given = json.dumps({"refused": refused, "js": str(JS)})
    done = subprocess.run(
        [node, "--input-type=module", "-e", SCRIPT], input=given, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == said
