/** Does things with devices as a page of the site would, with the modules and a real server: of each line, one JSON text, it writes what came of it. */

import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";

import { fromHex, toHex } from "../../edna/static/edna/js/base/bytes.js";
import { EdnaError } from "../../edna/static/edna/js/base/errors.js";
import { loadSodium } from "../../edna/static/edna/js/base/sodium.js";
import { openByPassword, openByText } from "../../edna/static/edna/js/custody.js";
import { OwnDevice, begin, create, forget, newKey, update } from "../../edna/static/edna/js/devices/acts.js";
import { parsePair, secretKeyText } from "../../edna/static/edna/js/keys.js";
import { reveal } from "../../edna/static/edna/js/reveal.js";
import { replaceKey } from "../../edna/static/edna/js/rotation.js";
import { Server } from "../../edna/static/edna/js/server.js";
import { stretched } from "../../edna/static/edna/js/slots.js";

globalThis.crypto ??= webcrypto; // Node 18 has it there alone

const TOKEN = "t".repeat(32);
let given = null;
const { fetch } = globalThis;
globalThis.fetch = async (address, options) => {
  const whole = address.startsWith("/") ? new URL(address, given.base) : address;
  const response = await fetch(whole, { ...options, headers: { ...options.headers, Cookie: `csrftoken=${TOKEN}` } });
  if (given.lost && String(address).endsWith(given.lost)) throw new TypeError("the connection was lost");
  return response;
};

async function act() {
  const sodium = await loadSodium();
  const server = new Server({ base: given.base, csrfToken: TOKEN, hybrid: given.hybrid });
  const stretch = (password, how) => stretched(sodium, password, how);
  if (given.act === "new key") return secretKeyText(sodium, newKey(sodium));
  if (given.act === "by password") return (await openByPassword(sodium, server, { ...given, stretch })).text();
  const pair = parsePair(sodium, given.device);
  if (given.act === "begin") return begin(sodium, server, pair);
  if (given.act === "forget") return forget(sodium, server, pair);
  if (given.act === "create") {
    const made = await create(sodium, server, openByText(sodium, server, given.text), { pair, stretch, ...given });
    return made.key.text();
  }
  const ways = { identifier: given.identifier, password: given.password, stretch };
  if (given.act === "update") return (await update(sodium, server, pair, parsePair(sodium, given.following), ways)).key.text();
  const own = await OwnDevice.open(sodium, server, pair);
  const acts = {
    open: () => own.key.text(),
    "group code": () => own.groupCode,
    "is update due": () => own.isUpdateDue,
    members: async () => (await own.members()).map((each) => ({ ...each, id: toHex(each.id) })),
    add: async () => toHex(await own.add(given.code, { name: given.name })),
    remove: () => own.remove(fromHex(given.id), ways),
    rename: () => own.rename(fromHex(given.id), given.name),
    reveal: () => reveal(sodium, own.key, given.receipt),
    "new key in its place": () => replaceKey(sodium, own.key),
  };
  return acts[given.act]();
}

for await (const line of createInterface({ input: process.stdin })) {
  given = JSON.parse(line);
  let outcome = null;
  try {
    outcome = { result: await act() };
  } catch (error) {
    outcome = error instanceof EdnaError ? { error: error.code ?? error.name, message: error.message } : { error: error.stack };
  }
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
