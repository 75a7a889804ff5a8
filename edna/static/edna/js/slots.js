/**
 * Ways to a secret key: docs/format.md, "Key slot". A slot depends on the server's key (the pepper): who has none asks the server, by the
 * slot's lookup, for its share.
 */

import { concat, toUtf8 } from "./base/bytes.js";
import { RecoveryCodeMalformed, WrongCredentials } from "./base/errors.js";
import { WHITE_SPACE, ofServerKey, pairOf, secretOf, withoutWhiteSpace } from "./keys.js";

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const MISREAD = { O: "0", I: "1", L: "1" };
const DASHES = /[-\u2010-\u2015\u2212]/g;
const WRAPPED_BYTES = 73;
const VERSION = 2;
/** What is authenticated of a key of the hybrid kind, so that slots of both look alike. */
const HYBRID = Uint8Array.of(2);
const NONE = new Uint8Array(0);

/** The text of a recovery code of 16 bytes. */
export function recoveryCodeText(sodium, code) {
  return printed(concat(code, sodium.blake2b(code, { person: "edna.recovery.c1", size: 2 })), 28);
}

/** The beginning of these bytes as so many symbols, in groups of four: for people who type it. */
export function printed(bytes, count) {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const symbols = Array.from({ length: count }, (_, at) => SYMBOLS[parseInt(bits.slice(5 * at, 5 * at + 5), 2)]).join("");
  return symbols.match(/.{4}/g).join("-");
}

/** The bits, as a text, of what `printed` printed, however it was typed; null if it is none. */
export function bitsOf(text, count) {
  const symbols = withoutWhiteSpace(text).replace(DASHES, "").toUpperCase().replace(/[OIL]/g, (symbol) => MISREAD[symbol]);
  if (symbols.length !== count || [...symbols].some((symbol) => !SYMBOLS.includes(symbol))) return null;
  return [...symbols].map((symbol) => SYMBOLS.indexOf(symbol).toString(2).padStart(5, "0")).join("");
}

/** The 16 bytes of a printed recovery code. Throws RecoveryCodeMalformed. */
export function parseRecoveryCode(sodium, text) {
  const bits = bitsOf(text, 28);
  if (bits !== null) {
    const code = Uint8Array.from({ length: 16 }, (_, at) => parseInt(bits.slice(8 * at, 8 * at + 8), 2));
    const [first, second] = sodium.blake2b(code, { person: "edna.recovery.c1", size: 2 });
    if (((first << 8) | second) >> 4 === parseInt(bits.slice(128), 2)) return code;
  }
  throw new RecoveryCodeMalformed("A recovery code has 28 letters and digits; this one is mistyped.");
}

/** What opens the slot of a recovery code. */
export function recoverySecret(sodium, code) {
  return sodium.blake2b(code, { person: "edna.recovery.1" });
}

/** NFKC, case folded, NFKC again (folding can undo it), stripped. */
export function normalisedIdentifier(text) {
  const folded = Array.from(text.normalize("NFKC"), folding).join("").normalize("NFKC");
  return folded.replace(new RegExp(`^${WHITE_SPACE}+|${WHITE_SPACE}+$`, "g"), "");
}

/** Unicode's full case folding of one character. JavaScript has none; these are what upper and lower case do not give. */
function folding(letter) {
  if (letter === "\u0131") return letter;
  if (letter === "\u1e9e") return "ss";
  if (/\p{Script=Cherokee}/u.test(letter)) return letter.toUpperCase();
  return Array.from(letter.toUpperCase(), (upper) => upper.toLowerCase()).join("");
}

/** What opens a password slot. `pepper` is the server key of its salt; null in slots of earlier releases. Takes long, on purpose. */
export function passwordSecret(sodium, password, { identifier, opslimit, memlimitBytes, pepper }) {
  const name = toUtf8(normalisedIdentifier(identifier));
  const salt =
    pepper === null
      ? sodium.blake2b(name, { person: "edna.slot.salt", size: 16 })
      : sodium.blake2b(name, { person: "edna.slot.salt.2", size: 16, key: ofServerKey(sodium, pepper, "edna.pepper.1") });
  return stretched(sodium, password, { salt, opslimit, memlimitBytes });
}

