/** What the vectors of groups of devices ask for. */

import { fromHex, toHex } from "../../edna/static/edna/js/base/bytes.js";
import * as keeping from "../../edna/static/edna/js/devices/keeping.js";
import { newest } from "../../edna/static/edna/js/devices/membership.js";
import { parseCard } from "../../edna/static/edna/js/devices/operations.js";
import { deviceFrom, stateOf } from "../../edna/static/edna/js/devices/states.js";
import { pairOf } from "../../edna/static/edna/js/keys.js";

function read(sodium, { state, entries }) {
  return deviceFrom(sodium, fromHex(state)).catchUp(entries.map(fromHex));
}

function known({ membership: group, secrets }) {
  return {
    members: [...group.members.keys()],
    sequence: group.sequence,
    head: toHex(group.head),
    public_key: toHex(group.publicKeys.get(newest(group))),
    secrets: Object.fromEntries([...secrets].map(([number, secret]) => [String(number), toHex(secret)])),
    due: group.due,
  };
}

const ACTS = {
  create: (device, { cards }) => device.create(cards.map((card) => parseCard(fromHex(card)))),
  add: (device, given) => device.add(parseCard(fromHex(given.card)), { withHistory: given.with_history }),
  remove: (device, given) => device.remove(fromHex(given.device)),
  update: (device) => device.update(),
};

/** What a device makes of these random bytes, all of them; if it is asked for, its states before and after the log has it. */
function act(sodium, given) {
  const waiting = given.random.map(fromHex);
  const device = given.entries.length ? read(sodium, given) : deviceFrom(sodium, fromHex(given.state));
  sodium.random = (size) => {
    if (waiting[0]?.length !== size) throw new Error(`${size} bytes were drawn, and the case has others`);
    return waiting.shift();
  };
  try {
    const ready = ACTS[given.act](device, given);
    if (waiting.length) throw new Error("fewer bytes were drawn than the case has");
    const operation = toHex(ready.pending.operation);
    return given.states ? { operation, ready: toHex(stateOf(ready)), done: toHex(stateOf(ready.appended())) } : { operation };
  } finally {
    delete sodium.random; // the method is there again
  }
}

function places(sodium, given) {
  const [group, device] = [given.group, given.device].map(fromHex);
  return {
    entry: toHex(keeping.entryPlace(sodium, group, given.number)),
    note: toHex(keeping.notePlace(sodium, group, device)),
    state: toHex(keeping.statePlace(sodium, pairOf(sodium, fromHex(given.secret_key)))),
    card: toHex(keeping.cardPlace(sodium, given.typed)),
    welcome: toHex(keeping.welcomePlace(sodium, device)),
    code: keeping.codeOf(device),
    code_of_group: keeping.codeOfGroup(sodium, group),
  };
}

/** What the twin seals, for whoever opens it elsewhere. */
function sealAll(sodium, given) {
  const [group, key, device] = [fromHex(given.group), pairOf(sodium, fromHex(given.secret_key)), deviceFrom(sodium, fromHex(given.state))];
  return {
    state: toHex(keeping.sealState(sodium, device, key)),
    note: toHex(keeping.sealNote(sodium, { name: given.name, month: given.month }, group)),
    card: toHex(keeping.sealCard(sodium, device.card)),
    welcome: toHex(keeping.sealWelcome(sodium, group, device.card.prekey)),
  };
}

export const DEVICES = {
  catch_up: (sodium, given) => known(read(sodium, given)),
  act,
  places,
  open_state: (sodium, given) => toHex(stateOf(keeping.openState(sodium, fromHex(given.sealed), pairOf(sodium, fromHex(given.secret_key))))),
  open_note: (sodium, given) => Object.values(keeping.openNote(sodium, fromHex(given.sealed), fromHex(given.group))),
  open_card: (sodium, given) => toHex(keeping.openCard(sodium, fromHex(given.sealed), given.code).bytes),
  open_welcome: (sodium, given) => toHex(keeping.openWelcome(sodium, fromHex(given.sealed), deviceFrom(sodium, fromHex(given.state)))),
  read_state: (sodium, given) => toHex(stateOf(read(sodium, given))),
  seal_all: sealAll,
};
