/** Sealed containers: docs/format.md, "Container". Trusts no length in them; checks in the order of that page. */

import { concat, readUint32, uint32 } from "./base/bytes.js";
import { openHpke, sealHpke } from "./base/hpke.js";
import {
  BagCorrupt,
  BagSuiteUnknown,
  BagTooLarge,
  BagTrailingBytes,
  BagTruncated,
  BagVersionUnknown,
  WrongKey,
} from "./base/errors.js";

const KEY_BYTES = 32;
const VERSION = 1;
const SUITE = 1;
const MOST_BYTES = 64 * 2 ** 20;
const HEADER_BYTES = 7;
const MOST_STANZAS = 16;
const X25519 = 1;
const SUCCESSION = 2;
const HYBRID = 3;
/** Of the kinds that hold the file key. */
const STANZA_BYTES = { [X25519]: 80, [HYBRID]: 1168 };
const STANZA_PURPOSE = "edna file key 1";
const SUCCESSION_PURPOSE = "edna succession 1";
const NONCE_BYTES = 24;
const TAG_BYTES = 16;
const LEAST_PADDED_BYTES = 1024;
const LENGTH_BYTES = 4;

/** Padmé, with a floor. */
export function paddedLength(length) {
  if (length <= LEAST_PADDED_BYTES) return LEAST_PADDED_BYTES;
  const exponent = Math.floor(Math.log2(length));
  const step = 2 ** (exponent - (Math.floor(Math.log2(exponent)) + 1));
  return Math.ceil(length / step) * step;
}

/** The content of a container that is sealed to this key. Throws a BagError. */
export function openContainer(sodium, sealed, pair) {
  const { stanzas, body } = layout(sealed);
  const fileKey = fileKeyOf(sodium, stanzas, pair);
  const padded =
    fileKey.length === 32
      ? sodium.decrypt(body.subarray(NONCE_BYTES), {
          key: fileKey,
          nonce: body.subarray(0, NONCE_BYTES),
          associated: Uint8Array.of(VERSION, SUITE),
        })
      : null;
  if (padded === null) throw new BagCorrupt("The body of the bag was changed.");
  return unpadded(padded);
}

function unpadded(padded) {
  const end = padded.length < LENGTH_BYTES ? Infinity : LENGTH_BYTES + readUint32(padded, 0);
  if (end > padded.length || padded.length !== paddedLength(end) || padded.subarray(end).some((byte) => byte !== 0)) {
    throw new BagCorrupt("The padding of the bag is wrong.");
  }
  return padded.subarray(LENGTH_BYTES, end);
}

/** A container of this content for one key of X25519. */
export function sealContainer(sodium, content, publicKey) {
  const padded = new Uint8Array(paddedLength(LENGTH_BYTES + content.length));
  padded.set(concat(uint32(content.length), content));
  const [fileKey, nonce] = [sodium.random(32), sodium.random(NONCE_BYTES)];
  const body = sodium.encrypt(padded, { key: fileKey, nonce, associated: Uint8Array.of(VERSION, SUITE) });
  const header = concat(Uint8Array.of(VERSION, SUITE, 1), uint32(NONCE_BYTES + body.length));
  const stanza = concat(Uint8Array.of(X25519, 0, STANZA_BYTES[X25519]), sodium.seal(fileKey, publicKey));
  return concat(header, stanza, nonce, body);
}

/** What was sealed to this key beside the body, when the bag was made over to it: pieces of a succession. Throws a BagError. */
export function successionPieces(sodium, sealed, { secretKey, publicKey, seed }) {
  const opened = layout(sealed).succession.map((stanza) =>
    seed
      ? openHpke(sodium, stanza, { seed, purpose: SUCCESSION_PURPOSE })
      : sodium.openSealedBox(stanza, publicKey, secretKey),
  );
  return opened.filter((padded) => padded !== null).map(unpadded);
}

/** A file key for its new owner, as the stanza of their kind has it; `wholeKey` is what others seal to. */
export function sealedFileKey(sodium, fileKey, wholeKey) {
  return wholeKey.length === KEY_BYTES
    ? sodium.seal(fileKey, wholeKey)
    : sealHpke(sodium, fileKey, { publicKey: wholeKey, purpose: STANZA_PURPOSE });
}

/** Another one for each body. */
export function bodyNonce(sealed) {
  return layout(sealed).body.subarray(0, NONCE_BYTES);
}

/** What opens this one container, without the key that it is sealed to. Throws a BagError. */
export function contentKey(sodium, sealed, pair) {
  return fileKeyOf(sodium, layout(sealed).stanzas, pair);
}

/** A pair of the hybrid kind opens its own kind alone: of the other, whoever breaks X25519 could have made it. */
function fileKeyOf(sodium, stanzas, { secretKey, publicKey, seed }) {
  let fileKey = null;
  for (const { kind, stanza } of stanzas) {
    if ((kind === HYBRID) !== Boolean(seed)) continue;
    fileKey ??= seed
      ? openHpke(sodium, stanza, { seed, purpose: STANZA_PURPOSE })
      : sodium.openSealedBox(stanza, publicKey, secretKey);
  }
  if (fileKey === null) throw new WrongKey("The bag is not sealed to this key.");
  return fileKey;
}

function layout(sealed) {
  const size = sealed.length;
  if (size > MOST_BYTES) throw new BagTooLarge(`The bag has more than ${MOST_BYTES} bytes.`);
  if (size > 0 && sealed[0] !== VERSION) throw new BagVersionUnknown(`The bag is of version ${sealed[0]}.`);
  if (size > 1 && sealed[1] !== SUITE) throw new BagSuiteUnknown(`The bag is of cipher suite ${sealed[1]}.`);
  if (size < HEADER_BYTES) throw new BagTruncated("The bag ends inside its header.");
  const [count, bodyLength] = [sealed[2], readUint32(sealed, 3)];
  if (bodyLength > MOST_BYTES) throw new BagTooLarge("The bag announces a body that is too long.");
  if (count < 1 || count > MOST_STANZAS || bodyLength < NONCE_BYTES + LEAST_PADDED_BYTES + TAG_BYTES) {
    throw new BagCorrupt("The header of the bag is malformed.");
  }
  const stanzas = [];
  const succession = [];
  let at = HEADER_BYTES;
  for (let number = 0; number < count; number++) {
    if (at + 3 > size) throw new BagTruncated("The bag ends inside its stanzas.");
    const [kind, length] = [sealed[at], (sealed[at + 1] << 8) | sealed[at + 2]];
    if (STANZA_BYTES[kind]) {
      if (length !== STANZA_BYTES[kind]) throw new BagCorrupt("A stanza of the bag is malformed.");
      stanzas.push({ kind, stanza: sealed.subarray(at + 3, at + 3 + length) });
    } else if (kind === SUCCESSION) succession.push(sealed.subarray(at + 3, at + 3 + length));
    at += 3 + length;
  }
  if (size < at + bodyLength) throw new BagTruncated("The bag is shorter than its header announces.");
  if (size > at + bodyLength) throw new BagTrailingBytes("The bag is longer than its header announces.");
  if (!stanzas.length) throw new BagSuiteUnknown("The bag has no recipient of a known kind.");
  return { stanzas, succession, body: sealed.subarray(at) };
}