/** The same, by the salt alone, which the server tells. */
export function stretched(sodium, password, { salt, opslimit, memlimitBytes }) {
  return sodium.argon2id(toUtf8(password.normalize("NFKC")), { salt, opslimit, memlimitBytes });
}

/** The only thing of a slot secret that the server is told. */
export function lookup(sodium, secret) {
  return sodium.blake2b(new Uint8Array(0), { person: "edna.slot.find.2", key: secret });
}

/** The server's part in a slot, by its lookup: `{id, share}`. Browsers, which have no pepper, are told it. */
export function serverPart(sodium, lookedUp, pepper) {
  const key = ofServerKey(sodium, pepper, "edna.pepper.1");
  const [id, share] = ["edna.slot.id.2", "edna.slot.part.2"].map((person) => sodium.blake2b(lookedUp, { person, key }));
  return { id, share };
}

/** Under which ids a slot of that secret is stored, with that pepper: the one of today, the one of version 1. */
export function slotIds(sodium, secret, pepper) {
  const former = sodium.blake2b(secret, { person: "edna.slot.id.1", key: ofServerKey(sodium, pepper, "edna.pepper.1") });
  return [serverPart(sodium, lookup(sodium, secret), pepper).id, former];
}

/** The tag of slots of version 1. */
export function formerTag(sodium, secretKey, kind) {
  return sodium.blake2b(toUtf8(kind), { person: "edna.slot.tag.1", key: secretKey });
}

/** The tag of a key's slot of that kind (`password`, `recovery`, `passkey`). The server alone makes it. */
export function storedTag(sodium, publicKey, { kind, pepper }) {
  const key = ofServerKey(sodium, pepper, "edna.pepper.1");
  return sodium.blake2b(concat(publicKey, toUtf8(kind)), { person: "edna.slot.mark.2", key });
}

/** The key as it is stored in a slot of that secret. */
export function lockSlot(sodium, pair, { secret, id, share }) {
  const nonce = sodium.random(24);
  const version = Uint8Array.of(VERSION);
  const associated = concat(version, id, pair.seed ? HYBRID : NONE);
  const box = sodium.encrypt(secretOf(pair), { key: wrappingKey(sodium, secret, share), nonce, associated });
  return concat(version, nonce, box);
}

/** The key pair inside a slot of today. Throws WrongCredentials. */
export function openWithShare(sodium, { id, wrapped }, secret, share) {
  if (wrapped[0] !== VERSION) refuse();
  const { secretKey, hybrid } = opened(sodium, { id, wrapped }, [wrappingKey(sodium, secret, share)]);
  return pairOf(sodium, secretKey, { hybrid });
}

/** `{secretKey, hybrid}`: the key inside and its kind, for whoever has the server's keys. Throws WrongCredentials. */
export function openSlot(sodium, { id, wrapped }, secret, peppers) {
  const lookedUp = lookup(sodium, secret);
  const keys = peppers.map((pepper) =>
    wrapped[0] === VERSION
      ? wrappingKey(sodium, secret, serverPart(sodium, lookedUp, pepper).share)
      : sodium.blake2b(secret, { person: "edna.slot.wrap.1", key: ofServerKey(sodium, pepper, "edna.pepper.1") }),
  );
  return wrapped[0] === VERSION || wrapped[0] === 1 ? opened(sodium, { id, wrapped }, keys) : refuse();
}

function wrappingKey(sodium, secret, share) {
  return sodium.blake2b(share, { person: "edna.slot.wrap.2", key: secret });
}

function opened(sodium, { id, wrapped }, keys) {
  if (wrapped.length !== WRAPPED_BYTES) refuse();
  for (const key of keys) {
    for (const hybrid of [false, true]) {
      const associated = concat(wrapped.subarray(0, 1), id, hybrid ? HYBRID : NONE);
      const secretKey = sodium.decrypt(wrapped.subarray(25), { key, nonce: wrapped.subarray(1, 25), associated });
      if (secretKey !== null) return { secretKey, hybrid };
    }
  }
  return refuse();
}

function refuse() {
  throw new WrongCredentials("These credentials open nothing here.");
}
