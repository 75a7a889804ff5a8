/**
 * A person's key, made and used in their browser: registered, opened by password, recovery code or its text, and its slots replaced.
 *
 * Keeps: the server is told public keys, lookups, kinds of slots and sealed bytes. Password, secret key, recovery code and slot secret leave this module
 * through its return values alone. Knows no page: whoever calls shows the recovery code, and asks for the password.
 */

import { ascii, equal, fromBase64, toBase64, toHex } from "./base/bytes.js";
import { DatabaseBusy, KeyNotProved, NotYours, WrongCredentials } from "./base/errors.js";
import { publicKey as checkedPublicKey, newPair, parsePair, secretKeyText, wholePublicKey } from "./keys.js";
import * as slots from "./slots.js";
import { inWorker } from "./stretch.js";

const CHALLENGE_PREFIX = ascii("edna key proof 1");
const CHALLENGE_BYTES = 72;
/** A token counts for fifteen minutes; it is asked for anew before. */
const TOKEN_LASTS_MS = 12 * 60 * 1000;

const CHALLENGES_AT_ONCE = 500;

/** The server could have us open a box of a bag, and would be told its key. Throws KeyNotProved. */
function openedChallenge(sodium, sealed, { publicKey, secretKey }) {
  const opened = sodium.openSealedBox(sealed, publicKey, secretKey);
  const isOne = opened?.length === CHALLENGE_BYTES && equal(opened.subarray(0, CHALLENGE_PREFIX.length), CHALLENGE_PREFIX);
  if (!isOne) throw new KeyNotProved("The server sent something else than a challenge; nothing was sent back.");
  return opened;
}

/** A key that is open in this page. */
export class OpenKey {
  #sodium;
  #server;
  #token = null;
  #provedAt = 0;
  #voices = new Map();

  constructor(sodium, server, pair) {
    this.#sodium = sodium;
    this.#server = server;
    this.pair = pair;
  }

  get publicKey() {
    return this.pair.publicKey;
  }

  /** For its owner to keep: who has it needs nothing else. */
  text() {
    return secretKeyText(this.#sodium, this.pair);
  }

  /** What goes into the header of requests that act for this key; kept in memory for some minutes. */
  async token() {
    if (this.#token === null || Date.now() - this.#provedAt > TOKEN_LASTS_MS) {
      const sealed = await this.#server.challenge(this.publicKey);
      this.#token = await this.#server.session(this.publicKey, openedChallenge(this.#sodium, sealed, this.pair));
      this.#provedAt = Date.now();
    }
    return this.#token;
  }

  /** What the server answers to a request that acts for this key. */
  async ask(address, content) {
    return this.#acting((token) => this.#server.post(address, content, token));
  }

  /** Once more with a new token where the session has ended to which the present one belonged: nothing was changed then. */
  async #acting(act) {
    const token = await this.token();
    try {
      return await act(token);
    } catch (error) {
      if (!(error instanceof KeyNotProved) || error.status === undefined) throw error;
      this.#token = null;
      return act(await this.token());
    }
  }

