/**
 * A new key, after a compromise, or for whoever wants a key that no server has seen: docs/decisions/0032-a-new-key-in-the-browser.md. The server
 * puts other boxes before the bodies of bags, and is shown neither a secret key nor what is in a bag.
 */

import { concat, fromHex, toBase64, toHex } from "./base/bytes.js";
import { EdnaError, HandoverRefused } from "./base/errors.js";
import { sealedFileKey } from "./container.js";
import { secretOf, wholePublicKey } from "./keys.js";
import { SHARED, SPEAKS_FOR, openerOf } from "./locator.js";
import { walk } from "./graph.js";
import { sent } from "./server.js";
import { readSuccession } from "./succession.js";

const ATTEMPTS = 3;
/** In one request; as JSON, of which each character is a byte. More goes in parts before. */
const PART_BYTES = 512 * 1024;
const ITEMS_AT_ONCE = 200;

/**
 * Puts a new key in the place of `key`: `{key, code}`, the new one and the text of its recovery code. The old one, its password, code and passkey open
 * nothing from then on. All or nothing: where something does not open, the site alone can give that up. What is longer than `partBytes` is sent in
 * parts, and counts when the last request has come: whoever is interrupted before has the old key, and begins again.
 *
 * Throws a BagError where something does not open, HandoverRefused where others were quicker each time, and what the server refuses with.
 */
export async function replaceKey(sodium, key, ways = {}, { partBytes = PART_BYTES } = {}) {
  const successor = key.successor();
  const { slots, code } = await successor.makeSlots(ways);
  await makeOver(sodium, key, { successor, slots, partBytes });
  return { key: successor, code };
}

/**
 * Make everything of `key` over to `successor`, with these slots: as `replaceKey` does. `more()` is what `address` takes besides; whoever passes it
 * knows how the person comes to the new key.
 */
export async function makeOver(sodium, key, { successor, slots = [], partBytes = PART_BYTES, address = "keys/rotate", more = () => ({}) }) {
  for (let attempt = 1; ; attempt++) {
    const graph = await walk(sodium, key);
    const content = await madeOver(sodium, key, { graph, successor });
    try {
      await key.ask(address, { ...(await inParts(key, content, partBytes)), slots: slots.map(sent), ...(await more()) });
      return;
    } catch (error) {
      // Somebody disguised or revealed something since the walk.
      if (error instanceof HandoverRefused && attempt < ATTEMPTS) continue;
      // The answer may have been lost, and not the request.
      const isRefusal = error instanceof EdnaError && error.code !== null;
      if (isRefusal || !(await isRegistered(successor))) throw error;
      return;
    }
  }
}

/** What is left to be sent: all of it, or what opens the parts that were sent. */
async function inParts(key, content, partBytes) {
  if (JSON.stringify(content).length <= partBytes) return content;
  const opens = [];
  for (const part of portions(content, partBytes)) {
    opens.push((await key.ask("keys/rotate-part", { number: opens.length, part })).opens);
  }
  return { parts: opens };
}

/** Parts of the content, each as long as may be. */
function* portions(content, partBytes) {
  let [part, length] = [{}, 0];
  for (const [name, one] of Object.entries(content).flatMap(([name, all]) => all.map((one) => [name, one]))) {
    const size = JSON.stringify(one).length + 1;
    if (length && length + size > partBytes) {
      yield part;
      [part, length] = [{}, 0];
    }
    (part[name] ??= []).push(one);
    length += size;
  }
  if (length) yield part;
}

async function isRegistered(key) {
  const { lists } = await key.ask("graph/entries", { public_keys: [toBase64(key.publicKey)] });
  return lists.length > 0;
}

