/** Keys and their texts: docs/format.md, "Keys". Secrets are plain bytes here: whoever holds them drops them. */

import { concat, equal, fromBase32, toBase32 } from "./base/bytes.js";
import { KeyMalformed } from "./base/errors.js";

export const KEY_BYTES = 32;
const X25519 = { prefix: "edna-secret-key-1:", person: "edna.secretkey.1" };
const HYBRID = { prefix: "edna-secret-key-2:", person: "edna.secretkey.2" };

/** White space, as texts are read: Unicode's, and the separators 1C to 1F. */
export const WHITE_SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";

export function withoutWhiteSpace(text) {
  return text.replace(new RegExp(WHITE_SPACE, "g"), "");
}

const SMALL_ORDER = [
  "00".repeat(32),
  "01" + "00".repeat(31),
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ec" + "ff".repeat(30) + "7f",
].map((text) => BigInt(`0x${text.match(/../g).reverse().join("")}`));
const P = 2n ** 255n - 19n;

/** The public key, if it is one that may be sealed to: in its one spelling, and of no small order. Throws KeyMalformed. */
export function publicKey(bytes) {
  if (bytes.length !== KEY_BYTES) throw new KeyMalformed(`A public key is exactly ${KEY_BYTES} bytes.`);
  let number = 0n;
  for (let at = KEY_BYTES - 1; at >= 0; at--) number = (number << 8n) | BigInt(bytes[at]);
  if (number >= P) throw new KeyMalformed("This public key is not in the one spelling of its point.");
  if (SMALL_ORDER.includes(number)) throw new KeyMalformed("This public key is a point of small order.");
  return bytes;
}

/**
 * The key pair of a secret key of 32 bytes. One of the hybrid kind is a seed: it has the X25519 pair that is made of it, by which it is known,
 * and the seed itself.
 */
export function pairOf(sodium, bytes, { hybrid = false } = {}) {
  const secretKey = hybrid ? sodium.shake256(bytes, 96).slice(64) : bytes;
  const publicKey = sodium.publicKey(secretKey);
  return hybrid ? { secretKey, publicKey, seed: bytes } : { secretKey, publicKey };
}

/** A new key pair of a kind. */
export function newPair(sodium, { hybrid = false } = {}) {
  return pairOf(sodium, sodium.random(KEY_BYTES), { hybrid });
}

/** What all of a pair is made of: of the hybrid kind its seed. */
export function secretOf({ secretKey, seed }) {
  return seed ?? secretKey;
}

/** What others seal to: 32 bytes, or X-Wing's 1216, of which the last 32 are the X25519 half. */
export function wholePublicKey(sodium, { publicKey, seed }) {
  return seed ? sodium.encapsulationKey(seed) : publicKey;
}

/** Tells whether it is another ML-KEM half that the site has; null for a pair that has none. */
export function halfTag(sodium, pair) {
  return pair.seed ? sodium.blake2b(wholePublicKey(sodium, pair).subarray(0, -KEY_BYTES), { person: "edna.half.tag.1" }) : null;
}

/** The key pair of that public half, of either kind; null if the secret key is another one's. */
export function pairWith(sodium, bytes, publicKeyOf) {
  const both = [false, true].map((hybrid) => pairOf(sodium, bytes, { hybrid }));
  return both.find((pair) => equal(pair.publicKey, publicKeyOf)) ?? null;
}

/** The key pair, of either kind, from the text of a secret key. Throws KeyMalformed. */
export function parsePair(sodium, text) {
  const hybrid = withoutWhiteSpace(text).toLowerCase().startsWith(HYBRID.prefix);
  return pairOf(sodium, parseSecretKey(sodium, text, hybrid ? HYBRID : X25519), { hybrid });
}

function parseSecretKey(sodium, text, { prefix, person }) {
  const compact = withoutWhiteSpace(text).toLowerCase();
  const bytes = compact.startsWith(prefix) ? fromBase32(compact.slice(prefix.length)) : null;
  if (bytes !== null && bytes.length === KEY_BYTES + 4) {
    const key = bytes.slice(0, KEY_BYTES);
    if (equal(sodium.blake2b(key, { person, size: 4 }), bytes.subarray(KEY_BYTES))) return key;
  }
  throw new KeyMalformed("This is not a secret key; copy it again, from edna-secret-key-1: to its last character.");
}

/** For its owner to keep. */
export function secretKeyText(sodium, pair) {
  const [key, { prefix, person }] = [secretOf(pair), pair.seed ? HYBRID : X25519];
  return prefix + toBase32(concat(key, sodium.blake2b(key, { person, size: 4 })));
}

/** What of a server's key is used for the purpose `person`. */
export function ofServerKey(sodium, serverKey, person) {
  return sodium.blake2b(serverKey, { person });
}
