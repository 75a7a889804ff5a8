/**
 * Which values are one key of a dictionary: docs/format.md, "Values". Numbers are compared as numbers, whatever their type, and points in time
 * with an offset as points in time.
 */

import { toHex } from "../base/bytes.js";
import { decimalParts, offsetMicroseconds } from "./spellings.js";

/** A text that equal keys share; null for a key that equals none (NaN); undefined for what cannot be a key. */
export function sameness({ type, value, bytes }) {
  switch (type) {
    case "null":
      return "null";
    case "bool":
      return number(value ? "1" : "0", 0n);
    case "int":
      return number(value.toString(), 0n);
    case "float":
      return float(value);
    case "decimal":
      return decimal(value);
    case "str":
      return `str ${toHex(bytes)}`;
    case "bytes":
      return `bytes ${toHex(value)}`;
    case "datetime":
      return moment(value, (day) => BigInt(Date.parse(`${day}T00:00:00Z`)) * 1000n);
    case "time":
      return moment(`0000-00-00T${value}`, () => 0n);
    case "list":
      return list(value);
    case "dict":
      return undefined;
    default:
      return `${type} ${value}`;
  }
}

function list(items) {
  const parts = items.map(sameness);
  if (parts.includes(undefined)) return undefined;
  return parts.includes(null) ? null : `list ${parts.map((part) => `${part.length}:${part}`).join("")}`;
}

function number(text, exponent) {
  const [, sign, digits] = /^(-?)0*([0-9]*)$/.exec(text);
  const short = digits.replace(/0+$/, "");
  return short ? `number ${sign}${short}e${exponent + BigInt(digits.length - short.length)}` : "number 0";
}

function float(bytes) {
  const bits = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0);
  const sign = bits >> 63n ? "-" : "";
  const power = (bits >> 52n) & 0x7ffn;
  const fraction = bits & ((1n << 52n) - 1n);
  if (power === 0x7ffn) return fraction ? null : `number ${sign}Infinity`;
  const whole = power ? fraction | (1n << 52n) : fraction;
  const two = (power || 1n) - 1075n;
  // m / 2^n is m * 5^n / 10^n
  const [digits, ten] = two >= 0n ? [whole << two, 0n] : [whole * 5n ** -two, two];
  return number(sign + digits, ten);
}

function decimal(text) {
  if (text.includes("sNaN")) return undefined;
  if (text.includes("NaN")) return null;
  if (text.includes("Infinity")) return `number ${text}`;
  const { sign, digits, exponent } = decimalParts(text);
  return number(sign + digits, exponent);
}

function moment(text, dayBegins) {
  const [day, clock] = [text.slice(0, 10), text.slice(11)];
  const offset = offsetMicroseconds(clock);
  const kind = day === "0000-00-00" ? "time" : "datetime";
  if (offset === null) return `${kind} ${text}`;
  const seconds = Number(clock.slice(0, 2)) * 3600 + Number(clock.slice(3, 5)) * 60 + Number(clock.slice(6, 8));
  const fraction = clock[8] === "." ? BigInt(clock.slice(9, 15)) : 0n;
  return `${kind} at ${dayBegins(day) + BigInt(seconds) * 1000000n + fraction - offset}`;
}
