/**
 * What a person does with their devices, where each keeps its key: the twin of `edna.devices`, over the site's HTTP interface (docs/devices.md, "In
 * the browser").
 *
 * Keeps: keys of devices and secrets of the group stay here; the site is told operations, which are signed, and what is sealed. A device's key is kept by
 * the caller before it is passed here, so that an answer that is lost loses none. Knows no page, and not where a browser keeps its key.
 */

import { fromBase64, fromHex, toBase64, toHex } from "../base/bytes.js";
import { DatabaseBusy, DeviceCodeRefused, DeviceCopied, DeviceGroupEnded, DeviceRemoved, DeviceUnknown, PrincipalNotRegistered, SequenceTaken } from "../base/errors.js";
import { OpenKey } from "../custody.js";
import { newPair } from "../keys.js";
import { makeOver } from "../rotation.js";
import { inWorker } from "../stretch.js";
import { Device } from "./device.js";
import * as keeping from "./keeping.js";
import { deviceOf } from "./operations.js";

/** How often something is done again because another device was quicker. */
const ATTEMPTS = 5;
const PLACES_AT_ONCE = 64;

/** A key for a device. Keep it first, then pass it on. */
export function newKey(sodium) {
  return newPair(sodium);
}

/** Whether this is the key of a device, in a group or not. */
export async function isKnown(sodium, server, pair) {
  const place = keeping.statePlace(sodium, pair);
  try {
    return (await records(server, [place], place))[0] !== null;
  } catch (error) {
    if (error instanceof DatabaseBusy) return false; // it is in none of those that answer
    throw error;
  }
}

/** A device whose key is here. It opens its person's key: `device.key`, as `custody.js` has it. */
export class OwnDevice {
  #sodium;
  #server;
  #proof;
  #home;

