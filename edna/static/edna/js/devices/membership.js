/**
 * What everybody can see of a group, without any secret: who is in it, its public keys, where its log ends; and what may follow what:
 * docs/format.md, "Groups of devices", "Rules". Values that are not changed: what changes one returns another.
 *
 * `members` are cards and `publicKeys` keys, by the hexadecimal text of the device and by the place where they began.
 */

import { concat, equal, toHex } from "../base/bytes.js";
import { DeviceLogForked, DeviceLogTruncated, OperationRefused, OperationReplayed, SequenceTaken } from "../base/errors.js";
import { ADD, CREATE, REMOVE, UPDATE, checkSignature, deviceOf } from "./operations.js";

const NO_HASH = new Uint8Array(32);

/** Of a device that knows of no group. `removal` is the last operation, if it was a remove; `due`: two have removed each other. */
export const NO_GROUP = Object.freeze({
  ...{ group: new Uint8Array(0), sequence: -1, head: NO_HASH, before: NO_HASH },
  ...{ members: new Map(), publicKeys: new Map(), removal: null, due: false },
});

/** The head of a log that had this one before an operation was appended. */
export function headAfter(sodium, head, bytes) {
  return sodium.blake2b(concat(head, bytes), { person: "edna.group.log.1" });
}

/** The place where the present secret began. */
export function newest(group) {
  return Math.max(...group.publicKeys.keys());
}

/** To whom the messages of an operation are, in their order. `group` is the one before it. */
export function readersOf(sodium, group, { head, cards, removed }) {
  if (head.kind === ADD) return [toHex(deviceOf(sodium, cards[0]))];
  const others = [toHex(head.sender), removed && toHex(removed)];
  const members = head.kind === CREATE ? membersOf(sodium, cards) : group.members;
  return [...members.keys()].filter((device) => !others.includes(device));
}

/** Whether it is a remove of the one who removed its sender, at the same place: neither knew of the other's. */
export function crosses(group, { head, removed }) {
  const last = group.removal;
  return (
    last !== null &&
    head.kind === REMOVE &&
    head.sequence === group.sequence &&
    equal(head.previous, group.before) &&
    equal(head.sender, last.removed) &&
    equal(removed, last.sender)
  );
}

/** Throws SequenceTaken if somebody else's stands where this one was to stand: whoever made it makes it anew. */
export function checkPlace(group, operation) {
  if (operation.head.sequence <= group.sequence && !crosses(group, operation)) {
    throw new SequenceTaken(`Place ${operation.head.sequence} of the log is taken: another device was quicker. Catch up, and try again.`);
  }
}

/** The group after an operation. Throws what the rules say. */
export function follow(sodium, group, operation) {
  const { head, cards, removed, publicKey, messages } = operation;
  if (group.group.length && !equal(head.group, group.group)) throw new OperationRefused(`Operation ${head.sequence} is of another group.`);
  if (crosses(group, operation)) return crossed(sodium, group, operation);
  if (head.sequence <= group.sequence) throw new OperationReplayed(`Operation ${head.sequence} comes a second time.`);
  if (head.sequence > group.sequence + 1) throw new DeviceLogTruncated(`The log has no operation ${group.sequence + 1}, but ${head.sequence}.`);
  if (!equal(head.previous, group.head)) throw new DeviceLogForked(`Operation ${head.sequence} continues another log than the one that is known.`);
  checkSignature(sodium, operation, cardOfSender(group, operation).verifyKey);
  const members = membersAfter(sodium, group, operation);
  if (messages.length !== readersOf(sodium, group, operation).length) throw refused(head, "has not one message for each who is to read it");
  const removal = head.kind === REMOVE ? { sender: head.sender, removed, card: group.members.get(toHex(removed)) } : null;
  const publicKeys = new Map(group.publicKeys);
  if (publicKey !== null) {
    if ([...publicKeys.values()].some((key) => equal(key, publicKey))) throw refused(head, "begins with a secret that the group had before");
    publicKeys.set(head.sequence, publicKey);
  }
  const next = headAfter(sodium, group.head, operation.bytes);
  return { group: head.group, sequence: head.sequence, head: next, before: group.head, members, publicKeys, removal, due: false };
}

function cardOfSender(group, { head, cards }) {
  const card = head.kind === CREATE && cards.length ? cards[0] : group.members.get(toHex(head.sender));
  if (card === undefined) throw refused(head, "is of a device that is not in the group");
  return card;
}

function membersAfter(sodium, group, { head, cards, removed }) {
  const [members, sender] = [new Map(group.members), toHex(head.sender)];
  if (head.kind === CREATE) {
    const begun = membersOf(sodium, cards);
    const [first] = begun.keys();
    if (group.sequence >= 0 || first !== sender || begun.size < cards.length) throw refused(head, "does not begin a group");
    return begun;
  }
  if (head.kind === ADD) {
    if (group.due) throw refused(head, "adds a device before the group has a new secret");
    const added = toHex(deviceOf(sodium, cards[0]));
    if (members.has(added)) throw refused(head, "adds a device that is there");
    members.set(added, cards[0]);
  } else if (head.kind === REMOVE) {
    if (equal(head.sender, removed) || !members.delete(toHex(removed))) throw refused(head, "removes a device that is not there, or itself");
  } else if (head.kind === UPDATE) members.set(sender, cards[0]);
  return members;
}

function crossed(sodium, group, operation) {
  checkSignature(sodium, operation, group.removal.card.verifyKey);
  const members = new Map(group.members);
  members.delete(toHex(operation.removed));
  if (!members.size) throw refused(operation.head, "would leave nobody in the group");
  const head = headAfter(sodium, group.head, operation.bytes);
  return { ...group, sequence: group.sequence + 1, head, before: group.head, members, removal: null, due: true };
}

/** By device, in order. */
export function membersOf(sodium, cards) {
  return new Map(cards.map((card) => [toHex(deviceOf(sodium, card)), card]));
}

function refused({ sequence }, why) {
  return new OperationRefused(`Operation ${sequence} ${why}. Nothing was changed.`);
}
