/** What a page with `form[data-edna-hands]` does when it is there: the form is asked for the key here, and what it does is one of these. */

import { Question } from "./question.js";

const ACTS = {
  proof: () => import("./acts.js"),
  voices: () => import("./acts.js"),
  receipt: () => import("./acts.js"),
  disguises: () => import("./acts.js"),
  return: () => import("./acts.js"),
  erase: () => import("./acts.js"),
  list: () => import("./list.js"),
  make: () => import("./key.js"),
  code: () => import("./key.js"),
  renew: () => import("./renew.js"),
  take: () => import("./take.js"),
  password: () => import("./ways.js"),
  passkey: () => import("./ways.js"),
  guardians: () => import("./guardians.js"),
  devices: () => import("./devices.js"),
  "device-first": () => import("./devices.js"),
  "device-add": () => import("./devices.js"),
  "device-paper": () => import("./devices.js"),
  "device-rename": () => import("./devices.js"),
  "device-remove": () => import("./devices.js"),
  "device-update": () => import("./devices.js"),
  "guardians-withdraw": () => import("./guardians.js"),
  "guardians-veto": () => import("./guardians.js"),
  "guardians-ask": () => import("./guardians.js"),
  "guardians-request": () => import("./guardians.js"),
};

for (const form of document.querySelectorAll("form[data-edna-hands]")) {
  const name = form.dataset.ednaHands;
  try {
    const question = new Question(form);
    const { begin } = await ACTS[name]();
    begin(question, name);
  } catch (error) {
    form.dataset.ednaFailed = "";
    throw error;
  }
}
