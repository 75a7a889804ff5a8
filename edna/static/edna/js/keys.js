/** Keys and their texts: docs/format.md, "Keys". Secrets are plain bytes here: whoever holds them drops them. */

import { concat, equal, fromBase32, toBase32 } from "./base/bytes.js";
import { KeyMalformed } from "./base/errors.js";

export const KEY_BYTES = 32;
const PREFIX = "edna-secret-key-1:";

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

/** The bytes of a secret key from its text. Throws KeyMalformed. */
export function parseSecretKey(sodium, text) {
  const compact = withoutWhiteSpace(text).toLowerCase();
  const bytes = compact.startsWith(PREFIX) ? fromBase32(compact.slice(PREFIX.length)) : null;
  if (bytes !== null && bytes.length === KEY_BYTES + 4) {
    const key = bytes.slice(0, KEY_BYTES);
    if (equal(sodium.blake2b(key, { person: "edna.secretkey.1", size: 4 }), bytes.subarray(KEY_BYTES))) return key;
  }
  throw new KeyMalformed("This is not a secret key; copy it again, from edna-secret-key-1: to its last character.");
}

export function secretKeyText(sodium, key) {
  return PREFIX + toBase32(concat(key, sodium.blake2b(key, { person: "edna.secretkey.1", size: 4 })));
}

/** What of a server's key is used for the purpose `person`. */
export function ofServerKey(sodium, serverKey, person) {
  return sodium.blake2b(serverKey, { person });
}
