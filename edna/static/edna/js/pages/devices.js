/**
 * The pages "my devices", where keys stay in browsers: the list, a code that is shown and one that is typed, another name, a key on paper, one device
 * less, and another key for this one.
 *
 * Keeps: the key of this device is stored before anything is done with it. Which device a page is about stands behind the `#` of its address, which
 * no server is sent.
 */

import { toHex } from "../base/bytes.js";
import { DeviceGroupEnded, DeviceRemoved, DeviceUnknown } from "../base/errors.js";
import { loadSodium } from "../base/sodium.js";
import { openByPassword } from "../custody.js";
import { begin as beginDevice, create, forget, newKey, update } from "../devices/acts.js";
import { drop, freshKey, keep, ownDevice, storedOf } from "../devices/stored.js";
import { parsePair, secretKeyText } from "../keys.js";
import { goTo } from "./focus.js";
import { filled } from "./said.js";
import { draw } from "./scanned.js";

const CODE_LASTS_MS = 3_600_000;

const part = (name) => document.querySelector(`[data-edna-part=${name}]`);

export function begin(question, name) {
  const whose = question.form.dataset.ednaWhose;
  if (name === "devices") return list(question, whose);
  if (name === "device-first") return first(question, whose);
  of(question, { whose, act: name.slice("device-".length) });
}

/** The list; in a browser that is no device, the code that it shows, or how it becomes one. */
function list(question, whose) {
  let wantsCode = false;
  for (const button of document.querySelectorAll("button[form=edna-devices]")) button.addEventListener("click", () => (wantsCode = true));
  const work = async ({ sodium }) => {
    const hasAsked = wantsCode;
    if (hasAsked) await another(sodium, question.server, whose);
    wantsCode = false;
    await look(sodium, question.server, whose);
    if (hasAsked) goTo(part("code").querySelector("h2"));
  };
  const opens = () => ({});
  hideAll();
  question.ask(work, { opens });
  question.run(opens);
}

function hideAll() {
  for (const name of ["list", "due", "only", "removed", "code", "none"]) part(name).hidden = true;
}

async function look(sodium, server, whose) {
  hideAll();
  try {
    await show((await ownDevice(sodium, server, whose)).own);
  } catch (error) {
    if (error instanceof DeviceRemoved || error instanceof DeviceGroupEnded) {
      await forgetRemoved(sodium, server, whose);
      part("removed").hidden = false;
    } else if (!(error instanceof DeviceUnknown)) throw error;
    const waiting = storedOf(whose).find(({ code, until }) => code && until > Date.now());
    document.getElementById("edna-device-code").textContent = waiting?.code ?? "";
    part(waiting ? "code" : "none").hidden = false;
    if (waiting) await draw(document.querySelector("[data-edna-picture]"), waiting.code);
  }
}

async function show(own) {
  if ((await own.members()).some(({ isOwn, month }) => isOwn && month !== new Date().toISOString().slice(0, 7))) await own.catchUp();
  const members = await own.members();
  const cards = members.map((each) => {
    const [own, other] = ["own", ""].map((kind) => document.querySelector(`template[data-edna-card="${kind}"]`));
    const card = filled(each.isOwn ? own : other, { id: toHex(each.id), name: each.name || "?", month: monthOf(each.month) });
    if (!each.month) card.querySelector("[data-edna-seen]").remove();
    return card;
  });
  document.querySelector("[data-edna-cards]").replaceChildren(...cards);
  document.querySelector("[data-edna-group-code]").textContent = own.groupCode;
  part("due").hidden = !own.isUpdateDue;
  part("only").hidden = members.length > 1;
  part("list").hidden = false;
}

function monthOf(month) {
  const [year, number] = month.split("-").map(Number);
  const how = { month: "long", year: "numeric", timeZone: "UTC" };
  return month && new Intl.DateTimeFormat(document.documentElement.lang || undefined, how).format(new Date(Date.UTC(year, number - 1)));
}

/** A code in the place of the former one of this browser, of which nothing is kept. */
async function another(sodium, server, whose) {
  for (const former of storedOf(whose).filter(({ code }) => code)) await gone(sodium, server, former);
  const fresh = freshKey(sodium, whose);
  const code = await beginDevice(sodium, server, parsePair(sodium, fresh.text));
  keep({ ...fresh, isNew: false, code, until: Date.now() + CODE_LASTS_MS });
}