  /**
   * A header for requests of the next minutes: with it this browser speaks for a pseudoprincipal, whose row the site names. `graph` is what
   * `walk` found. The pseudoprincipal's key is proved as any is, and stays here. Throws NotYours.
   */
  async speakFor(graph, model, principal) {
    const pair = graph.voice(model, principal);
    if (pair === null) throw new NotYours("This key does not speak for whom this belongs to.");
    const name = toHex(pair.publicKey);
    if (!this.#voices.has(name)) this.#voices.set(name, new OpenKey(this.#sodium, this.#server, pair));
    return { "X-Edna-Voice-Token": await this.#voices.get(name).token() };
  }

  /** After a log-in, which ends the session of the key. */
  forgetToken() {
    this.#token = null;
    this.#voices.clear();
  }

  /** Put a slot of a new password in the place of the present one. */
  async changePassword({ identifier, password, stretch = inWorker }) {
    const made = await this.passwordSlot({ identifier, password, stretch });
    await this.#replace(made);
  }

  /** The text of a new recovery code; the former one opens nothing any more. */
  async newRecoveryCode() {
    const { made, text } = await this.#codeSlot();
    await this.#replace(made);
    return text;
  }

  /** Put a slot in the place of the present one of that kind: of a passkey, say. */
  async replaceSlot(kind, secret) {
    await this.#replace(await this.#slot(kind, secret));
  }

  /** A slot that is kept nowhere yet, of 32 bytes that open it. */
  async makeSlot(kind, secret) {
    return this.#slot(kind, secret);
  }

  async #replace(made) {
    await this.#acting((token) => this.#server.replace([made], token));
  }

  /** Register this key for whoever is logged in; returns the recovery code's text. Without a password there is no slot of one. */
  async register(given = {}) {
    const { slots: made, code } = await this.makeSlots(given);
    const whole = toBase64(wholePublicKey(this.#sodium, this.pair));
    await this.#acting((token) => this.#server.register(whole, made, token));
    return code;
  }

  /** Slots of this key that are kept nowhere yet, and the text of the recovery code of one of them. */
  async makeSlots({ identifier = null, password = null, passkeySecret = null, stretch = inWorker } = {}) {
    const { made, text } = await this.#codeSlot();
    const all = [made];
    if (password !== null) all.push(await this.passwordSlot({ identifier, password, stretch }));
    if (passkeySecret !== null) all.push(await this.#slot("passkey", passkeySecret));
    return { slots: all, code: text };
  }

  /** Another key for the same person, of the kind that the site gives now. */
  successor() {
    return makeKey(this.#sodium, this.#server);
  }

  /** Another key for the same person, that somebody else has made. */
  with(pair) {
    return new OpenKey(this.#sodium, this.#server, pair);
  }

  /** Another key pair for one of their placeholders, of that kind, too. */
  newPair() {
    return newPair(this.#sodium, this.#server);
  }

  /** What proves that one has these key pairs: `proved`, by the hexadecimal text of the public key, is what a challenge to it holds. */
  async proofs(pairs) {
    const proved = new Map();
    let inCommon = false;
    for (let at = 0; at < pairs.length; at += CHALLENGES_AT_ONCE) {
      const some = pairs.slice(at, at + CHALLENGES_AT_ONCE);
      const { challenges, ...said } = await this.#server.challenges(some.map(({ publicKey }) => publicKey));
      inCommon = said.inCommon;
      some.forEach((pair, number) => proved.set(toHex(pair.publicKey), openedChallenge(this.#sodium, challenges[number], pair)));
    }
    return { proved, inCommon };
  }

  /** A slot of a password, to be sent along with something else that is done. */
  async passwordSlot({ identifier, password, stretch }) {
    const [first] = await this.#server.stretchings(identifier);
    return this.#slot("password", await stretch(password, first));
  }

  async #codeSlot() {
    const code = this.#sodium.random(16);
    const made = await this.#slot("recovery", slots.recoverySecret(this.#sodium, code));
    return { made, text: slots.recoveryCodeText(this.#sodium, code) };
  }

  async #slot(kind, secret) {
    const lookup = slots.lookup(this.#sodium, secret);
    const [[{ id, share }]] = await this.#server.find([lookup]);
    return {
      lookup,
      kind,
      wrapped: slots.lockSlot(this.#sodium, this.pair, { secret, id, share }),
    };
  }
}

/** A new key, of the kind that the site gives. It exists nowhere else until it is registered. */
export function makeKey(sodium, server) {
  const key = new OpenKey(sodium, server, newPair(sodium, server));
  checkedPublicKey(key.publicKey);
  return key;
}

/** Throws KeyMalformed. */
export function openByText(sodium, server, text) {
  return new OpenKey(sodium, server, parsePair(sodium, text));
}

/** Throws RecoveryCodeMalformed, WrongCredentials, DatabaseBusy. */
export async function openByCode(sodium, server, text) {
  const code = slots.parseRecoveryCode(sodium, text);
  return openBySecret(sodium, server, slots.recoverySecret(sodium, code));
}

/**
 * Throws WrongCredentials: for whoever is unknown, too. Where two people chose the same, `publicKey` says whose is meant, or one of the `receipts`
 * does. On a site with several databases DatabaseNotChosen, where these are in two of them and nothing tells; and DatabaseBusy, where one is away.
 * Slots of version 1, which an earlier release made, open on the server alone; once they did, they open here.
 */
export async function openByPassword(sodium, server, { identifier, password, stretch = inWorker, publicKey = null, receipts = [] }) {
  let away = null;
  for (const each of await server.stretchings(identifier)) {
    const secret = await stretch(password, each);
    try {
      const found = await opened(sodium, server, secret, { ofSeveral: receipts.length > 0 });
      if (found.length) return await chosen(sodium, server, found, { publicKey, receipts, secret });
    } catch (error) {
      if (!(error instanceof DatabaseBusy)) throw error;
      away = error; // another one may have what was made otherwise
    }
  }
  throw away ?? new WrongCredentials("These credentials open nothing here; check both parts and try again.");
}

/** By 32 bytes that a slot was made with: those of a passkey, say. Throws WrongCredentials. */
export async function openBySecret(sodium, server, secret) {
  const found = await opened(sodium, server, secret);
  if (!found.length) throw new WrongCredentials("These credentials open nothing here; check both parts and try again.");
  return chosen(sodium, server, found);
}

async function chosen(sodium, server, pairs, { publicKey = null, receipts = [], secret = null } = {}) {
  const keys = pairs.map((pair) => new OpenKey(sodium, server, pair));
  if (keys.length === 1) return keys[0];
  const meant = keys.find((key) => publicKey !== null && equal(key.publicKey, publicKey)) ?? (await listing(sodium, keys, receipts));
  if (meant === null && receipts.length) await server.find([slots.lookup(sodium, secret)]); // refused, where they are of several databases
  return meant ?? keys[0];
}

/** The one of the keys in whose list one of the receipts is; null if none is. Throws ReceiptMalformed. */
async function listing(sodium, keys, receipts) {
  if (!receipts.length) return null;
  const { isListed, parseReceipt } = await import("./locator.js");
  const locators = receipts.map((text) => parseReceipt(sodium, text).locator);
  for (const key of keys) {
    const { lists } = await key.ask("graph/entries", { public_keys: [toBase64(key.publicKey)] });
    if (lists.some(({ items }) => locators.some((locator) => isListed(sodium, locator, fromBase64(items), key.pair)))) return key;
  }
  return null;
}

async function opened(sodium, server, secret, options = {}) {
  const [keys] = await server.find([slots.lookup(sodium, secret)], options);
  const found = [];
  for (const { id, share, wrapped } of keys) {
    for (const each of wrapped) {
      try {
        found.push(slots.openWithShare(sodium, { id, wrapped: each }, secret, share));
      } catch (error) {
        if (!(error instanceof WrongCredentials)) throw error; // changed by somebody; others of the same id may open
      }
    }
  }
  return found;
}
