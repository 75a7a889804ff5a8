/** What a page of a site does with the modules; the test asks for it step by step. */

import * as custody from "/static/edna/js/custody.js";
import { toHex } from "/static/edna/js/base/bytes.js";
import { loadSodium } from "/static/edna/js/base/sodium.js";
import { makePasskey, passkeySecret } from "/static/edna/js/passkey.js";
import { Server } from "/static/edna/js/server.js";

globalThis.refused = [];
document.addEventListener("securitypolicyviolation", (event) => globalThis.refused.push(event.violatedDirective));

const sodium = await loadSodium();
const csrfToken = () => document.querySelector("meta[name=csrf-token]").content;
const server = new Server({ base: "/edna/", csrfToken });
let key = null;
let ticks = 0;
setInterval(() => ticks++, 5);

const shown = () => ({ public: toHex(key.publicKey), text: key.text() });

const steps = {
  async register(given) {
    const before = ticks;
    key = custody.makeKey(sodium, server);
    const code = await key.register(given);
    return { ...shown(), code, live: ticks - before > 2 };
  },
  async byPassword(given) {
    key = await custody.openByPassword(sodium, server, given);
    return shown();
  },
  async byCode(code) {
    key = await custody.openByCode(sodium, server, code);
    return shown();
  },
  async byText(text) {
    key = custody.openByText(sodium, server, text);
    return shown();
  },
  changePassword: (given) => key.changePassword(given),
  newRecoveryCode: () => key.newRecoveryCode(),
  async addPasskey(name) {
    const secret = await makePasskey(sodium, { name });
    await key.replaceSlot("passkey", secret);
    return toHex(secret);
  },
  async byPasskey() {
    key = await custody.openBySecret(sodium, server, await passkeySecret(sodium));
    return shown();
  },
};

globalThis.step = async (name, given) => {
  try {
    return { result: (await steps[name](given)) ?? null };
  } catch (error) {
    return { error: error.name, message: error.message };
  }
};
