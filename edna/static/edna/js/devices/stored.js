/**
 * Where a browser that is a device keeps its key: in what it stores for this site (`localStorage`), which the site's own scripts alone read.
 *
 * Keeps: several people may use one browser, and each finds what is theirs. A key is stored before anything is done with it: an answer that is lost
 * loses none. Does not know what a key opens.
 */

import { DatabaseBusy, DeviceGroupEnded, DeviceRemoved, DeviceUnknown } from "../base/errors.js";
import { parsePair, secretKeyText } from "../keys.js";
import { OwnDevice, newKey } from "./acts.js";

const PREFIX = "edna.device.";

/**
 * Of one person, `whose` they are as the page has it; of everybody, where it is empty: `{name, whose, text}`, and `code` with `until` of a device that
 * shows one, `isNew` of a key that nothing was done with yet.
 */
export function storedOf(whose) {
  const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX)).sort();
  const found = names.map((name) => ({ ...asObject(localStorage.getItem(name)), name }));
  return found.filter((each) => typeof each.text === "string" && (!whose || each.whose === whose));
}

function asObject(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Keep it, in the place of what was kept under its name. */
export function keep({ name, ...said }) {
  localStorage.setItem(name, JSON.stringify(said));
}

export function drop({ name }) {
  localStorage.removeItem(name);
}

/** A key of this browser's, which nothing was done with yet; the same one, if the page was left before. */
export function freshKey(sodium, whose) {
  const found = storedOf(whose).find(({ isNew }) => isNew);
  if (found) return found;
  const name = PREFIX + Array.from(sodium.random(8), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const made = { name, whose, text: secretKeyText(sodium, newKey(sodium)), isNew: true };
  keep(made);
  return made;
}

/** The device that this browser is to one person, and what is stored of it: `{own, entry}`. Throws DeviceRemoved, DeviceGroupEnded, DeviceUnknown: it is none. */
export async function ownDevice(sodium, server, whose) {
  let problem = null;
  for (const each of storedOf(whose)) {
    try {
      const own = await OwnDevice.open(sodium, server, parsePair(sodium, each.text));
      if (each.isNew || each.code) keep({ name: each.name, whose: each.whose, text: each.text });
      return { own, entry: each };
    } catch (error) {
      if (![DatabaseBusy, DeviceGroupEnded, DeviceRemoved, DeviceUnknown].some((kind) => error instanceof kind)) throw error;
      if (!each.isNew) problem = error;
    }
  }
  throw problem ?? new DeviceUnknown("This browser keeps no key of a device. Nothing was changed.");
}