/** As the route takes it. */
async function madeOver(sodium, key, { graph, successor }) {
  const bags = [...graph.bags.values()];
  const damaged = bags.find(({ refused }) => refused !== null);
  if (damaged) throw damaged.refused;
  const parts = bags.filter(({ refused }) => refused === null).flatMap((bag) => bag.parts.filter(({ kind }) => kind !== SHARED));
  const pairs = [graph.own, ...parts.flatMap((part) => part.voices ?? [])];
  const former = new Map(pairs.map((pair) => [toHex(pair.publicKey), pair]));
  const renewed = new Map([...former.keys()].map((name) => [name, key.newPair()]));
  renewed.set(toHex(graph.own.publicKey), successor.pair);
  const whole = new Map([...renewed].map(([name, pair]) => [name, wholePublicKey(sodium, pair)]));
  const { proved, inCommon } = await key.proofs([...former.values(), ...renewed.values()]);
  const proof = ({ publicKey }) => toBase64(proved.get(toHex(publicKey)));
  return {
    keys: [...former].map(([name, pair]) => ({
      public_key: toBase64(pair.publicKey),
      opened: proof(pair),
      new_public_key: toBase64(whole.get(name)),
      new_opened: proof(renewed.get(name)),
    })),
    lists: [...graph.holders.values()].flatMap((holder) => listAnew(sodium, graph, holder)),
    bags: parts.map((part) => bagAnew(sodium, part, { renewed, whole, inCommon })),
  };
}

/** Some items of a list at a time, as one part has them. */
function listAnew(sodium, graph, holder) {
  const [opens, size] = [anew(sodium, graph, holder), holder.stored.length / Math.max(holder.items.length, 1)];
  return Array.from({ length: Math.ceil(opens.length / ITEMS_AT_ONCE) }, (_, number) => {
    const [from, to] = [number * ITEMS_AT_ONCE, Math.min((number + 1) * ITEMS_AT_ONCE, opens.length)];
    return {
      public_key: toBase64(holder.pair.publicKey),
      items: toBase64(holder.stored.subarray(from * size, to * size)),
      anew: opens.slice(from, to),
    };
  });
}

/**
 * For each item of a list what opens it, of whatever it leads to: the site seals it anew, and sees that nothing is left out that tells of another
 * owner. Throws HandoverRefused where something else is in the list.
 */
function anew(sodium, graph, { stored, items, pair }) {
  const size = stored.length / Math.max(items.length, 1);
  return items.map(({ locator, isSound }, number) => {
    // One of an earlier release is known by where it leads.
    const isEmpty = locator === null || graph.bags.get(toHex(locator)).isEmpty;
    if (!isSound && isEmpty) throw new HandoverRefused("A list has an item that the site did not make. Renew the key on the site once; then try again.");
    return toBase64(openerOf(sodium, stored.subarray(number * size, (number + 1) * size), locator, pair));
  });
}

function bagAnew(sodium, part, { renewed, whole, inCommon }) {
  const name = toHex(part.pair.publicKey);
  const { publicKey: owner } = renewed.get(name);
  return {
    index: toBase64(part.place),
    public_key: toBase64(part.pair.publicKey),
    nonce: toBase64(part.nonce),
    sealed_key: toBase64(sealedFileKey(sodium, part.contentKey, whole.get(name))),
    ...(part.succession.length ? { succession: part.succession.map(toBase64) } : {}),
    ...(part.kind === SPEAKS_FOR && inCommon ? { content_key: toBase64(part.contentKey) } : {}),
    ...(part.kind === SPEAKS_FOR ? { voices: toBase64(concat(...voicesAnew(sodium, part, owner, renewed))) } : {}),
  };
}

/** By the public keys that the records have, the secret keys of today sealed to the owner. */
function voicesAnew(sodium, part, owner, renewed) {
  const before = readSuccession(sodium, part.succession, { place: part.place, owner: part.pair.publicKey });
  const recorded = new Map([...(before?.voices ?? [])].map(([name, { publicKey }]) => [toHex(publicKey), fromHex(name)]));
  return part.voices.map(({ publicKey }) => {
    const name = toHex(publicKey);
    return concat(recorded.get(name) ?? publicKey, sodium.seal(secretOf(renewed.get(name)), owner));
  });
}
