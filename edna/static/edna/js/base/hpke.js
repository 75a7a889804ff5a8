/**
 * HPKE (RFC 9180, base mode) with X-Wing as its KEM, HKDF-SHA256 and ChaCha20-Poly1305: seals to a hybrid of X25519 and ML-KEM-768, and opens what is
 * sealed to one. Knows no format of edna's.
 */

import { ascii, concat } from "./bytes.js";

/** HPKE, then the numbers of KEM, KDF and AEAD. */
const SUITE = concat(ascii("HPKE"), Uint8Array.of(0x64, 0x7a, 0, 1, 0, 3));
const ENCAPSULATED_BYTES = 1120;
const SECRET_BYTES = 32;
const NONE = new Uint8Array(0);

/** A message for whoever has the seed of this public key, of 1216 bytes; null if that is none. */
export function sealHpke(sodium, message, { publicKey, purpose }) {
  const made = sodium.encapsulate(publicKey);
  if (made === null) return null;
  const { key, nonce } = schedule(sodium, made.subarray(0, SECRET_BYTES), purpose);
  return concat(made.subarray(SECRET_BYTES), sodium.encryptChaCha(message, { key, nonce }));
}

/** What was sealed to this seed's key for this purpose; null if it was not. */
export function openHpke(sodium, sealed, { seed, purpose }) {
  if (sealed.length < ENCAPSULATED_BYTES) return null;
  const shared = sodium.decapsulate(sealed.subarray(0, ENCAPSULATED_BYTES), seed);
  if (shared === null) return null;
  const { key, nonce } = schedule(sodium, shared, purpose);
  return sodium.decryptChaCha(sealed.subarray(ENCAPSULATED_BYTES), { key, nonce });
}

function schedule(sodium, shared, purpose) {
  const context = concat(
    Uint8Array.of(0),
    extract(sodium, NONE, "psk_id_hash", NONE),
    extract(sodium, NONE, "info_hash", ascii(purpose)),
  );
  const secret = extract(sodium, shared, "secret", NONE);
  return { key: expand(sodium, secret, "key", context, 32), nonce: expand(sodium, secret, "base_nonce", context, 12) };
}

function extract(sodium, salt, label, input) {
  return sodium.hkdfExtract(salt, concat(ascii("HPKE-v1"), SUITE, ascii(label), input));
}

function expand(sodium, secret, label, context, size) {
  const said = concat(Uint8Array.of(size >> 8, size & 0xff), ascii("HPKE-v1"), SUITE, ascii(label), context);
  return sodium.hkdfExpand(secret, said, size);
}
