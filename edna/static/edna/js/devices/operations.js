/**
 * An operation: what one device does to its group, as it stands in the log: docs/format.md, "Groups of devices". Every byte of it is something,
 * and all but the signature is under it. Knows neither who is a member nor whether it may be done.
 */

import { ascii, concat, toHex, uint64 } from "../base/bytes.js";
import { OperationForged, OperationRefused } from "../base/errors.js";
import { KEY_BYTES, publicKey as checkedPublicKey } from "../keys.js";

export const CREATE = 1;
export const ADD = 2;
export const REMOVE = 3;
export const UPDATE = 4;
export const ID_BYTES = 16;
export const MOST_MEMBERS = 65_535;
/** A message with one secret. */
const MESSAGE_BYTES = 3 * KEY_BYTES + 16;
const VERSION = 1;
const HEAD_BYTES = 74;
const SIGNATURE_BYTES = 64;
const SIGNED_AS = ascii("edna devices operation 1\n");
const NOTHING = new Uint8Array(0);

/** What others have to know of a device before they write to it: `{verifyKey, prekey, bytes}`. */
export function cardOf(verifyKey, prekey) {
  return { verifyKey, prekey, bytes: concat(verifyKey, prekey) };
}

/** Throws OperationRefused. */
export function parseCard(bytes) {
  if (bytes.length !== 2 * KEY_BYTES) throw new OperationRefused(`The card of a device has ${2 * KEY_BYTES} bytes, this one ${bytes.length}.`);
  return cardOf(bytes.slice(0, KEY_BYTES), keyOf(bytes.slice(KEY_BYTES), "The card of a device"));
}

/** The id of a device that comes with this card. It keeps it when its keys change. */
export function deviceOf(sodium, card) {
  return sodium.blake2b(card.bytes, { person: "edna.group.dev.1", size: ID_BYTES });
}

/** What every operation begins with: `bytes`, and what they say. */
export function headOf({ kind, group, sequence, previous, sender }) {
  const bytes = concat(Uint8Array.of(VERSION, kind), group, uint64(sequence), previous, sender);
  return { kind, group, sequence, previous, sender, bytes };
}

/** The bytes of an operation, signed. `cards`, `removed` and `publicKey` are those that its kind has. */
export function signed(sodium, { head, cards = [], removed = NOTHING, publicKey = NOTHING, ephemeral, messages }, seed) {
  const count = head.kind === CREATE ? Uint8Array.of(cards.length >> 8, cards.length & 0xff) : NOTHING;
  const unsigned = concat(head.bytes, count, ...cards.map(({ bytes }) => bytes), removed, publicKey, ephemeral, ...messages);
  return concat(unsigned, sodium.sign(concat(SIGNED_AS, unsigned), seed));
}

/** Throws OperationForged if whoever has that key did not sign it. */
export function checkSignature(sodium, { head, bytes }, verifyKey) {
  const [unsigned, signature] = [bytes.subarray(0, -SIGNATURE_BYTES), bytes.subarray(-SIGNATURE_BYTES)];
  if (!sodium.isSigned(concat(SIGNED_AS, unsigned), { signature, verifyKey })) {
    throw new OperationForged(`Operation ${head.sequence} is not signed by device ${toHex(head.sender)}: somebody has made or changed it.`);
  }
}

/** `{bytes, head, cards, removed, publicKey, ephemeral, messages}`; of what it has not, null. Throws OperationRefused. */
export function parseOperation(bytes) {
  if (bytes.length < HEAD_BYTES + SIGNATURE_BYTES || bytes[0] !== VERSION) {
    throw new OperationRefused("This is no operation of a group that this release of edna reads.");
  }
  const sequence = Number(new DataView(bytes.buffer, bytes.byteOffset + 18, 8).getBigUint64(0));
  const [group, previous, sender] = [bytes.slice(2, 18), bytes.slice(26, 58), bytes.slice(58, HEAD_BYTES)];
  const head = { kind: bytes[1], group, sequence, previous, sender, bytes: bytes.slice(0, HEAD_BYTES) };
  if (head.kind < CREATE || head.kind > UPDATE) throw new OperationRefused(`This release knows no operation of kind ${head.kind}.`);
  return { bytes, head, ...new Body(bytes.subarray(HEAD_BYTES, -SIGNATURE_BYTES), head).parts() };
}

class Body {
  #bytes;
  #head;
  #at = 0;

  constructor(bytes, head) {
    [this.#bytes, this.#head] = [bytes, head];
  }

  parts() {
    const { kind } = this.#head;
    let [cards, removed, publicKey] = [[], null, null];
    if (kind === CREATE) {
      const [high, low] = this.#take(2);
      for (let left = (high << 8) | low; left; left--) cards.push(this.#card());
    } else if (kind === REMOVE) removed = this.#take(ID_BYTES);
    else cards = [this.#card()];
    if (kind !== ADD) publicKey = this.#key();
    const ephemeral = this.#key();
    const rest = this.#take(this.#bytes.length - this.#at);
    return { cards, removed, publicKey, ephemeral, messages: kind === ADD ? [rest] : this.#messages(rest) };
  }

  #take(size) {
    if (this.#at + size > this.#bytes.length) throw new OperationRefused(`Operation ${this.#head.sequence} ends too early.`);
    this.#at += size;
    return this.#bytes.slice(this.#at - size, this.#at);
  }

  #card() {
    return parseCard(this.#take(2 * KEY_BYTES));
  }

  #key() {
    return keyOf(this.#take(KEY_BYTES), `Operation ${this.#head.sequence}`);
  }

  #messages(rest) {
    if (rest.length % MESSAGE_BYTES) throw new OperationRefused(`Operation ${this.#head.sequence} ends inside a message.`);
    return Array.from({ length: rest.length / MESSAGE_BYTES }, (_, at) => rest.slice(at * MESSAGE_BYTES, (at + 1) * MESSAGE_BYTES));
  }
}

function keyOf(bytes, where) {
  try {
    return checkedPublicKey(bytes);
  } catch {
    throw new OperationRefused(`${where} holds what is no public key.`);
  }
}
