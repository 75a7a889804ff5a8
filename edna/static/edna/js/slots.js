/** Ways to a secret key: docs/format.md, "Key slot". A slot depends on the server's key (the pepper), so who has none opens none. */

import { concat, toUtf8 } from "./base/bytes.js";
import { RecoveryCodeMalformed, WrongCredentials } from "./base/errors.js";
import { WHITE_SPACE, ofServerKey, withoutWhiteSpace } from "./keys.js";

const SYMBOLS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const MISREAD = { O: "0", I: "1", L: "1" };
const DASHES = /[-\u2010-\u2015\u2212]/g;
const WRAPPED_BYTES = 73;
const VERSION = 1;

/** The 16 bytes of a printed recovery code. Throws RecoveryCodeMalformed. */
export function parseRecoveryCode(sodium, text) {
  const symbols = withoutWhiteSpace(text).replace(DASHES, "").toUpperCase().replace(/[OIL]/g, (symbol) => MISREAD[symbol]);
  if (symbols.length === 28 && [...symbols].every((symbol) => SYMBOLS.includes(symbol))) {
    const bits = [...symbols].map((symbol) => SYMBOLS.indexOf(symbol).toString(2).padStart(5, "0")).join("");
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
  return sodium.argon2id(toUtf8(password.normalize("NFKC")), { salt, opslimit, memlimitBytes });
}

/** Under which id a slot of that secret is stored, with that pepper. */
export function slotId(sodium, secret, pepper) {
  return sodium.blake2b(secret, { person: "edna.slot.id.1", key: ofServerKey(sodium, pepper, "edna.pepper.1") });
}

/** What a slot of that kind (`password`, `recovery`) for that key is found by. */
export function slotTag(sodium, secretKey, kind) {
  return sodium.blake2b(toUtf8(kind), { person: "edna.slot.tag.1", key: secretKey });
}

/** The secret key inside. Throws WrongCredentials. */
export function openSlot(sodium, { id, wrapped }, secret, peppers) {
  if (wrapped.length === WRAPPED_BYTES && wrapped[0] === VERSION) {
    for (const pepper of peppers) {
      const key = sodium.blake2b(secret, {
        person: "edna.slot.wrap.1",
        key: ofServerKey(sodium, pepper, "edna.pepper.1"),
      });
      const associated = concat(wrapped.subarray(0, 1), id);
      const secretKey = sodium.decrypt(wrapped.subarray(25), { key, nonce: wrapped.subarray(1, 25), associated });
      if (secretKey !== null) return secretKey;
    }
  }
  throw new WrongCredentials("These credentials open nothing here.");
}
