/**
 * libsodium, loaded when it is first asked for: the only cryptography here. What it computed with is wiped from its memory after each call.
 * Knows no format of edna's.
 */

import { concat } from "./bytes.js";
import { WebAssemblyForbidden } from "./errors.js";

let loading = null;

/** The one instance of this page. If it did not come, it is asked for again the next time. */
export function loadSodium() {
  loading ??= start().catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function start() {
  requireWebAssembly();
  const { default: instantiate } = await import("../../vendor/libsodium/libsodium-sumo.js");
  const random = () => globalThis.crypto.getRandomValues(new Uint32Array(1))[0];
  const library = await instantiate({ getRandomValue: random });
  if (library._sodium_init() < 0) throw new Error("libsodium did not start");
  return new Sodium(library);
}

/** A Content-Security-Policy may forbid it, and so may a browser: libsodium itself would say something that nobody understands. */
function requireWebAssembly() {
  try {
    new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
  } catch (error) {
    throw new WebAssemblyForbidden(
      `This page must not run WebAssembly (${error.name}): its Content-Security-Policy needs 'wasm-unsafe-eval' in script-src, or this browser has none.`,
    );
  }
}

const ARGON2ID13 = 2;
const TAG_BYTES = 16;
const BOX_OVERHEAD_BYTES = 48;

class Sodium {
  #library;

  constructor(library) {
    this.#library = library;
  }

  /** BLAKE2b with a personalisation. */
  blake2b(data, { person, key = null, size = 32 }) {
    const personal = new Uint8Array(16);
    for (let at = 0; at < person.length; at++) personal[at] = person.charCodeAt(at);
    return this.#call(size, [data, key ?? new Uint8Array(0), personal], (out, [input, keyAt, personalAt]) =>
      this.#library._crypto_generichash_blake2b_salt_personal(
        ...[out, size, input, data.length, 0, keyAt, key?.length ?? 0, 0, personalAt],
      ),
    );
  }

  /** The public half of an X25519 key. */
  publicKey(secretKey) {
    return this.#call(32, [secretKey], (out, [secret]) => this.#library._crypto_scalarmult_base(out, secret));
  }

  /** What `crypto_box_seal` sealed to this key; null if it is not sealed to it. */
  openSealedBox(sealed, publicKey, secretKey) {
    const size = sealed.length - BOX_OVERHEAD_BYTES;
    if (size < 0) return null;
    return this.#call(size, [sealed, publicKey, secretKey], (out, [box, publicAt, secretAt]) =>
      this.#library._crypto_box_seal_open(out, box, sealed.length, 0, publicAt, secretAt),
    );
  }

  /** What opens the one box that was sealed with this ephemeral key, and no other. */
  sharedKey(publicKey, secretKey) {
    return this.#call(32, [publicKey, secretKey], (out, [publicAt, secretAt]) =>
      this.#library._crypto_box_beforenm(out, publicAt, secretAt),
    );
  }

  /** A box that only this key opens; nobody can tell who sealed it. */
  seal(message, publicKey) {
    return this.#call(message.length + BOX_OVERHEAD_BYTES, [message, publicKey], (out, [input, publicAt]) =>
      this.#library._crypto_box_seal(out, input, message.length, 0, publicAt),
    );
  }

  /** The same box; this secret key takes the place of a new one. For what nobody can guess. */
  sealWith(ephemeral, message, publicKey) {
    const beginning = this.publicKey(ephemeral);
    const nonce = this.blake2b(concat(beginning, publicKey), { person: "", size: 24 });
    const box = this.#call(message.length + TAG_BYTES, [message, nonce, publicKey, ephemeral], (out, [input, ...at]) =>
      this.#library._crypto_box_easy(out, input, message.length, 0, ...at),
    );
    return concat(beginning, box);
  }

  /** What XChaCha20-Poly1305-IETF encrypted; null if it does not authenticate. */
  decrypt(ciphertext, { key, nonce, associated }) {
    const size = ciphertext.length - TAG_BYTES;
    if (size < 0) return null;
    return this.#call(size, [ciphertext, associated, nonce, key], (out, [cipherAt, associatedAt, nonceAt, keyAt]) =>
      this.#library._crypto_aead_xchacha20poly1305_ietf_decrypt(
        ...[out, 0, 0, cipherAt, ciphertext.length, 0, associatedAt, associated.length, 0, nonceAt, keyAt],
      ),
    );
  }

  /** XChaCha20-Poly1305-IETF. */
  encrypt(plaintext, { key, nonce, associated }) {
    const size = plaintext.length + TAG_BYTES;
    return this.#call(size, [plaintext, associated, nonce, key], (out, [plainAt, associatedAt, nonceAt, keyAt]) =>
      this.#library._crypto_aead_xchacha20poly1305_ietf_encrypt(
        ...[out, 0, plainAt, plaintext.length, 0, associatedAt, associated.length, 0, 0, nonceAt, keyAt],
      ),
    );
  }

  /** The point that two X25519 keys have in common; null if the public one is of small order. */
  commonPoint(secretKey, publicKey) {
    return this.#call(32, [secretKey, publicKey], (out, at) => this.#library._crypto_scalarmult(out, ...at));
  }

  /** The public half of the Ed25519 key of a seed. */
  verifyKey(seed) {
    return this.#signing(seed).slice(32);
  }

  /** By the Ed25519 key of a seed. */
  sign(message, seed) {
    return this.#call(64, [message, this.#signing(seed)], (out, [input, key]) =>
      this.#library._crypto_sign_detached(out, 0, input, message.length, 0, key),
    );
  }

  isSigned(message, { signature, verifyKey }) {
    const verified = this.#call(0, [signature, message, verifyKey], (_, [signatureAt, input, key]) =>
      this.#library._crypto_sign_verify_detached(signatureAt, input, message.length, 0, key),
    );
    return verified !== null;
  }

  #signing(seed) {
    return this.#call(64, [new Uint8Array(32), seed], (out, [spare, seedAt]) =>
      this.#library._crypto_sign_seed_keypair(spare, out, seedAt),
    );
  }

  /** A point of edwards25519 from 32 bytes, by Elligator 2. */
  pointFrom(bytes) {
    return this.#call(32, [bytes], (out, [at]) => this.#library._crypto_core_ed25519_from_uniform(out, at));
  }

  /** Whether these 32 bytes are the one spelling of a point of prime order. */
  isPoint(bytes) {
    return this.#call(0, [bytes], (_, [at]) => 1 - this.#library._crypto_core_ed25519_is_valid_point(at)) !== null;
  }

  addPoints(one, other) {
    return this.#call(32, [one, other], (out, at) => this.#library._crypto_core_ed25519_add(out, ...at));
  }

  subtractPoints(one, other) {
    return this.#call(32, [one, other], (out, at) => this.#library._crypto_core_ed25519_sub(out, ...at));
  }

  /** Null if the product is the identity. */
  multiplyPoint(scalar, point) {
    return this.#call(32, [scalar, point], (out, at) => this.#library._crypto_scalarmult_ed25519_noclamp(out, ...at));
  }

  /** Null if the scalar is zero. */
  multiplyBase(scalar) {
    return this.#call(32, [scalar], (out, at) => this.#library._crypto_scalarmult_ed25519_base_noclamp(out, ...at));
  }

  addScalars(one, other) {
    return this.#call(32, [one, other], (out, at) => (this.#library._crypto_core_ed25519_scalar_add(out, ...at), 0));
  }

  multiplyScalars(one, other) {
    return this.#call(32, [one, other], (out, at) => (this.#library._crypto_core_ed25519_scalar_mul(out, ...at), 0));
  }

  invertScalar(scalar) {
    return this.#call(32, [scalar], (out, at) => this.#library._crypto_core_ed25519_scalar_invert(out, ...at));
  }

  /** 64 bytes, little-endian, modulo the order of the group. */
  reduceScalar(bytes) {
    return this.#call(32, [bytes], (out, at) => (this.#library._crypto_core_ed25519_scalar_reduce(out, ...at), 0));
  }

  /** SHAKE256. */
  shake256(data, size) {
    return this.#call(size, [data], (out, [input]) => this.#library._crypto_xof_shake256(out, size, input, data.length, 0));
  }

  /** X-Wing: the public key of a seed, 1216 bytes. */
  encapsulationKey(seed) {
    const spare = new Uint8Array(32);
    return this.#call(1216, [spare, seed], (out, [spareAt, seedAt]) =>
      this.#library._crypto_kem_xwing_seed_keypair(out, spareAt, seedAt),
    );
  }

  /** X-Wing: 32 new random bytes, and behind them the ciphertext that holds them for a public key of 1216 bytes; null if that is none. */
  encapsulate(publicKey) {
    return this.#call(32 + 1120, [publicKey], (out, [publicAt]) =>
      this.#library._crypto_kem_xwing_enc(out + 32, out, publicAt),
    );
  }

  /** X-Wing: the secret that a ciphertext holds for the key of a seed; null if it is none. */
  decapsulate(ciphertext, seed) {
    return this.#call(32, [ciphertext, seed], (out, [input, seedAt]) =>
      this.#library._crypto_kem_xwing_dec(out, input, seedAt),
    );
  }

  hkdfExtract(salt, input) {
    return this.#call(32, [salt, input], (out, [saltAt, inputAt]) =>
      this.#library._crypto_kdf_hkdf_sha256_extract(out, saltAt, salt.length, inputAt, input.length),
    );
  }

  hkdfExpand(key, said, size) {
    return this.#call(size, [said, key], (out, [saidAt, keyAt]) =>
      this.#library._crypto_kdf_hkdf_sha256_expand(out, size, saidAt, said.length, keyAt),
    );
  }

  /** What ChaCha20-Poly1305-IETF encrypted, with nothing associated; null if it does not authenticate. */
  decryptChaCha(ciphertext, { key, nonce }) {
    const size = ciphertext.length - TAG_BYTES;
    if (size < 0) return null;
    return this.#call(size, [ciphertext, nonce, key], (out, [cipherAt, nonceAt, keyAt]) =>
      this.#library._crypto_aead_chacha20poly1305_ietf_decrypt(
        ...[out, 0, 0, cipherAt, ciphertext.length, 0, 0, 0, 0, nonceAt, keyAt],
      ),
    );
  }

  /** The same, encrypted. */
  encryptChaCha(plaintext, { key, nonce }) {
    return this.#call(plaintext.length + TAG_BYTES, [plaintext, nonce, key], (out, [plainAt, nonceAt, keyAt]) =>
      this.#library._crypto_aead_chacha20poly1305_ietf_encrypt(
        ...[out, 0, plainAt, plaintext.length, 0, 0, 0, 0, 0, nonceAt, keyAt],
      ),
    );
  }

  random(size) {
    return globalThis.crypto.getRandomValues(new Uint8Array(size));
  }

  /** Argon2id, version 1.3. Takes long, on purpose: call it in a worker. */
  argon2id(password, { salt, opslimit, memlimitBytes, size = 32 }) {
    const derived = this.#call(size, [password, salt], (out, [passwordAt, saltAt]) =>
      this.#library._crypto_pwhash(
        ...[out, size, 0, passwordAt, password.length, 0, saltAt, opslimit, 0, memlimitBytes, ARGON2ID13],
      ),
    );
    if (derived === null) throw new RangeError("Argon2id refused its parameters, or there is not that much memory");
    return derived;
  }

  /** Runs with copies of the inputs in the library's memory; null if it does not return 0. */
  #call(size, inputs, run) {
    const lengths = [size, ...inputs.map((input) => input.length)];
    const places = [];
    try {
      for (const length of lengths) {
        const place = this.#library._malloc(Math.max(length, 1));
        if (!place) throw new RangeError("There is not enough memory");
        places.push(place);
      }
      const [out, ...given] = places;
      // The memory may have grown, and moved: its view is read anew each time.
      inputs.forEach((input, number) => this.#library.HEAPU8.set(input, given[number]));
      return run(out, given) === 0 ? this.#library.HEAPU8.slice(out, out + size) : null;
    } finally {
      places.forEach((place, number) => {
        this.#library.HEAPU8.fill(0, place, place + lengths[number]);
        this.#library._free(place);
      });
    }
  }
}
