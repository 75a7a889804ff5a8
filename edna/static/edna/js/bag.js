/**
 * Bags: docs/format.md, "Content of a bag". Verifies the place, the server's MAC where the server's keys are given (a browser has none: then
 * whoever knows the public key may have made the bag), and the shape of all of it. Does not know what the records mean.
 */

import { concat, equal, toHex } from "./base/bytes.js";
import { BagCorrupt, BagForged, BagMisplaced, BagTooLarge, KeyMalformed } from "./base/errors.js";
import { NotZlib, TooLong, inflate } from "./base/inflate.js";
import { openContainer, successionPieces } from "./container.js";
import { KEY_BYTES, ofServerKey, pairOf, pairWith, publicKey } from "./keys.js";
import { SHARED, SPEAKS_FOR, index } from "./locator.js";
import { readSuccession } from "./succession.js";
import { decode } from "./values/decode.js";
import { offsetMicroseconds } from "./values/spellings.js";

const HEAD_BYTES = 65;
/** A secret key that is sealed once more. */
export const SEALED_KEY_BYTES = 80;
/** Before a secret key of the hybrid kind. */
const HYBRID = 2;
const MOST_PAYLOAD_BYTES = 256 * 2 ** 20;

/** The operations of diff batches by their numbers. */
export const OPERATIONS = ["", "remove", "modify", "decorrelate", "share", "file", "blob", "mention", "owner", "listing"];
const REMOVE = 1;
const MODIFY = 2;
const DECORRELATE = 3;

/**
 * The payload of a bag: a value, a list of ten.
 *
 * `pair` holds the keys that open it, `owner` the public key of its owner, if that is another. Without `macKeys` the MAC is not verified.
 * Throws a BagError.
 */
export function openBag(sodium, sealed, { locator, kind, sequence, pair, owner = pair.publicKey, macKeys = null }) {
  const content = openContainer(sodium, sealed, pair);
  if (content.length < HEAD_BYTES) throw new BagCorrupt("The content of the bag is too short.");
  const place = content.subarray(0, KEY_BYTES);
  if (!equal(place, index(sodium, locator, kind, sequence))) throw new BagMisplaced("The bag was sealed for another place.");
  const succession = readSuccession(sodium, successionPieces(sodium, sealed, pair), { place, owner, macKeys });
  if (macKeys !== null) requireMac(sodium, content, succession?.former ?? owner, macKeys);
  const payload = decode(expanded(content[HEAD_BYTES - 1], content.subarray(HEAD_BYTES)));
  requireBag(payload, kind, sequence);
  if (kind === SPEAKS_FOR && succession !== null) renewKeys(payload, succession);
  return payload;
}

/** The records have the keys of today then. */
function renewKeys(payload, { voices }) {
  for (const { value: batch } of payload.value[9].value) {
    for (const { value: row } of batch[1].value) {
      const renewed = voices.get(toHex(row[1].value));
      if (renewed) [row[1], row[2]] = [renewed.publicKey, renewed.sealedKey].map((value) => ({ type: "bytes", value }));
    }
  }
}

function requireMac(sodium, content, owner, macKeys) {
  const covered = concat(content.subarray(0, KEY_BYTES), owner, content.subarray(HEAD_BYTES - 1));
  const macs = macKeys.map((serverKey) => {
    const key = ofServerKey(sodium, serverKey, "edna.mac.key.1");
    return sodium.blake2b(covered, { person: "edna.bag.mac.1", key });
  });
  const found = content.subarray(KEY_BYTES, HEAD_BYTES - 1);
  if (!macs.filter((mac) => equal(mac, found)).length) throw new BagForged("The bag was not made by this server, or was edited.");
}

function expanded(encoding, payload) {
  if (encoding === 0) return payload;
  if (encoding !== 1) throw new BagCorrupt(`The content of the bag has an unknown encoding, ${encoding}.`);
  try {
    return inflate(payload, MOST_PAYLOAD_BYTES);
  } catch (error) {
    if (error instanceof TooLong) throw new BagTooLarge("The content of the bag expands to more than it may.");
    if (error instanceof NotZlib) throw new BagCorrupt("The content of the bag does not decompress.");
    throw error;
  }
}

