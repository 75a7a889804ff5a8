/** The group in which guardians compute: docs/format.md, "Guardians". What comes from elsewhere passes `pointOf` or `scalarOf` first. */

import { fromBase64 } from "../base/bytes.js";
import { GuardianRefused } from "../base/errors.js";

export const POINT_BYTES = 32;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const WIDE_BYTES = 64;

/** These bytes, if they are a point to compute with. Throws GuardianRefused. */
export function pointOf(sodium, bytes) {
  if (bytes === null || bytes.length !== POINT_BYTES || !sodium.isPoint(bytes)) {
    throw new GuardianRefused("This is no point of prime order of edwards25519, spelled as its only spelling.");
  }
  return bytes;
}

/** Points one behind the other, for whoever checks them where they matter. Throws GuardianRefused. */
export function uncheckedPointsOf(bytes) {
  if (bytes === null || bytes.length % POINT_BYTES) throw new GuardianRefused("These are not points, one behind the other.");
  return Array.from({ length: bytes.length / POINT_BYTES }, (_, at) => bytes.slice(at * POINT_BYTES, (at + 1) * POINT_BYTES));
}

/** These bytes, if they are a scalar in its one spelling. Throws GuardianRefused. */
export function scalarOf(bytes) {
  if (bytes === null || bytes.length !== 32 || numberOf(bytes) >= ORDER) {
    throw new GuardianRefused("A scalar is 32 bytes, less than the group's order.");
  }
  return bytes;
}

function numberOf(bytes) {
  let number = 0n;
  for (let at = bytes.length - 1; at >= 0; at--) number = (number << 8n) | BigInt(bytes[at]);
  return number;
}

/** A public number, modulo the order. */
export function scalarFrom(number) {
  let left = ((number % ORDER) + ORDER) % ORDER;
  return Uint8Array.from({ length: 32 }, () => {
    const byte = Number(left & 255n);
    left >>= 8n;
    return byte;
  });
}

export function randomScalar(sodium) {
  for (;;) {
    const scalar = sodium.reduceScalar(sodium.random(WIDE_BYTES));
    if (scalar.some((byte) => byte !== 0)) return scalar;
  }
}

/** A point whose discrete logarithm nobody knows. */
export function hashToPoint(sodium, data) {
  const wide = sodium.blake2b(data, { person: "edna.guard.h2c.1", size: WIDE_BYTES });
  return sodium.addPoints(sodium.pointFrom(wide.slice(0, 32)), sodium.pointFrom(wide.slice(32)));
}

export function hashToScalar(sodium, data, person) {
  return sodium.reduceScalar(sodium.blake2b(data, { person, size: WIDE_BYTES }));
}

/** Throws GuardianRefused if the product is the identity. */
export function multiply(sodium, point, scalar) {
  const product = sodium.multiplyPoint(scalar, point);
  if (product === null) throw new GuardianRefused("The product of this point and this scalar is the identity.");
  return product;
}

export function multiplyBase(sodium, scalar) {
  const product = sodium.multiplyBase(scalar);
  if (product === null) throw new GuardianRefused("The product of the base point and this scalar is the identity.");
  return product;
}

/** With which factor each of these guardians counts, so that the sum lies at zero: by number. */
export function atZero(numbers) {
  const factors = new Map();
  for (const number of numbers) {
    let above = 1n;
    let below = 1n;
    for (const other of numbers) {
      if (other === number) continue;
      above = (above * BigInt(other)) % ORDER;
      below = (below * BigInt(other - number)) % ORDER;
    }
    factors.set(number, scalarFrom(above * inverse(((below % ORDER) + ORDER) % ORDER)));
  }
  return factors;
}

/** Modulo the order, of public numbers. */
function inverse(number) {
  let [former, rest] = [ORDER, number];
  let [before, factor] = [0n, 1n];
  while (rest !== 0n) {
    const times = former / rest;
    [former, rest] = [rest, former - times * rest];
    [before, factor] = [factor, before - times * factor];
  }
  return before;
}

/** What lies at zero of a polynomial, of whose points these are, by number. */
export function combinePoints(sodium, points) {
  const factors = atZero([...points.keys()]);
  return [...points].map(([number, point]) => multiply(sodium, point, factors.get(number))).reduce((sum, each) => sodium.addPoints(sum, each));
}

/** The value of a polynomial at a guardian's number. */
export function valueAt(sodium, coefficients, number) {
  const at = scalarFrom(BigInt(number));
  return coefficients.reduceRight((value, each) => sodium.addScalars(sodium.multiplyScalars(value, at), each), scalarFrom(0n));
}

/** The public half of the share that a guardian has by these commitments. */
export function publicShare(sodium, commitments, number) {
  const at = scalarFrom(BigInt(number));
  return commitments.reduceRight((value, each) => (value === null ? each : sodium.addPoints(multiply(sodium, value, at), each)), null);
}

/** 32 bytes of base 64. Throws GuardianRefused. */
export function bytesOf(text, size) {
  const bytes = typeof text === "string" ? fromBase64(text) : null;
  if (bytes === null || bytes.length !== size) throw new GuardianRefused(`${size} bytes in base 64 are expected here.`);
  return bytes;
}