  constructor(sodium, server, pair, { device, stored, home = null }) {
    [this.#sodium, this.#server] = [sodium, server];
    this.#proof = new OpenKey(sodium, server, pair);
    this.#home = home ?? keeping.statePlace(sodium, pair);
    Object.assign(this, { pair, device, stored });
  }

  /** As the log has it now. Throws DeviceUnknown, DeviceRemoved, DeviceGroupEnded, and what the log is refused with. */
  static async open(sodium, server, pair) {
    const own = new OwnDevice(sodium, server, pair, await read(sodium, server, pair));
    own.key = new OpenKey(sodium, server, own.device.pair);
    // Whoever is nobody's key has no list.
    const { lists } = await own.key.ask("graph/entries", { public_keys: [toBase64(own.key.publicKey)] });
    if (!lists.length) throw ended();
    if (!own.stored.isSettled) await own.catchUp();
    return own;
  }

  /** What all devices of one group show alike. */
  get groupCode() {
    return keeping.codeOfGroup(this.#sodium, this.device.membership.group);
  }

  get isUpdateDue() {
    return this.device.membership.due;
  }

  /** `[{id, name, month, isOwn}]`, in the order in which they came; `id` is bytes. */
  async members() {
    const { group, members } = this.device.membership;
    const ids = [...members.keys()];
    const found = await recordsOf(this.#server, ids.map((id) => keeping.notePlace(this.#sodium, group, fromHex(id))), this.#home);
    return ids.map((id, at) => ({
      ...(found[at] === null ? { name: "", month: "" } : keeping.openNote(this.#sodium, found[at], group)),
      id: fromHex(id),
      isOwn: id === toHex(this.device.id),
    }));
  }

  /** Take in the device that shows a code; returns its id. Throws DeviceCodeRefused, and what the site refuses with. */
  async add(code, { name = "", withHistory = true } = {}) {
    const [sealed] = await records(this.#server, [keeping.cardPlace(this.#sodium, code)], this.#home);
    if (sealed === null) throw new DeviceCodeRefused("No device shows this code now. Begin anew on the new device, or type it again.");
    const card = keeping.openCard(this.#sodium, sealed, code);
    const id = deviceOf(this.#sodium, card);
    return this.#tried(async (own) => {
      const ready = own.device.add(card, { withHistory });
      await own.key.ask("devices/add", { code, ...(await own.#written(ready, { names: [[id, name]] })) });
      return id;
    });
  }

  /** Take a device out: it opens nothing that is there from now on. `ways`: `identifier` and `password`, if one is to open the new key. */
  async remove(id, ways = {}) {
    await this.#tried(async (own) => {
      const ready = own.device.remove(id);
      await renewed(this.#sodium, own.key, ready, ways, () => own.#written(ready));
    });
  }

  /** See `update`. */
  async update(pair, ways = {}) {
    await this.#tried(async (own) => {
      const [ready, following] = [own.device.update(), new OwnDevice(this.#sodium, this.#server, pair, { ...own, home: own.#home })];
      const gone = async () => ({ place: toBase64(keeping.statePlace(this.#sodium, own.pair)), token: await own.#proof.token() });
      await renewed(this.#sodium, own.key, ready, ways, async () => ({ ...(await following.#written(ready)), gone: await gone() }));
    });
  }

  async rename(id, name) {
    const { group } = this.device.membership;
    const [sealed] = await records(this.#server, [keeping.notePlace(this.#sodium, group, id)], this.#home);
    const { month } = sealed === null ? { month: "" } : keeping.openNote(this.#sodium, sealed, group);
    await this.key.ask("devices/note", { notes: [this.#note(id, { name, month })] });
  }

  /** Store what this device has read, and the month in which it was here. */
  async catchUp() {
    const { sealed, ...state } = await this.#state(this.device);
    const notes = await this.#notes([]);
    await this.key.ask("devices/note", { notes, state: { ...state, sealed, former: toBase64(this.stored.sealed) }, device: toBase64(this.device.id) });
  }

  /** Do it with the device as it is now; again if another one was quicker, or has replaced the person's key meanwhile. */
  async #tried(act) {
    for (let attempt = 1; ; attempt++) {
      const own = await OwnDevice.open(this.#sodium, this.#server, this.pair);
      try {
        return await act(own);
      } catch (error) {
        if (!(error instanceof SequenceTaken || error instanceof PrincipalNotRegistered) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** What is stored when what was made ready has happened. */
  async #written(ready, { names = [] } = {}) {
    return {
      operation: toBase64(ready.pending.operation),
      state: await this.#state(ready.appended()),
      notes: await this.#notes(names, ready.appended().membership.group),
    };
  }

  async #state(device) {
    return {
      place: toBase64(keeping.statePlace(this.#sodium, this.pair)),
      sealed: toBase64(keeping.sealState(this.#sodium, device, this.pair)),
      token: await this.#proof.token(),
    };
  }

  /** That this device was here, and what others are called from now on. */
  async #notes(names, group = this.device.membership.group) {
    const [sealed] = await records(this.#server, [keeping.notePlace(this.#sodium, group, this.device.id)], this.#home);
    const { name } = sealed === null ? { name: "" } : keeping.openNote(this.#sodium, sealed, group);
    const month = thisMonth();
    const called = new Map([[toHex(this.device.id), name], ...names.map(([id, given]) => [toHex(id), given])]);
    return [...called].map(([id, given]) => this.#note(fromHex(id), { name: given, month }, group));
  }

  #note(id, said, group = this.device.membership.group) {
    return { device: toBase64(id), sealed: toBase64(keeping.sealNote(this.#sodium, said, group)) };
  }

  /** The first device of a group that is made of a key: see `create`. */
  static async first(sodium, key, server, pair, { name, ways }) {
    const ready = Device.make(sodium).create();
    const own = new OwnDevice(sodium, server, pair, { device: ready, stored: null });
    await renewed(sodium, key, ready, ways, () => own.#written(ready, { names: [[ready.id, name]] }));
    return OwnDevice.open(sodium, server, pair);
  }
}

/**
 * Make a group of one device, with the key `pair`, of an open key, which opens nothing any more, nor do its password and code. With `identifier` and
 * `password` these open the new one. All bags are made over, as `replaceKey` does it.
 */
export function create(sodium, server, key, { pair, name = "", ...ways }) {
  return OwnDevice.first(sodium, key, server, pair, { name, ways });
}

/**
 * Another key, `following`, for the device with the key `pair`, and a new one for the person: who has copied it opens nothing that is there from now on.
 * If the answer was lost, the same call once more changes nothing. Returns the device.
 */
export async function update(sodium, server, pair, following, ways = {}) {
  try {
    await (await OwnDevice.open(sodium, server, pair)).update(following, ways);
  } catch (error) {
    // It was done before, and nobody heard of it.
    if (!(error instanceof DeviceUnknown) || !(await isKnown(sodium, server, following))) throw error;
  }
  return OwnDevice.open(sodium, server, following);
}

/** What a new device does first, for who is logged in: the code to be typed on another one within an hour. */
export async function begin(sodium, server, pair) {
  const device = Device.make(sodium);
  const said = { place: keeping.statePlace(sodium, pair), sealed: keeping.sealState(sodium, device, pair), card: device.card.bytes };
  const content = Object.fromEntries(Object.entries(said).map(([name, bytes]) => [name, toBase64(bytes)]));
  const { code } = await new OpenKey(sodium, server, pair).ask("devices/begin", content);
  return code;
}

/** Delete what is kept of a device that was removed, was never added, or whose group has ended. */
export async function forget(sodium, server, pair) {
  await new OpenKey(sodium, server, pair).ask("devices/forget", { place: toBase64(keeping.statePlace(sodium, pair)) });
}

/** The principal's key is that of the group's present secret from then on. */
async function renewed(sodium, key, ready, { identifier = null, password = null, stretch = inWorker }, more) {
  const successor = key.with(ready.appended().pair);
  const slots = password ? [await successor.passwordSlot({ identifier, password, stretch })] : [];
  await makeOver(sodium, key, { successor, slots, address: "devices/rotate", more });
}

/** The device as it would be after all that stands in the log, and what is stored of it. */
async function read(sodium, server, pair) {
  for (;;) {
    const sealed = await storedState(sodium, server, pair);
    const device = keeping.openState(sodium, sealed, pair);
    const { group: known, sequence } = device.membership;
    const isSettled = known.length > 0;
    const home = keeping.statePlace(sodium, pair);
    const group = isSettled ? known : await welcomed(sodium, server, device, home);
    // Of another group the log would be refused: whoever puts it there has not written this welcome.
    const told = new Device(sodium, { ...device, membership: { ...device.membership, group } });
    const after = await entries(sodium, server, group, { start: Math.max(sequence, 0), of: home });
    if (!after.length && (await records(server, [keeping.entryPlace(sodium, group, 0)], home))[0] === null) throw ended();
    try {
      const caughtUp = told.catchUp(after);
      if (!caughtUp.isMember) throw new DeviceRemoved("This device is not in the group any more. Ask another device to add it, as a new one.");
      return { device: caughtUp, stored: { sealed, isSettled } };
    } catch (error) {
      // Or it has done something in another tab, between the two.
      if (!(error instanceof DeviceCopied) || toHex(await storedState(sodium, server, pair)) === toHex(sealed)) throw error;
    }
  }
}

async function storedState(sodium, server, pair) {
  const place = keeping.statePlace(sodium, pair);
  const [sealed] = await records(server, [place], place);
  if (sealed !== null) return sealed;
  throw new DeviceUnknown("This is not the key of a device of this site. Check that it is the right key, and the right site.");
}

async function welcomed(sodium, server, device, of) {
  const [sealed] = await records(server, [keeping.welcomePlace(sodium, device.id)], of);
  if (sealed !== null) return keeping.openWelcome(sodium, sealed, device);
  throw new DeviceUnknown(`This device was not added yet. Type ${keeping.codeOf(device.id)} on a device that is in the group.`);
}

/** What stands in the log of a group from there on. */
async function entries(sodium, server, group, { start, of }) {
  const found = [];
  for (;;) {
    const places = Array.from({ length: PLACES_AT_ONCE }, (_, at) => keeping.entryPlace(sodium, group, start + found.length + at));
    const there = (await records(server, places, of)).filter((sealed) => sealed !== null);
    found.push(...there.map((sealed) => keeping.openOfGroup(sodium, sealed, group)));
    if (there.length < PLACES_AT_ONCE) return found;
  }
}

/** What lies at these places, however many; null where nothing does. */
async function recordsOf(server, places, of) {
  const found = [];
  for (let at = 0; at < places.length; at += PLACES_AT_ONCE) found.push(...(await records(server, places.slice(at, at + PLACES_AT_ONCE), of)));
  return found;
}

/** `of` is the place of the state of the device that asks: where its person's data are in one of several databases, it is in that one. */
async function records(server, places, of) {
  const { records: found } = await server.post("devices/records", { places: places.map(toBase64), of: toBase64(of) });
  return found.map((sealed) => (sealed === null ? null : fromBase64(sealed)));
}

function thisMonth() {
  return new Date().toISOString().slice(0, 7);
}

function ended() {
  return new DeviceGroupEnded("What the devices of this group open is nobody's any more. Nothing was changed.");
}
