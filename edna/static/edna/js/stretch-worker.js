/** The worker of `stretch.js`: one password in, one slot secret out. */

import { loadSodium } from "./base/sodium.js";
import { stretched } from "./slots.js";

globalThis.onmessage = async ({ data: { password, ...how } }) => {
  try {
    globalThis.postMessage({ secret: stretched(await loadSodium(), password, how) });
  } catch (error) {
    globalThis.postMessage({ message: error.message });
  }
};
