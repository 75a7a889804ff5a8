/**
 * One device in a group: its keys, the group secrets that it knows, and what it does: docs/format.md, "Groups of devices".
 *
 * A device makes an operation ready, is stored with it, appends it to the log, and reads the log as everybody does: only when it meets the operation
 * there has it happened. Keeps: whoever was removed learns nothing that comes later; whoever updates is healed. A value that is not changed: what
 * changes it returns another. Does not know where it and the log are stored.
 */

import { concat, equal, fromHex, toHex } from "../base/bytes.js";
import { DeviceCopied, DeviceLogForked, DeviceLogTruncated, DeviceRemoved, DirectMessageRefused, OperationRefused } from "../base/errors.js";
import { pairOf } from "../keys.js";
import { NO_GROUP, crosses, follow, headAfter, membersOf, newest, readersOf } from "./membership.js";
import { openMessage, sealMessage } from "./messages.js";
import { ADD, CREATE, ID_BYTES, MOST_MEMBERS, REMOVE, UPDATE, cardOf, deviceOf, headOf, parseOperation, signed } from "./operations.js";

const NOTHING = new Uint8Array(0);

/** The key pair that follows from a secret of the group: bags are sealed to its public half. */
export function pairOfSecret(sodium, secret) {
  return pairOf(sodium, sodium.blake2b(NOTHING, { person: "edna.group.key.1", key: secret }));
}

/** What a device signs with, and what first messages to it are sealed to: `{seed, prekey}`. */
function newKeys(sodium) {
  return { seed: sodium.random(32), prekey: sodium.random(32) };
}

export function cardOfKeys(sodium, { seed, prekey }) {
  return cardOf(sodium.verifyKey(seed), sodium.publicKey(prekey));
}

/**
 * `pairs` are by the other device's hexadecimal id; with whom it has not spoken, the prekeys count. `secrets` are by the place where they began.
 * `pending`: `{operation, keys, pairs, secret}`, or null.
 */
export class Device {
  #sodium;

  constructor(sodium, { id, keys, membership = NO_GROUP, pairs = new Map(), secrets = new Map(), pending = null }) {
    this.#sodium = sodium;
    Object.assign(this, { id, keys, membership, pairs, secrets, pending });
    Object.freeze(this);
  }

  /** A device that is in no group yet. Its card is what others need to add it. */
  static make(sodium) {
    const keys = newKeys(sodium);
    return new Device(sodium, { id: deviceOf(sodium, cardOfKeys(sodium, keys)), keys });
  }

