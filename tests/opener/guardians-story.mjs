/** What somebody does in a browser about the guardians of a site: reads one JSON text, writes what came of it. */

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

import { EdnaError } from "../../edna/static/edna/js/base/errors.js";
import { loadSodium } from "../../edna/static/edna/js/base/sodium.js";
import { openByText } from "../../edna/static/edna/js/custody.js";
import { Request, enroll, isEnrolled, veto, withdraw } from "../../edna/static/edna/js/guardians/way-back.js";
import { Server } from "../../edna/static/edna/js/server.js";

globalThis.crypto ??= webcrypto; // Node 18 has it there alone

const TOKEN = "t".repeat(32);
const given = JSON.parse(readFileSync(0, "utf8"));
const asked = [];
const { fetch } = globalThis;
globalThis.fetch = (address, options) => {
  const ours = String(address).startsWith(given.base);
  if (!ours) asked.push(options.body);
  return fetch(address, ours ? { ...options, headers: { ...options.headers, Cookie: `csrftoken=${TOKEN}` } } : options);
};

async function act(sodium, server) {
  const { identifier, contact, pin, code } = given;
  if (given.text) {
    const key = openByText(sodium, server, given.text);
    if (given.act === "enroll") return enroll(sodium, server, key, { identifier, contact, pin });
    if (given.act === "veto") return veto(sodium, server, key);
    if (given.act === "withdraw") return withdraw(key);
    return isEnrolled(key);
  }
  if (given.act === "ask") {
    const request = await Request.ask(sodium, server, identifier);
    return { code: request.code, progress: await request.look() };
  }
  const request = await Request.goOn(sodium, server, identifier, code);
  for (const [number, each] of Object.entries(given.codes ?? {})) await request.confirm(Number(number), each);
  if (given.act === "look") return request.look();
  return (await request.recover({ pin })).text();
}

let outcome = null;
try {
  const sodium = await loadSodium();
  outcome = { result: await act(sodium, new Server({ base: given.base, csrfToken: TOKEN })), asked };
} catch (error) {
  outcome = error instanceof EdnaError ? { error: error.code ?? error.name, message: error.message, asked } : { error: error.stack };
}
process.stdout.write(JSON.stringify(outcome));
