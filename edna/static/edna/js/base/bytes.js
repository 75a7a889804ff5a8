/** Bytes and the texts they are written as: hexadecimal, base 32, base 64, UTF-8 with lone surrogates. Knows no format of edna's. */

export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Compared in a time that depends on the length alone. */
export function equal(one, other) {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= one[at] ^ other[at];
  return difference === 0;
}

export function ascii(text) {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

/** A number from 0 to 2^32 - 1 in four bytes, most significant first. */
export function uint32(number) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number);
  return bytes;
}

export function readUint32(bytes, at) {
  return new DataView(bytes.buffer, bytes.byteOffset + at, 4).getUint32(0);
}

/** A safe whole number in eight bytes, most significant first. */
export function uint64(number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number));
  return bytes;
}

export function toHex(bytes) {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** Null if the text is not hexadecimal. */
export function fromHex(text) {
  if (typeof text !== "string" || text.length % 2 || /[^0-9a-f]/i.test(text)) return null;
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at++) bytes[at] = parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

const SYMBOLS_32 = "abcdefghijklmnopqrstuvwxyz234567";

/** RFC 4648, lower case, no padding. */
export function toBase32(bytes) {
  let text = "";
  let bits = 0;
  let waiting = 0;
  for (const byte of bytes) {
    waiting = ((waiting << 8) | byte) & 0xfff;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += SYMBOLS_32[(waiting >> (bits - 5)) & 31];
  }
  return bits ? text + SYMBOLS_32[(waiting << (5 - bits)) & 31] : text;
}

/** The bytes that `toBase32` writes as this text; null if it writes none so. */
export function fromBase32(text) {
  const bytes = new Uint8Array(Math.floor((text.length * 5) / 8));
  let bits = 0;
  let waiting = 0;
  let at = 0;
  for (const symbol of text) {
    const value = SYMBOLS_32.indexOf(symbol);
    if (value < 0) return null;
    waiting = ((waiting << 5) | value) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (waiting >> bits) & 0xff;
    }
  }
  return toBase32(bytes) === text ? bytes : null;
}

export function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}

/** Null if the text is not base 64. */
export function fromBase64(text) {
  try {
    return ascii(atob(text));
  } catch {
    return null;
  }
}

// A byte order mark is text like any other.
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Lone surrogates are encoded like other code points. */
export function toUtf8(text) {
  const lone = /\p{Surrogate}/u;
  const encoder = new TextEncoder();
  if (!lone.test(text)) return encoder.encode(text);
  const parts = Array.from(text, (letter) => {
    if (!lone.test(letter)) return encoder.encode(letter);
    const code = letter.charCodeAt(0);
    return Uint8Array.of(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
  });
  return concat(...parts);
}

/** The text; null if the bytes are not UTF-8, lone surrogates allowed. Two of them in a row become one character, so compare bytes. */
export function fromUtf8(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return fromUtf8WithSurrogates(bytes);
  }
}

function fromUtf8WithSurrogates(bytes) {
  let text = "";
  let start = 0;
  for (let at = 0; at + 2 < bytes.length; at++) {
    // ED is never a continuation: where it is followed by A0 to BF, a surrogate begins.
    if (bytes[at] !== 0xed || bytes[at + 1] < 0xa0 || bytes[at + 1] > 0xbf || (bytes[at + 2] & 0xc0) !== 0x80) continue;
    try {
      text += strict.decode(bytes.subarray(start, at));
    } catch {
      return null;
    }
    text += String.fromCharCode(0xd000 | ((bytes[at + 1] & 63) << 6) | (bytes[at + 2] & 63));
    start = at + 3;
    at += 2;
  }
  try {
    return text + strict.decode(bytes.subarray(start));
  } catch {
    return null;
  }
}