async function forgetRemoved(sodium, server, whose) {
  for (const each of storedOf(whose).filter(({ isNew, code }) => !isNew && !code)) await gone(sodium, server, each);
}

async function gone(sodium, server, entry) {
  await forget(sodium, server, parsePair(sodium, entry.text));
  drop(entry);
}

/** This browser becomes a device, and the key one that devices have. */
function first(question, whose) {
  const { form, server } = question;
  const work = async ({ sodium, key, identifier = null, password = null }) => {
    await question.words(key);
    question.says("walking");
    const fresh = freshKey(sodium, whose);
    const kept = form.elements.keep_password.checked ? { identifier, password } : {};
    const ways = { name: form.elements.name.value, stretch: question.stretch, ...kept };
    await create(sodium, server, key, { pair: parsePair(sodium, fresh.text), ...ways });
    for (const former of storedOf(whose).filter(({ name }) => name !== fresh.name)) drop(former);
    keep({ ...fresh, isNew: false });
    location.assign(document.querySelector("[data-edna-next]").dataset.ednaNext);
    return "leaves";
  };
  question.ask(work);
}

/** What a device does about itself or another one. */
function of(question, { whose, act }) {
  const { form, server, secrets } = question;
  const leave = () => {
    location.assign(form.dataset.ednaNext);
    return "leaves";
  };
  /** Which device it is about; null if it is gone meanwhile. */
  const meant = async (own) => (await own.members()).find(({ id, isOwn }) => toHex(id) === location.hash.slice(1) && isOwn === (act === "update")) ?? null;
  /** The password may open the new key, too, if it opens this one. */
  const ways = async (sodium, own) => {
    if (!secrets.password?.value) return {};
    const given = { identifier: question.identifier(), password: secrets.password.value, stretch: question.stretch };
    await openByPassword(sodium, server, { ...given, publicKey: own.key.publicKey });
    return given;
  };
  const acts = {
    async add({ own }) {
      await own.add(form.elements.code.value, { name: form.elements.name.value });
      return leave();
    },
    async paper({ sodium, own }) {
      const pair = newKey(sodium);
      await own.add(await beginDevice(sodium, server, pair), { name: form.elements.name.value });
      document.getElementById("edna-device-key").textContent = secretKeyText(sodium, pair);
    },
    async rename({ own }) {
      const members = await own.members();
      const device = members.find(({ id }) => toHex(id) === location.hash.slice(1));
      if (device) await own.rename(device.id, form.elements.name.value);
      return leave();
    },
    async remove({ sodium, own }) {
      const device = await meant(own);
      if (device === null) return leave();
      await own.remove(device.id, await ways(sodium, own));
    },
    async update({ sodium, own, entry }) {
      const given = await ways(sodium, own);
      const fresh = freshKey(sodium, whose);
      await update(sodium, server, own.pair, parsePair(sodium, fresh.text), given);
      drop(entry);
      keep({ ...fresh, isNew: false });
    },
  };
  const work = async (opened) => {
    question.says("sending");
    if ((await acts[act](opened)) === "leaves") return "leaves";
    question.forget();
    document.querySelectorAll("[data-edna-before-done]").forEach((each) => (each.hidden = true));
    part("done").hidden = false;
    goTo(part("done").querySelector("p"));
  };
  const opens = async (sodium) => ({ sodium, ...(await ownDevice(sodium, server, whose)) });
  question.ask(work, { opens });
  if (["rename", "remove", "update"].includes(act)) named(question, { opens, act }).catch((error) => question.tell(error));
}

/** The page says which device it is about. */
async function named(question, { opens, act }) {
  const { own } = await opens(await loadSodium());
  const device = (await own.members()).find(({ id }) => toHex(id) === location.hash.slice(1));
  if (!device) return location.assign(question.form.dataset.ednaNext);
  document.querySelector("[data-edna-name]").textContent = `: ${device.name || "?"}`;
  if (act === "rename") question.form.elements.name.value = device.name;
}
