/** A device as bytes, to be stored where it keeps its secrets: docs/format.md, "Groups of devices". Whoever has these bytes is the device. */

import { fromHex, toHex } from "../base/bytes.js";
import { DeviceStateRefused } from "../base/errors.js";
import { publicKey as checkedPublicKey } from "../keys.js";
import { decode } from "../values/decode.js";
import { encode } from "../values/encode.js";
import { Device } from "./device.js";
import { parseCard } from "./operations.js";

const VERSION = 1;

export function stateOf({ id, keys, membership, pairs, secrets, pending }) {
  const ready = pending && [pending.operation, keysAs(pending.keys), pairsAs(pending.pairs), pending.secret];
  return encode([VERSION, id, keysAs(keys), membershipAs(membership), pairsAs(pairs), [...secrets], ready]);
}

/** Throws DeviceStateRefused if it is not what `stateOf` makes. */
export function deviceFrom(sodium, bytes) {
  try {
    const [version, id, keys, membership, pairs, secrets, pending] = list(decode(bytes), 7);
    if (number(version) !== VERSION) throw malformed();
    return new Device(sodium, {
      id: raw(id),
      keys: keysOf(keys),
      membership: membershipOf(membership),
      pairs: pairsOf(pairs),
      secrets: new Map(list(secrets).map((each) => list(each, 2)).map(([place, secret]) => [number(place), raw(secret, 32)])),
      pending: unlessNull(pending, pendingOf),
    });
  } catch {
    // Of whatever kind, and without its message: what is inside are secrets.
    throw malformed();
  }
}

function malformed() {
  return new DeviceStateRefused("This is no state of a device that this release of edna reads. Nothing was changed.");
}

function keysAs({ seed, prekey }) {
  return [seed, prekey];
}

function keysOf(said) {
  const [seed, prekey] = list(said, 2);
  return { seed: raw(seed, 32), prekey: raw(prekey, 32) };
}

function pairsAs(pairs) {
  return [...pairs].map(([other, { own, theirs }]) => [fromHex(other), own, theirs]);
}

function pairsOf(said) {
  const each = list(said).map((one) => list(one, 3));
  return new Map(each.map(([other, own, theirs]) => [toHex(raw(other)), { own: raw(own, 32), theirs: checkedPublicKey(raw(theirs)) }]));
}

function pendingOf(said) {
  const [operation, keys, pairs, secret] = list(said, 4);
  return { operation: raw(operation), keys: keysOf(keys), pairs: pairsOf(pairs), secret: unlessNull(secret, (bytes) => raw(bytes, 32)) };
}

function membershipAs({ group, sequence, head, before, members, publicKeys, removal, due }) {
  const cards = [...members].map(([device, card]) => [fromHex(device), card.bytes]);
  return [group, sequence, head, before, cards, [...publicKeys], removal && [removal.sender, removal.removed, removal.card.bytes], due];
}

function membershipOf(said) {
  const [group, sequence, head, before, members, publicKeys, removal, due] = list(said, 8);
  if (due.type !== "bool") throw malformed();
  const cards = list(members).map((each) => list(each, 2));
  const keys = list(publicKeys).map((each) => list(each, 2));
  return {
    group: raw(group),
    sequence: number(sequence),
    head: raw(head, 32),
    before: raw(before, 32),
    members: new Map(cards.map(([device, card]) => [toHex(raw(device)), parseCard(raw(card))])),
    publicKeys: new Map(keys.map(([place, key]) => [number(place), checkedPublicKey(raw(key))])),
    removal: unlessNull(removal, (last) => {
      const [sender, removed, card] = list(last, 3);
      return { sender: raw(sender), removed: raw(removed), card: parseCard(raw(card)) };
    }),
    due: due.value,
  };
}

function unlessNull(said, read) {
  return said.type === "null" ? null : read(said);
}

function list({ type, value }, count = value.length) {
  if (type !== "list" || value.length !== count) throw malformed();
  return value;
}

function raw({ type, value }, size = value.length) {
  if (type !== "bytes" || value.length !== size) throw malformed();
  return value.slice();
}

function number({ type, value }) {
  if (type !== "int") throw malformed();
  return Number(value);
}
