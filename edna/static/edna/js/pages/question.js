/**
 * The form that asks for the key: takes its submit, opens the key in this page, says meanwhile what goes on, and hands the open key to what the
 * page does with it.
 *
 * Keeps: what is typed into a field for a secret leaves this module as an open key alone; such a field has no name, so that no form sends it.
 * An open key is dropped when the work with it is done.
 */

import * as custody from "../custody.js";
import { WrongCredentials } from "../base/errors.js";
import { loadSodium } from "../base/sodium.js";
import { mayHavePasskey, passkeySecret } from "../passkey.js";
import { Server } from "../server.js";
import { inWorker } from "../stretch.js";
import { giveBack, goTo } from "./focus.js";
import { explained, isUnsealed, said } from "./said.js";

/** Something that somebody has left out or mistyped; `name` is that of what the page says, with `values` in their places. */
export class Mistake extends Error {
  constructor(name, values = {}) {
    super(name);
    this.name = name;
    this.values = values;
  }
}

/** Nothing is typed, and this browser brings a key along that the site uses: the form is the site's. */
const SITE = Symbol("site");

/** Which field it is about. */
const FIELDS = { code: "recovery_code", nobody: "identifier", short: "new_password", differ: "again", phrase: "phrase" };

export class Question {
  #busy = false;
  #again = null;
  #work = null;

  constructor(form) {
    this.form = form;
    this.secrets = Object.fromEntries([...form.querySelectorAll("[data-edna-secret]")].map((field) => [field.dataset.ednaSecret, field]));
    for (const field of Object.values(this.secrets)) field.removeAttribute("name");
    this.server = new Server({ base: form.dataset.ednaBase, csrfToken: () => form.elements.csrfmiddlewaretoken.value, hybrid: "ednaHybrid" in form.dataset });
  }

