/**
 * Values of records, from bytes: docs/format.md, "Values". Keeps all of each: a value is `{type, value}`, so that 1, 1.0, "1" and true stay apart.
 *
 * null, bool (boolean), int (BigInt), float (its 8 bytes), str (a string, and its `bytes`), bytes, list (of values), dict (of pairs), and the
 * extensions decimal, datetime, date, time, timedelta (their text), uuid (hexadecimal). Refuses what no writer wrote: BagCorrupt. Recursion is bounded.
 */

import { fromUtf8, toHex } from "../base/bytes.js";
import { BagCorrupt } from "../base/errors.js";
import { sameness } from "./sameness.js";
import { isSpelled } from "./spellings.js";

const MOST_LEVELS = 1024;
const MOST_ODD_KEYS = 64;
const INT64_MIN = -(2n ** 63n);
const UINT64_MAX = 2n ** 64n - 1n;
const TEXTS = { 1: "decimal", 2: "datetime", 3: "date", 4: "time", 5: "timedelta" };
const UUID = 6;
const BIG_INTEGER = 7;

export function decode(data) {
  const reader = new Reader(data);
  const value = reader.value(0);
  if (!reader.atEnd) throw corrupt("trailing bytes");
  return value;
}

function corrupt(problem) {
  return new BagCorrupt(`The content of the bag does not decode: ${problem}.`);
}

class Reader {
  #data;
  #view;
  #at = 0;

  constructor(data) {
    this.#data = data;
    this.#view = new DataView(data.buffer, data.byteOffset, data.length);
  }

  get atEnd() {
    return this.#at === this.#data.length;
  }

  value(level) {
    const first = this.#take(1)[0];
    if (first < 0x80) return integer(BigInt(first));
    if (first < 0x90) return this.#dict(first & 15, level);
    if (first < 0xa0) return this.#list(first & 15, level);
    if (first < 0xc0) return this.#text(first & 31);
    if (first >= 0xe0) return integer(BigInt(first - 0x100));
    switch (first) {
      case 0xc0:
        return { type: "null" };
      case 0xc2:
      case 0xc3:
        return { type: "bool", value: first === 0xc3 };
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return { type: "bytes", value: this.#take(this.#size(first - 0xc4)) };
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#size(first - 0xc7));
      case 0xca:
        return { type: "float", value: widened(this.#number(4, "getUint32")) };
      case 0xcb:
        return { type: "float", value: this.#take(8) };
      case 0xcc:
      case 0xcd:
      case 0xce:
        return integer(BigInt(this.#size(first - 0xcc)));
      case 0xcf:
        return integer(this.#number(8, "getBigUint64"));
      case 0xd0:
        return integer(BigInt(this.#number(1, "getInt8")));
      case 0xd1:
        return integer(BigInt(this.#number(2, "getInt16")));
      case 0xd2:
        return integer(BigInt(this.#number(4, "getInt32")));
      case 0xd3:
        return integer(this.#number(8, "getBigInt64"));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#size(first - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.#list(this.#size(first - 0xdb), level);
      case 0xde:
      case 0xdf:
        return this.#dict(this.#size(first - 0xdd), level);
    }
    if (first >= 0xd4 && first <= 0xd8) return this.#extension(1 << (first - 0xd4));
    throw corrupt("a reserved byte");
  }

  #take(size) {
    if (size > this.#data.length - this.#at) throw corrupt("it ends early");
    this.#at += size;
    return this.#data.subarray(this.#at - size, this.#at);
  }

  #number(size, read) {
    this.#take(size);
    return this.#view[read](this.#at - size);
  }

  /** Of one, two or four bytes. */
  #size(form) {
    return this.#number(1 << form, ["getUint8", "getUint16", "getUint32"][form]);
  }

  #text(size) {
    const bytes = this.#take(size);
    const value = fromUtf8(bytes);
    if (value === null) throw corrupt("a text that is not UTF-8");
    return { type: "str", value, bytes };
  }

  #list(count, level) {
    const value = [];
    this.#descend(level);
    while (value.length < count) value.push(this.value(level + 1));
    return { type: "list", value };
  }

  #dict(count, level) {
    const value = [];
    this.#descend(level);
    while (value.length < count) value.push([this.value(level + 1), this.value(level + 1)]);
    requireKeys(value.map(([key]) => key));
    return { type: "dict", value };
  }

  #descend(level) {
    if (level >= MOST_LEVELS) throw corrupt("it has too many levels");
  }

  #extension(size) {
    const code = this.#take(1)[0];
    const data = this.#take(size);
    if (code in TEXTS) {
      const text = latin(data);
      if (isSpelled(TEXTS[code], text)) return { type: TEXTS[code], value: text };
    } else if (code === UUID && size === 16) {
      return { type: "uuid", value: toHex(data) };
    } else if (code === BIG_INTEGER && size) {
      const number = BigInt.asIntN(8 * size, BigInt(`0x${toHex(data)}`));
      const bits = (number < 0n ? -number : number).toString(2).length;
      if ((number < INT64_MIN || number > UINT64_MAX) && size === Math.floor(bits / 8) + 1) return integer(number);
    }
    throw corrupt(`an extension of type ${code} that is unknown or malformed`);
  }
}

function latin(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

function integer(value) {
  return { type: "int", value };
}

/** A float 32, from its bits. Those of a NaN are moved by hand: engines may change them. */
function widened(bits) {
  const view = new DataView(new ArrayBuffer(8));
  view.setUint32(0, bits);
  const number = view.getFloat32(0);
  if (Number.isNaN(number)) {
    const payload = BigInt(bits & 0x3fffff) << 29n;
    view.setBigUint64(0, (BigInt(bits >>> 31) << 63n) | (0xfffn << 51n) | payload);
  } else {
    view.setFloat64(0, number);
  }
  return new Uint8Array(view.buffer);
}

function requireKeys(keys) {
  if (keys.length > MOST_ODD_KEYS && keys.filter(isOdd).length > MOST_ODD_KEYS) throw corrupt("a dictionary has too many odd keys");
  const seen = new Set();
  for (const key of keys) {
    const same = sameness(key);
    if (same === undefined) throw corrupt("a key that none can be");
    if (same !== null && seen.has(same)) throw corrupt("a dictionary repeats a key");
    seen.add(same);
  }
}

/** Neither text, bytes nor a number of 64 bits; true and false are numbers. */
function isOdd({ type, value }) {
  return !(type === "str" || type === "bytes" || type === "bool" || (type === "int" && value >= INT64_MIN && value <= UINT64_MAX));
}
