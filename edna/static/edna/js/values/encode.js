/**
 * Values to bytes: docs/format.md, "Values"; of those that devices keep: null, true and false, whole numbers, texts, bytes, and lists of them. Each has
 * one shortest form, as the library writes it. Numbers are safe whole numbers.
 */

import { concat, toUtf8, uint32, uint64 } from "../base/bytes.js";

export function encode(value) {
  if (value === null) return Uint8Array.of(0xc0);
  if (typeof value === "boolean") return Uint8Array.of(value ? 0xc3 : 0xc2);
  if (typeof value === "number") return integer(value);
  if (typeof value === "string") return text(toUtf8(value));
  if (value instanceof Uint8Array) return concat(head(value.length, [0xc4, 0xc5, 0xc6]), value);
  const beginning = value.length < 16 ? Uint8Array.of(0x90 | value.length) : head(value.length, [null, 0xdc, 0xdd]);
  return concat(beginning, ...value.map(encode));
}

function text(bytes) {
  return concat(bytes.length < 32 ? Uint8Array.of(0xa0 | bytes.length) : head(bytes.length, [0xd9, 0xda, 0xdb]), bytes);
}

/** Negative ones that devices keep fit into the first byte. */
function integer(value) {
  if (!Number.isSafeInteger(value) || value < -32) throw new RangeError("not a number that is kept");
  if (value < 0x80) return Uint8Array.of(value & 0xff);
  if (value > 0xffffffff) return concat(Uint8Array.of(0xcf), uint64(value));
  return head(value, [0xcc, 0xcd, 0xce]);
}

/** A number of one, two or four bytes behind the first byte for each; null where there is no such form. */
function head(number, [one, two, four]) {
  if (one !== null && number < 0x100) return Uint8Array.of(one, number);
  if (number < 0x10000) return Uint8Array.of(two, number >> 8, number & 0xff);
  return concat(Uint8Array.of(four), uint32(number));
}