  get card() {
    return cardOfKeys(this.#sodium, this.keys);
  }

  get isMember() {
    return this.membership.members.has(toHex(this.id));
  }

  /** The key pair of the group's present secret. Throws DeviceRemoved. */
  get pair() {
    this.#requireMember();
    return pairOfSecret(this.#sodium, this.secrets.get(newest(this.membership)));
  }

  // What it does

  /** Make ready a new group of this device and others. Throws OperationRefused. */
  create(others = []) {
    const cards = [this.card, ...others];
    const members = membersOf(this.#sodium, cards);
    if (this.membership.sequence >= 0 || members.size < cards.length || cards.length > MOST_MEMBERS) {
      throw new OperationRefused("This device has a group, or somebody is named twice, or there are too many.");
    }
    const begun = this.#with({ membership: { ...this.membership, group: this.#sodium.random(ID_BYTES), members } });
    return begun.#begin(CREATE, { cards, leaving: this.membership });
  }

  /** Make ready that a device comes in, with all secrets, or the present one alone. Throws DeviceRemoved, OperationRefused. */
  add(card, { withHistory = true } = {}) {
    this.#requireMember();
    const added = toHex(deviceOf(this.#sodium, card));
    if (this.membership.members.has(added) || this.membership.due) {
      throw new OperationRefused("This device is in the group, or the group needs an update first.");
    }
    const head = this.#head(ADD);
    const ephemeral = pairOf(this.#sodium, this.#sodium.random(32));
    const numbers = withHistory ? [...this.secrets.keys()].sort((one, other) => one - other) : [newest(this.membership)];
    const handed = numbers.map((number) => this.secrets.get(number));
    const { message, pair } = sealMessage(this.#sodium, handed, { to: card.prekey, ephemeral, context: concat(head.bytes, fromHex(added)) });
    const parts = { head, cards: [card], ephemeral: ephemeral.publicKey, messages: [message] };
    const operation = signed(this.#sodium, parts, this.keys.seed);
    return this.#with({ pending: { operation, keys: this.keys, pairs: new Map([...this.pairs, [added, pair]]), secret: null } });
  }

  /** Make ready that a device goes: the others get a new secret. Throws DeviceRemoved, OperationRefused. */
  remove(device) {
    this.#requireMember();
    if (equal(device, this.id) || !this.membership.members.has(toHex(device))) {
      throw new OperationRefused("This device is not in the group, or is the one that would remove it.");
    }
    return this.#begin(REMOVE, { removed: device });
  }

  /** Make ready new keys of this device and a new secret of the group: whoever has a copy of it is locked out. Throws DeviceRemoved. */
  update() {
    this.#requireMember();
    const keys = newKeys(this.#sodium);
    return this.#begin(UPDATE, { cards: [cardOfKeys(this.#sodium, keys)], keys });
  }

  /** An operation with a new secret, for everybody who is in the group after it. */
  #begin(kind, { cards = [], removed, keys = this.keys, leaving = this.membership }) {
    const head = this.#head(kind);
    const [ephemeral, secret] = [pairOf(this.#sodium, this.#sodium.random(32)), this.#sodium.random(32)];
    const [messages, pairs, others] = [[], new Map(), [toHex(this.id), removed && toHex(removed)]];
    for (const device of this.membership.members.keys()) {
      if (others.includes(device)) continue;
      const to = this.pairs.get(device)?.theirs ?? this.membership.members.get(device).prekey;
      const { message, pair } = sealMessage(this.#sodium, [secret], { to, ephemeral, context: concat(head.bytes, fromHex(device)) });
      pairs.set(device, pair);
      messages.push(message);
    }
    const { publicKey } = pairOfSecret(this.#sodium, secret);
    const parts = { head, cards, removed, publicKey, ephemeral: ephemeral.publicKey, messages };
    const operation = signed(this.#sodium, parts, this.keys.seed);
    return this.#with({ membership: leaving, pending: { operation, keys, pairs, secret } });
  }

  #head(kind) {
    const { group, sequence, head } = this.membership;
    return headOf({ kind, group, sequence: sequence + 1, previous: head, sender: this.id });
  }

  #requireMember() {
    if (this.isMember) return;
    throw new DeviceRemoved("This device is not in the group: it was removed, or was not added yet. Ask another device to add it, as a new one.");
  }

  #with(changes) {
    return new Device(this.#sodium, { ...this, ...changes });
  }

  // What it reads

  /**
   * This device after all operations of a log, which begin with the last one that it knows; with the first one if it knows none. A device that was removed
   * sees who is in the group, and learns no secret.
   *
   * Throws DeviceLogTruncated, DeviceLogForked, DirectMessageRefused, DeviceCopied, OperationRefused and its kinds.
   */
  catchUp(entries) {
    const known = this.membership;
    if (known.sequence < 0) return entries.reduce((device, bytes) => device.#after(bytes), this);
    if (!entries.length) throw new DeviceLogTruncated(`The log ends before operation ${known.sequence}, which this device knows.`);
    if (!equal(headAfter(this.#sodium, known.before, entries[0]), known.head)) {
      throw new DeviceLogForked(`Operation ${known.sequence} is another one than this device knows.`);
    }
    return entries.slice(1).reduce((device, bytes) => device.#after(bytes), this);
  }

  /** This device once what it made ready stands in the log. Throws OperationRefused if it has made nothing ready. */
  appended() {
    if (this.pending === null) throw new OperationRefused("This device has made no operation ready.");
    return this.#after(this.pending.operation);
  }

  #after(bytes) {
    const operation = parseOperation(bytes);
    const [before, crossing] = [this.membership, crosses(this.membership, operation)];
    const after = follow(this.#sodium, before, operation);
    const staying = (pairs) => new Map([...pairs].filter(([device]) => after.members.has(device)));
    // What was made ready for this place has happened, or never will.
    const moved = this.#with({ membership: after, pairs: staying(this.pairs), pending: null });
    if (crossing) return moved;
    if (this.pending !== null && equal(this.pending.operation, bytes)) {
      const { keys, pairs, secret } = this.pending;
      return moved.#with({ keys, pairs: staying(pairs), secrets: secret ? new Map([...this.secrets, [after.sequence, secret]]) : this.secrets });
    }
    if (equal(operation.head.sender, this.id)) {
      throw new DeviceCopied(
        `Operation ${operation.head.sequence} is signed by this device, which has not made it: somebody has a copy of it. Remove it from another device.`,
      );
    }
    const at = readersOf(this.#sodium, before, operation).indexOf(toHex(this.id));
    if (at < 0) return moved;
    const own = this.pairs.get(toHex(operation.head.sender))?.own ?? this.keys.prekey;
    return moved.#told(operation, operation.messages[at], own);
  }

  #told({ head, ephemeral }, message, own) {
    const received = openMessage(this.#sodium, message, { own, ephemeral, context: concat(head.bytes, this.id) });
    const secrets = received && this.#checked(received.secrets);
    if (!secrets) {
      throw new DirectMessageRefused(`What operation ${head.sequence} says to this device does not open, or is not what it says to the others.`);
    }
    const pairs = new Map([...this.pairs, [toHex(head.sender), received.pair]]);
    return this.#with({ pairs, secrets: new Map([...this.secrets, ...secrets]) });
  }

  /** The secrets by the places where they began; null if the present one is missing, or one is of no operation. */
  #checked(secrets) {
    const numbers = new Map([...this.membership.publicKeys].map(([number, key]) => [toHex(key), number]));
    const found = new Map(secrets.map((secret) => [numbers.get(toHex(pairOfSecret(this.#sodium, secret).publicKey)), secret]));
    return found.has(undefined) || !found.has(newest(this.membership)) ? null : found;
  }
}
