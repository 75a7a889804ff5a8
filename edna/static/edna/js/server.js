/**
 * edna's HTTP interface, `api/1/`, as functions. Knows its addresses and errors; sends what it is given, and keeps nothing. Where the site is
 * busy, what only asks waits and asks again; what changes anything is sent once.
 */

import { fromBase64, toBase64 } from "./base/bytes.js";
import * as errors from "./base/errors.js";

/** What changes nothing, however often it is asked; a part of a new key takes the place of itself. */
const ASKING = new Set([
  "devices/records",
  "graph/bags",
  "graph/entries",
  "graph/export",
  "graph/plan-erasure",
  "graph/references",
  "keys/challenge",
  "keys/challenges",
  "keys/rotate-part",
  "keys/session",
  "slots/open",
  "slots/salt",
]);
const MOST_TRIES = 4;
/** Whoever would wait longer is told so instead. */
const LONGEST_WAIT_SECONDS = 20;

export class Server {
  #base;
  #csrfToken;

  /**
   * `base`: where `edna.urls` is included, "/privacy/" for example. `csrfToken`: Django's `{{ csrf_token }}`, or a function that returns it.
   * `hybrid`: whether new keys are of the hybrid kind, `EDNA["RECIPIENT"]`; the site refuses those of the other.
   */
  constructor({ base, csrfToken, hybrid = false }) {
    this.#base = base;
    this.#csrfToken = csrfToken;
    this.hybrid = hybrid;
  }

  /** How to stretch a password: as it is done now first, then as it may have been done before. */
  async stretchings(identifier) {
    const { stretchings } = await this.post("slots/salt", { identifier });
    return stretchings.map((each) => ({
      salt: fromBase64(each.salt),
      opslimit: each.opslimit,
      memlimitBytes: each.memlimit_bytes,
    }));
  }

  /**
   * For each lookup, a list of `{id, share, wrapped: [...]}`, one for each of the server's keys. What is wrapped in several databases of the site is
   * refused (DatabaseNotChosen), unless it may be `ofSeveral`: whoever asks tells by a receipt what is meant.
   */
  async find(lookups, { ofSeveral = false } = {}) {
    const { slots } = await this.post("slots/open", { lookups: lookups.map(toBase64), ...(ofSeveral ? { of_several: true } : {}) });
    return slots.map((keys) =>
      keys.map((one) => ({
        id: fromBase64(one.id),
        share: fromBase64(one.share),
        wrapped: one.wrapped.map(fromBase64),
      })),
    );
  }

  async challenge(publicKey) {
    return fromBase64((await this.post("keys/challenge", { public_key: toBase64(publicKey) })).challenge);
  }

  /** The same for many keys: `{challenges, inCommon}`, the latter if several people may own rows of this site. */
  async challenges(publicKeys) {
    const { challenges, in_common: inCommon } = await this.post("keys/challenges", { public_keys: publicKeys.map(toBase64) });
    return { challenges: challenges.map(fromBase64), inCommon };
  }

  /** A token, as a header has it. */
  async session(publicKey, opened) {
    return (await this.post("keys/session", { public_key: toBase64(publicKey), opened: toBase64(opened) })).token;
  }

  /** For whoever is logged in. */
  async register(publicKey, slots, token) {
    await this.post("keys/register", { public_key: publicKey, slots: slots.map(sent) }, token);
  }

  async replace(slots, token) {
    await this.post("slots/replace", { slots: slots.map(sent) }, token);
  }

  /** What an address answers. Throws the error that it names; with `.status`, and `.retryAfterSeconds` where the server says so. */
  async post(address, content, token = null) {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#send(address, content, token);
      } catch (error) {
        const seconds = error.status === 429 ? error.retryAfterSeconds : null;
        if (!seconds || seconds > LONGEST_WAIT_SECONDS || tries === MOST_TRIES || !ASKING.has(address)) throw error;
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      }
    }
  }

  async #send(address, content, token) {
    const csrfToken = typeof this.#csrfToken === "function" ? this.#csrfToken() : this.#csrfToken;
    const response = await fetch(`${this.#base}api/1/${address}`, {
      method: "POST",
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      headers: {
        "Content-Type": "application/json",
        "X-CSRFToken": csrfToken,
        ...(token === null ? {} : { "X-Edna-Key-Session": token }),
      },
      body: JSON.stringify(content),
    });
    const answer = await response.json().catch(() => null);
    if (response.ok && answer !== null) return answer;
    const { code, message } = answer?.error ?? {};
    const kind = Object.hasOwn(errors, code ?? "") ? errors[code] : errors.ServerRefused;
    const error = new kind(message ?? `The server answered with status ${response.status}; nothing more is known.`);
    error.code = code ?? null;
    error.status = response.status;
    error.retryAfterSeconds = Number(response.headers.get("Retry-After")) || null;
    throw error;
  }
}

/** A slot, as JSON has it. */
export function sent({ lookup, kind, wrapped }) {
  return { lookup: toBase64(lookup), kind, wrapped: toBase64(wrapped) };
}