function requireBag(payload, kind, sequence) {
  if (!isBag(payload, kind, sequence)) throw new BagCorrupt("The content of the bag has another shape than a bag.");
}

function isBag(payload, kind, sequence) {
  const types = ["int", "str", "datetime", "str", null, "dict", "str", "bool", "list", "list"];
  if (!isListOf(payload, types)) return false;
  const [number, , appliedAt, , , params, , , segments, batches] = payload.value;
  if (number.value !== BigInt(kind) || offsetMicroseconds(appliedAt.value.slice(11)) !== 0n) return false;
  if (!params.value.every(([key]) => key.type === "str")) return false;
  if (!isListOf(segments, ["int", "int"])) return false;
  const counts = segments.value.map((count) => count.value);
  if (counts.some((count) => count < 0n)) return false;
  const isContentOfFile = kind === SHARED && counts.every((count) => count === 0n);
  if (!isContentOfFile && counts[kind === SPEAKS_FOR ? 1 : 0] <= BigInt(sequence)) return false;
  return batches.value.every(kind === SPEAKS_FOR ? isSpeaksForBatch : isDiffBatch);
}

/** A null among the types stands for any. */
function isListOf(node, types) {
  return (
    node.type === "list" &&
    node.value.length === types.length &&
    types.every((type, at) => type === null || node.value[at].type === type)
  );
}

function isDiffBatch(batch) {
  if (!isListOf(batch, ["int", "str", "str", "list", "list", "list"])) return false;
  const [number, , , key, columns, rows] = batch.value;
  const operation = Number(number.value);
  if (operation < 1 || operation >= OPERATIONS.length || !key.value.length) return false;
  if (![...key.value, ...columns.value].every(({ type }) => type === "str")) return false;
  if (operation === REMOVE && !key.value.every((name) => columns.value.some((column) => equal(column.bytes, name.bytes)))) {
    return false;
  }
  const width = rowWidth(operation, key.value.length, columns.value.length);
  return rows.value.every(({ type, value }) => type === "list" && value.length === width);
}

function rowWidth(operation, keys, columns) {
  if (operation === REMOVE) return columns;
  return operation === MODIFY || operation === DECORRELATE ? keys + 2 * columns : keys + columns;
}

function isSpeaksForBatch(batch) {
  if (batch.type !== "list" || batch.value.length < 2 || batch.value.length > 3) return false;
  const [model, rows, unlisted] = batch.value;
  if (model.type !== "str" || rows.type !== "list") return false;
  if (unlisted && !(unlisted.type === "list" && unlisted.value.length && unlisted.value.every(isKeySized))) return false;
  return rows.value.every(
    (row) =>
      isListOf(row, [null, "bytes", "bytes", null]) &&
      isPublicKey(row.value[1]) &&
      isSecretKey(row.value[2].value),
  );
}

/**
 * The key pair in a row of a speaks-for batch: its secret key may be sealed once more, to one of the holders `pairs`. Null if it is another
 * one's, or does not open.
 */
export function voiceOf(sodium, { value: row }, pairs) {
  const [publicKeyOf, stored] = [row[1].value, row[2].value];
  if (stored.length === KEY_BYTES + 1) return onlyOf(pairOf(sodium, stored.slice(1), { hybrid: true }), publicKeyOf);
  if (stored.length === KEY_BYTES) return onlyOf(pairOf(sodium, stored), publicKeyOf);
  let secretKey = null;
  for (const pair of pairs) secretKey ??= sodium.openSealedBox(stored, pair.publicKey, pair.secretKey);
  return secretKey === null ? null : pairWith(sodium, secretKey, publicKeyOf);
}

function onlyOf(pair, publicKeyOf) {
  return equal(pair.publicKey, publicKeyOf) ? pair : null;
}

function isSecretKey(bytes) {
  return [KEY_BYTES, SEALED_KEY_BYTES].includes(bytes.length) || (bytes.length === KEY_BYTES + 1 && bytes[0] === HYBRID);
}

function isKeySized({ type, value }) {
  return type === "bytes" && value.length === KEY_BYTES;
}

function isPublicKey({ value }) {
  try {
    publicKey(value);
    return true;
  } catch (error) {
    if (error instanceof KeyMalformed) return false;
    throw error;
  }
}
