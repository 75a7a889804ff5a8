/**
 * What stands beside the body of a bag that was made over to a new key: docs/format.md, "Succession". Whom the bag's MAC names as its owner, and
 * whose keys came after those in its records.
 */

import { concat, equal, toHex } from "./base/bytes.js";
import { BagCorrupt, BagForged } from "./base/errors.js";
import { KEY_BYTES, ofServerKey, publicKey } from "./keys.js";

const MAC_AT = 2;
const FORMER_AT = 34;
const HEAD_BYTES = 66;
const VOICE_BYTES = 144;

/**
 * `{former, voices}`: a public key, and by the hexadecimal text of the public key in a record `{publicKey, sealedKey}`. Null if there is none.
 * Without `macKeys` no MAC is verified. Throws BagCorrupt, BagForged.
 */
export function readSuccession(sodium, pieces, { place, owner, macKeys = null }) {
  if (!pieces.length) return null;
  if (pieces.some(({ length }) => length < HEAD_BYTES || (length - HEAD_BYTES) % VOICE_BYTES)) throw malformed();
  if (macKeys !== null) for (const piece of pieces) requireMac(sodium, piece, { place, owner, macKeys });
  const former = pieces[0].subarray(FORMER_AT, HEAD_BYTES);
  const areWhole = pieces.every(
    (piece, number) => piece[0] === number && piece[1] === pieces.length && equal(piece.subarray(FORMER_AT, HEAD_BYTES), former),
  );
  if (!areWhole) throw malformed();
  const voices = new Map();
  for (const piece of pieces) {
    for (let at = HEAD_BYTES; at < piece.length; at += VOICE_BYTES) {
      const [from, to] = [at, at + KEY_BYTES].map((start) => piece.subarray(start, start + KEY_BYTES));
      voices.set(toHex(from), { publicKey: checked(to), sealedKey: piece.subarray(at + 2 * KEY_BYTES, at + VOICE_BYTES) });
    }
  }
  return { former: checked(former), voices };
}

function requireMac(sodium, piece, { place, owner, macKeys }) {
  const covered = concat(place, owner, piece.subarray(0, MAC_AT), piece.subarray(FORMER_AT));
  const found = piece.subarray(MAC_AT, FORMER_AT);
  const macs = macKeys.map((serverKey) =>
    sodium.blake2b(covered, { person: "edna.owner.mac.1", key: ofServerKey(sodium, serverKey, "edna.owner.key.1") }),
  );
  if (!macs.filter((mac) => equal(mac, found)).length) throw new BagForged("This server has not noted that the bag's owner has a new key.");
}

function checked(bytes) {
  try {
    return publicKey(bytes);
  } catch {
    throw malformed();
  }
}

function malformed() {
  return new BagCorrupt("What the bag says about its owner's keys is malformed.");
}
