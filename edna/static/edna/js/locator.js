/** Locators, what follows from them, and receipts: docs/format.md, "Locator". */

import { ascii, concat, equal, fromBase32, toBase32, toUtf8, uint32 } from "./base/bytes.js";
import { ReceiptMalformed, WrongKey } from "./base/errors.js";
import { openHpke, sealHpke } from "./base/hpke.js";
import { KEY_BYTES, wholePublicKey, withoutWhiteSpace } from "./keys.js";

export const DIFF = 1;
export const SPEAKS_FOR = 2;
export const SHARED = 3;
const ITEM_BYTES = 80;
/** In lists of those whose key is of the hybrid kind. */
const HYBRID_ITEM_BYTES = 1200;
const ITEM_PURPOSE = "edna locator item 1";

/** Where the bag of that kind and number is stored. */
export function index(sodium, locator, kind, sequence) {
  return sodium.blake2b(concat(Uint8Array.of(kind), uint32(sequence)), { person: "edna.index.1", key: locator });
}

/** The locator of a chunk, by its number from 0. */
export function chunk(sodium, locator, number) {
  return number === 0 ? locator : sodium.blake2b(uint32(number), { person: "edna.chunk.1", key: locator });
}

/** The secret key of a shared bag. */
export function sharedKey(sodium, locator) {
  return sodium.blake2b(new Uint8Array(0), { person: "edna.shared.1", key: locator });
}

/** How many bytes each item has in the list of that key pair. */
export function itemBytes({ seed }) {
  return seed ? HYBRID_ITEM_BYTES : ITEM_BYTES;
}

/** The locator inside an item of a list. Anybody may have sealed it. Throws WrongKey. */
export function openItem(sodium, item, pair) {
  const locator = item.length === itemBytes(pair) ? lockedIn(sodium, item, pair) : null;
  if (locator === null) throw new WrongKey("This item is not sealed to this key, or it was changed.");
  return locator;
}

function lockedIn(sodium, item, { secretKey, publicKey, seed }) {
  if (!seed) return sodium.openSealedBox(item, publicKey, secretKey);
  const locator = openHpke(sodium, item.subarray(KEY_BYTES), { seed, purpose: ITEM_PURPOSE });
  const tag = locator && itemTag(sodium, locator, publicKey);
  return tag && equal(tag, item.subarray(0, KEY_BYTES)) ? locator : null;
}

/** The item that the site makes of a locator: the same each time, so that both can see what is inside one. */
export function makeItem(sodium, locator, publicKey) {
  return sodium.sealWith(sodium.blake2b(publicKey, { person: "edna.item.1", key: locator }), locator, publicKey);
}

function itemTag(sodium, locator, publicKey) {
  return sodium.blake2b(publicKey, { person: "edna.item.tag.1", key: locator });
}

/** An item for the list of that key pair, of its kind. */
export function itemFor(sodium, locator, pair) {
  if (!pair.seed) return makeItem(sodium, locator, pair.publicKey);
  const sealed = sealHpke(sodium, locator, { publicKey: wholePublicKey(sodium, pair), purpose: ITEM_PURPOSE });
  return concat(itemTag(sodium, locator, pair.publicKey), sealed);
}

/** The items of a list, as they are stored. */
export function itemsIn(stored, pair) {
  const size = itemBytes(pair);
  return Array.from({ length: Math.ceil(stored.length / size) }, (_, at) => stored.subarray(at * size, (at + 1) * size));
}

/** Whether an item of the list leads to this locator. */
export function isListed(sodium, locator, stored, pair) {
  return itemsIn(stored, pair).some((item) => {
    try {
      return equal(openItem(sodium, item, pair), locator);
    } catch (error) {
      if (error instanceof WrongKey) return false;
      throw error;
    }
  });
}

/** Whether an item that opened is the one that the site makes. One of the hybrid kind does not open if it is another: its tag says so. */
export function isSiteItem(sodium, item, locator, { publicKey, seed }) {
  return Boolean(seed) || equal(makeItem(sodium, locator, publicKey), item);
}

/**
 * What shows the site which locator is inside an item, and none but that one: the key of its box. Of the hybrid kind the locator itself, from which
 * the item's tag follows.
 */
export function openerOf(sodium, item, locator, { secretKey, seed }) {
  return seed ? locator : sodium.sharedKey(item.subarray(0, KEY_BYTES), secretKey);
}

export function receiptText(sodium, { disguise, locator }) {
  return `edna1:${disguise}:${toBase32(concat(locator, receiptChecksum(sodium, disguise, locator)))}`;
}

function receiptChecksum(sodium, disguise, locator) {
  return sodium.blake2b(concat(toUtf8(disguise), ascii("\0"), locator), { person: "edna.receipt.1", size: 4 });
}

/** The name of the disguise, and the locator. Throws ReceiptMalformed. */
export function parseReceipt(sodium, text) {
  const parts = /^edna1:([^:]+):([a-z2-7]+)$/i.exec(withoutWhiteSpace(text));
  const bytes = parts && fromBase32(parts[2].toLowerCase());
  if (bytes && bytes.length === KEY_BYTES + 4) {
    const locator = bytes.slice(0, KEY_BYTES);
    if (equal(receiptChecksum(sodium, parts[1], locator), bytes.subarray(KEY_BYTES))) return { disguise: parts[1], locator };
  }
  throw new ReceiptMalformed("This is not a complete receipt; copy it again, from edna1: to its last character.");
}