  /** `work({ sodium, key, password, identifier, passkey })` is done whenever the key was opened; `check({ byPasskey })` before, and throws a `Mistake`. */
  ask(work, { check = () => {}, opens = (sodium) => this.#open(sodium) } = {}) {
    this.#work = work;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run(opens, () => check({ byPasskey: false }));
    });
    const brought = this.form.querySelector("[data-edna-brought]");
    // Where the network is gone nothing is told of devices; whoever sends the form then hears of the network.
    if (brought) this.#isDevice().then((is) => (brought.hidden = !is), () => {});
    const passkey = this.form.querySelector("[data-edna-passkey]");
    if (passkey) {
      mayHavePasskey().then((may) => (passkey.hidden = !may));
      passkey.querySelector("button").addEventListener("click", () => {
        if (this.form.reportValidity()) this.run((sodium) => this.#openByPasskey(sodium), () => check({ byPasskey: true }));
      });
    }
    const file = this.form.querySelector("[data-edna-key-file]");
    if (file) file.hidden = false;
    const [sent, stays] = ["[data-edna-sent]", "[data-edna-stays]"].map((which) => this.form.querySelector(which));
    if (sent) sent.hidden = true;
    if (stays) stays.hidden = false;
    for (const part of document.querySelectorAll("[data-edna-by-site]")) part.hidden = true;
    for (const part of document.querySelectorAll("[data-edna-by-script]")) part.hidden = false;
    // While somebody types, there is time. What goes wrong is told when it is needed.
    this.form.addEventListener("focusin", () => loadSodium().catch(() => {}), { once: true });
    this.form.dataset.ednaReady = "";
    // Back from the next page.
    globalThis.addEventListener("pageshow", ({ persisted }) => persisted && this.#rest());
  }

  /** Open the key as `opens` says, and do the work. Nothing is done twice by a second click. */
  async run(opens, check = () => {}) {
    if (this.#again) return this.#goOn();
    if (this.#busy) return;
    this.#busy = true;
    const held = document.activeElement;
    this.forgetWhatWasSaid();
    this.#enable(false);
    let leaves = false;
    try {
      await check();
      const sodium = await loadSodium();
      const opened = await opens(sodium);
      leaves = opened === SITE ? this.#leaveToSite() : (await this.#work({ sodium, ...opened })) === "leaves";
    } catch (error) {
      await new Promise((resolve) => setTimeout(resolve)); // what a policy forbids is told a little later
      this.tell(error);
    }
    if (leaves) return;
    this.#rest();
    giveBack(held);
  }

  /** Show what goes on. */
  says(name) {
    const progress = this.form.querySelector("[data-edna-progress]");
    progress.hidden = false;
    progress.querySelector("[role=status]").textContent = said(name);
  }

  /** Say that it worked; the page stays. */
  done(name) {
    const result = this.form.querySelector("[data-edna-result]");
    result.textContent = said(name);
    result.hidden = false;
  }

  /** Until the button is pressed once more, by somebody who has seen what the page shows now. */
  pressedAgain() {
    this.#enable(true);
    this.form.querySelector("[data-edna-progress]").hidden = true;
    return new Promise((resolve) => (this.#again = resolve));
  }

  #goOn() {
    const go = this.#again;
    this.#again = null;
    this.#enable(false);
    go();
  }

  tell(error) {
    const problem = this.form.querySelector("[data-edna-problem]");
    problem.textContent = error instanceof Mistake ? said(error.name, error.values) : explained(error);
    problem.hidden = false;
    this.#offerNewKey(isUnsealed(error));
    if (error instanceof WrongCredentials && this.secrets.password?.value) this.#askFormerName();
    problem.scrollIntoView({ block: "nearest" });
    if (error instanceof Mistake && error.name in FIELDS) this.#show(FIELDS[error.name]);
    else goTo(problem);
  }

  /** With which a new password goes. Throws a Mistake. */
  identifier() {
    const { ednaIdentifier } = this.form.dataset;
    const typed = this.form.elements.identifier?.value.trim();
    if (!typed && !ednaIdentifier) throw new Mistake("nobody");
    return typed ? this.#identifierOf(typed) : ednaIdentifier;
  }

  /** With which the password of today goes: a name of before, where somebody has typed that. Throws a Mistake. */
  #identifierOfPassword() {
    const former = this.form.querySelector("[data-edna-former] input")?.value.trim();
    return former ? this.#identifierOf(former) : this.identifier();
  }

  #identifierOf(name) {
    return this.form.dataset.ednaIdentifierOfName.replace("{name}", () => name);
  }

  /** The site's words for what is hidden; that is refused with the key of another account than the one that is logged in. */
  words(key) {
    return key.ask("words", {});
  }

  /** Stretches in a worker, and says so. */
  stretch = (password, how) => {
    this.says("stretching");
    return inWorker(password, how);
  };

  /** Send the form as a page does, with `fields` besides: nothing of them stays in the page. What was typed to open the key is no part of it. */
  send(fields) {
    this.says("sending");
    this.forget();
    this.form.enctype = "multipart/form-data";
    this.form.addEventListener("formdata", ({ formData }) => Object.entries(fields).forEach(([name, value]) => formData.set(name, value)), {
      once: true,
    });
    this.form.submit();
    return "leaves";
  }

  forget() {
    for (const field of Object.values(this.secrets)) field.value = "";
    const file = this.form.querySelector("[data-edna-key-file] input");
    if (file) file.value = "";
  }

  async #open(sodium) {
    const { password, recovery_code: code, secret_key: text } = this.secrets;
    const [file] = this.form.querySelector("[data-edna-key-file] input")?.files ?? [];
    const given = [password, code, text].filter((field) => field?.value);
    if (given.length + (file ? 1 : 0) > 1) throw new Mistake("several");
    this.says("opening");
    if (file) return { key: await this.#ofPerson(sodium, custody.openByText(sodium, this.server, await textOf(file))) };
    if (given[0] === password && password) {
      const [identifier, typed] = [this.#identifierOfPassword(), password.value];
      const key = await custody.openByPassword(sodium, this.server, { identifier, password: typed, stretch: this.stretch, receipts: receiptsIn(this.form) });
      return { key: await this.#ofPerson(sodium, key), identifier: this.identifier(), password: typed };
    }
    if (given[0] === code && code) return { key: await this.#ofPerson(sodium, await custody.openByCode(sodium, this.server, code.value)) };
    if (given[0] === text && text) return { key: await this.#ofPerson(sodium, custody.openByText(sodium, this.server, text.value)) };
    if (await this.#isDevice()) {
      const { ownDevice } = await import("../devices/stored.js");
      return { key: (await ownDevice(sodium, this.server, this.form.dataset.ednaWhose)).own.key };
    }
    if (this.form.querySelector("[data-edna-site-opens]")) return SITE;
    throw new Mistake("none");
  }

  /** Send the form as it is; whether another page is the answer, and no file. */
  #leaveToSite() {
    this.form.submit();
    return this.form.dataset.ednaHands !== "take";
  }

  /** Whether this browser is a device of who is logged in; or of anybody, where somebody comes back who cannot log in. */
  async #isDevice() {
    const { ednaWhose: whose, ednaHands: hands } = this.form.dataset;
    if (whose === undefined || (!whose && hands !== "return")) return false;
    const { storedOf } = await import("../devices/stored.js");
    return storedOf(whose).some(({ isNew }) => !isNew);
  }

  /** The key of a device, on paper say, opens that of its person. */
  async #ofPerson(sodium, key) {
    if (this.form.dataset.ednaWhose === undefined) return key;
    const { OwnDevice, isKnown } = await import("../devices/acts.js");
    return (await isKnown(sodium, this.server, key.pair)) ? (await OwnDevice.open(sodium, this.server, key.pair)).key : key;
  }

  async #openByPasskey(sodium) {
    this.says("opening");
    const secret = await passkeySecret(sodium);
    return { key: await custody.openBySecret(sodium, this.server, secret), passkey: secret };
  }

  /** A field, out of the fold that it may lie in. */
  #show(name) {
    const field = this.secrets[name] ?? this.form.elements[name];
    const fold = field?.closest("details");
    if (fold) fold.open = true;
    field?.focus({ preventScroll: true });
  }

  forgetWhatWasSaid() {
    this.form.querySelectorAll("[role=alert]:not([data-edna-problem])").forEach((alert) => alert.remove());
    this.form.querySelectorAll(".edna-wrong").forEach((field) => field.classList.remove("edna-wrong"));
    for (const said of this.form.querySelectorAll("[data-edna-problem], [data-edna-result], [data-edna-goes], [data-edna-told]")) said.hidden = true;
    this.#offerNewKey(false);
  }

  #offerNewKey(isNeeded) {
    const way = this.form.querySelector("[data-edna-renews]");
    if (way) way.hidden = !isNeeded;
  }

  /** The name may be another one than when the password was set: nobody but them can tell. */
  #askFormerName() {
    const box = this.form.querySelector("[data-edna-former]");
    if (box) box.hidden = false;
  }

  #rest() {
    this.#busy = false;
    this.#enable(true);
    this.form.querySelector("[data-edna-progress]").hidden = true;
  }

  #enable(isReady) {
    for (const button of this.form.querySelectorAll("button")) button.disabled = !isReady;
  }
}

/** The receipts that somebody has typed, or a page has put there. */
export function receiptsIn(form) {
  const named = [form.elements.receipt, form.elements.what].map((field) => field?.value ?? "").filter((text) => text.startsWith("edna1:"));
  const typed = [...named, ...(form.elements.receipts?.value ?? "").split("\n")];
  return typed.map((text) => text.trim()).filter(Boolean);
}

/** The key in a file, whatever else stands there. */
async function textOf(file) {
  const text = await file.text();
  return text.match(/edna-secret-key-[12]:(?:\s*[a-z2-7]){58}/i)?.[0] ?? text;
}
