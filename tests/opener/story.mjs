/** Does one thing as a page of the site would, with the modules and a real server: reads one JSON text, writes what came of it. */

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

import { EdnaError } from "../../edna/static/edna/js/base/errors.js";
import { openByText } from "../../edna/static/edna/js/custody.js";
import { loadSodium } from "../../edna/static/edna/js/base/sodium.js";
import { exportData } from "../../edna/static/edna/js/export.js";
import { walk } from "../../edna/static/edna/js/graph.js";
import { disguise, erase, planErasure, reveal } from "../../edna/static/edna/js/reveal.js";
import { replaceKey } from "../../edna/static/edna/js/rotation.js";
import { Server } from "../../edna/static/edna/js/server.js";

globalThis.crypto ??= webcrypto; // Node 18 has it there alone

const TOKEN = "t".repeat(32);
const given = JSON.parse(readFileSync(0, "utf8"));

let requests = 0;
let parts = 0;
const { fetch } = globalThis;
globalThis.fetch = async (address, options) => {
  requests++;
  const whole = address.startsWith("/") ? new URL(address, given.base) : address;
  const response = await fetch(whole, { ...options, headers: { ...options.headers, Cookie: `csrftoken=${TOKEN}` } });
  if (String(address).endsWith("/keys/rotate-part") && ++parts === given.killed_after) {
    process.stdout.write(JSON.stringify({ killed: parts }));
    process.exit(0);
  }
  if (given.lost && String(address).endsWith("/keys/rotate")) throw new TypeError("the connection was lost");
  return response;
};

async function act() {
  const sodium = await loadSodium();
  const key = openByText(sodium, new Server({ base: given.base, csrfToken: TOKEN, hybrid: given.hybrid }), given.text);
  if (given.act === "history") return (await walk(sodium, key)).history();
  if (given.act === "disguise") return disguise(sodium, key, given.disguise);
  if (given.act === "edit") return edited(sodium, key);
  if (given.act === "export") return exportData(sodium, key);
  if (given.act === "erase") return { planned: await planErasure(sodium, key, given.receipt), erased: await erase(sodium, key, given.receipt) };
  if (given.act === "rotate") {
    const { key: successor, code } = await replaceKey(sodium, key, {}, { partBytes: given.part_bytes });
    return { text: successor.text(), code, parts };
  }
  return reveal(sodium, key, given.receipt);
}

/** The example of docs/browser.md, word for word. */
async function edited(sodium, key) {
  const names = ["walk", "sodium", "key", "story", "owner", "title", "csrfToken"];
  const AsyncFunction = edited.constructor;
  const example = new AsyncFunction(...names, `${given.code}; return response.status;`);
  return example(walk, sodium, key, given.story, given.owner, given.title, TOKEN);
}

let outcome = null;
try {
  outcome = { result: await act(), requests };
} catch (error) {
  outcome = error instanceof EdnaError ? { error: error.code ?? error.name, message: error.message } : { error: error.stack };
}
process.stdout.write(JSON.stringify(outcome));
