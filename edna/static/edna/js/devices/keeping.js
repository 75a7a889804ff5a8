/**
 * Where a site keeps what devices leave there, and what opens it: docs/format.md, "Groups of devices", "On a site". Who reads the records cannot
 * tell which belong together. Whoever knows a group's id reads its log; whoever has a device's key, its state.
 */

import { toUtf8, uint64 } from "../base/bytes.js";
import { BagCorrupt, BagError, DeviceCodeRefused, DeviceStateRefused, OperationRefused } from "../base/errors.js";
import { openContainer, sealContainer } from "../container.js";
import { pairOf } from "../keys.js";
import { bitsOf, printed } from "../slots.js";
import { decode } from "../values/decode.js";
import { encode } from "../values/encode.js";
import { deviceOf, parseCard } from "./operations.js";
import { deviceFrom, stateOf } from "./states.js";

const CARD_BYTES = 64;

/** A code is the beginning of a device's id: 60 bits. */
const CODE_SYMBOLS = 12;
const NOTHING = new Uint8Array(0);

/** Where the operation of that number lies. */
export function entryPlace(sodium, group, number) {
  return sodium.blake2b(uint64(number), { person: "edna.group.idx.1", key: group });
}

export function sealForGroup(sodium, bytes, group) {
  return sealContainer(sodium, bytes, groupPair(sodium, group).publicKey);
}

/** Throws a BagError. */
export function openOfGroup(sodium, sealed, group) {
  return openContainer(sodium, sealed, groupPair(sodium, group)).slice();
}

function groupPair(sodium, group) {
  return pairOf(sodium, sodium.blake2b(NOTHING, { person: "edna.group.read1", key: group }));
}

/** Where lies what the members call a device, and the month in which it was here last. */
export function notePlace(sodium, group, device) {
  return sodium.blake2b(device, { person: "edna.group.note1", key: group });
}

export function sealNote(sodium, { name, month }, group) {
  return sealForGroup(sodium, encode([name, month]), group);
}

/** `{name, month}`. Throws a BagError. */
export function openNote(sodium, sealed, group) {
  const { type, value } = decode(openOfGroup(sodium, sealed, group));
  if (type !== "list" || value.length !== 2 || value.some((each) => each.type !== "str")) throw new BagCorrupt("The note on a device is none.");
  return { name: value[0].value, month: value[1].value };
}

/** Where the state lies that this key of a device opens. */
export function statePlace(sodium, { secretKey }) {
  return sodium.blake2b(NOTHING, { person: "edna.group.own.1", key: secretKey });
}

export function sealState(sodium, device, { publicKey }) {
  return sealContainer(sodium, stateOf(device), publicKey);
}

/** Throws DeviceStateRefused. */
export function openState(sodium, sealed, pair) {
  return deviceFrom(sodium, asState(() => openContainer(sodium, sealed, pair)));
}

function asState(open) {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof BagError)) throw error;
    throw new DeviceStateRefused("The stored state of this device was changed. The site has to restore it from a backup.");
  }
}

/** What a new device shows, and somebody types on another. */
export function codeOf(device) {
  return printed(device, CODE_SYMBOLS);
}

/** What devices of one group show alike, for people to compare. */
export function codeOfGroup(sodium, group) {
  return printed(sodium.blake2b(group, { person: "edna.group.say.1", size: 16 }), CODE_SYMBOLS);
}

/** Where the card of the device lies that shows a code. Throws DeviceCodeRefused. */
export function cardPlace(sodium, code) {
  return sodium.blake2b(toUtf8(spelled(code)), { person: "edna.group.crd.1" });
}

export function sealCard(sodium, card) {
  return sealContainer(sodium, card.bytes, codePair(sodium, codeOf(deviceOf(sodium, card))).publicKey);
}

/** Throws DeviceCodeRefused if it is not the card of the device that shows the code: somebody has put another one there. */
export function openCard(sodium, sealed, code) {
  const card = cardIn(sodium, sealed, code);
  if (card === null || codeOf(deviceOf(sodium, card)) !== spelled(code)) {
    throw new DeviceCodeRefused("What lies under this code is not the device that shows it. Begin anew on the new device.");
  }
  return card;
}

function cardIn(sodium, sealed, code) {
  const pair = codePair(sodium, code);
  try {
    // What stands behind it says until when the server takes it.
    return parseCard(openContainer(sodium, sealed, pair).subarray(0, CARD_BYTES));
  } catch (error) {
    if (error instanceof BagError || error instanceof OperationRefused) return null;
    throw error;
  }
}

function codePair(sodium, code) {
  return pairOf(sodium, sodium.blake2b(toUtf8(spelled(code)), { person: "edna.group.crd.k" }));
}

function spelled(code) {
  const bits = bitsOf(code, CODE_SYMBOLS);
  if (bits === null) throw new DeviceCodeRefused(`The code of a device has ${CODE_SYMBOLS} letters and digits; this one is mistyped.`);
  return printed(Uint8Array.from(`${bits}0000`.match(/.{8}/g), (byte) => parseInt(byte, 2)), CODE_SYMBOLS);
}

/** Where a new device finds to which group it was added. */
export function welcomePlace(sodium, device) {
  return sodium.blake2b(device, { person: "edna.group.wel.1" });
}

export function sealWelcome(sodium, group, prekey) {
  return sealContainer(sodium, group, prekey);
}

/** The id of the group. Throws a BagError. */
export function openWelcome(sodium, sealed, device) {
  return openContainer(sodium, sealed, pairOf(sodium, device.keys.prekey)).slice();
}
