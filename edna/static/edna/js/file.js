/**
 * A file of sealed bags, opened without the site: docs/format.md, "File of sealed bags". Finds everything by itself, from the person's key.
 *
 * A bag that does not open keeps no other shut: it is said with its error. Sends nothing anywhere.
 */

import { concat, equal, fromBase64, fromHex, toHex } from "./base/bytes.js";
import { BagCorrupt, BagError, BagMissing, FileRefused, WrongCredentials, WrongKey } from "./base/errors.js";
import { OPERATIONS, openBag, voiceOf } from "./bag.js";
import { KEY_BYTES, pairWith, parsePair } from "./keys.js";
import { DIFF, SHARED, SPEAKS_FOR, index, itemBytes, openItem, sharedKey } from "./locator.js";
import { parseRecoveryCode } from "./slots.js";

const FORMAT = "edna sealed bags 1";
const PIECE_BYTES = 2n ** 20n;

/** The file as bytes by what names them. Throws FileRefused. */
export function readFile(text) {
  let document = null;
  try {
    document = JSON.parse(text);
  } catch {
    // said below
  }
  if (document?.format !== FORMAT) throw new FileRefused(`This is no file of the format "${FORMAT}".`);
  const publicKey = fromHex(document.public_key);
  const wrapped = document.wrapped === null ? null : fromBase64(document.wrapped);
  const lists = byName(document.lists, "public_key", "items");
  const bags = byName(document.bags, "index", "sealed");
  if (publicKey?.length !== KEY_BYTES || !lists || !bags || (document.wrapped !== null && !wrapped)) {
    throw new FileRefused("This file is not whole: a part of it is missing, or was changed.");
  }
  return { publicKey, wrapped, lists, bags };
}

function byName(rows, name, content) {
  if (!Array.isArray(rows)) return null;
  const found = new Map();
  for (const row of rows) {
    const bytes = typeof row?.[content] === "string" ? fromBase64(row[content]) : null;
    if (fromHex(row?.[name])?.length !== KEY_BYTES || !bytes) return null;
    found.set(row[name].toLowerCase(), bytes);
  }
  return found;
}

/**
 * The key pair of the person whose file it is, from what they typed: their secret key, or their recovery code.
 *
 * Throws KeyMalformed, RecoveryCodeMalformed, or WrongCredentials where it is somebody else's.
 */
export function keyOf(sodium, file, typed) {
  const pair = /^\s*edna-/i.test(typed) ? parsePair(sodium, typed) : fromCode(sodium, file, typed);
  if (pair === null || !equal(pair.publicKey, file.publicKey)) throw new WrongCredentials("This key is right, but this is not its file.");
  return pair;
}

function fromCode(sodium, { wrapped, publicKey }, typed) {
  const code = parseRecoveryCode(sodium, typed);
  if (wrapped === null) throw new WrongCredentials("This file opens with the secret key alone.");
  const key = sodium.blake2b(code, { person: "edna.recovery.2" });
  const associated = concat(wrapped.subarray(0, 1), publicKey);
  const secretKey =
    wrapped.length === 73 && wrapped[0] === 1
      ? sodium.decrypt(wrapped.subarray(25), { key, nonce: wrapped.subarray(1, 25), associated })
      : null;
  if (secretKey === null) throw new WrongCredentials("This recovery code does not open this file.");
  return pairWith(sodium, secretKey, publicKey);
}

/** Everything in the file that the key leads to: `bags`, `contents` (of files), `refused`, and how many were `unreached`. */
export function openFile(sodium, file, pair) {
  const walk = new Walk(sodium, file);
  walk.follow(pair);
  return walk.result();
}

class Walk {
  #sodium;
  #file;
  #own = null;
  #holders = new Set();
  /** By locator: what opened, and what did not, by its place. */
  #seen = new Map();
  #contents = [];
  #reached = new Set();

  constructor(sodium, file) {
    this.#sodium = sodium;
    this.#file = file;
  }

  /** From that key's list to everything; whoever is found on the way has a list as well. */
  follow(pair) {
    this.#own = pair;
    const waiting = [pair];
    while (waiting.length) {
      const holder = waiting.shift();
      const name = toHex(holder.publicKey);
      if (this.#holders.has(name)) continue;
      this.#holders.add(name);
      const locators = this.#listed(holder);
      while (locators.length) {
        const found = this.#open(locators.shift(), holder);
        locators.push(...found.shared);
        waiting.push(...found.voices);
      }
    }
  }

  result() {
    const all = [...this.#seen.values()];
    return {
      bags: all.flatMap(({ opened }) => [...opened.values()]),
      contents: this.#contents,
      refused: all.flatMap(({ refused }) => [...refused].map(([place, error]) => ({ index: place, error: error.name }))),
      unreached: this.#file.bags.size - this.#reached.size,
    };
  }

  #listed(holder) {
    const items = this.#file.lists.get(toHex(holder.publicKey)) ?? new Uint8Array(0);
    const locators = [];
    const size = itemBytes(holder);
    for (let at = 0; at + size <= items.length; at += size) {
      try {
        locators.push(openItem(this.#sodium, items.subarray(at, at + size), holder));
      } catch (error) {
        // Anybody may have put it there.
        if (!(error instanceof WrongKey)) throw error;
      }
    }
    return locators;
  }

  #open(locator, holder) {
    const name = toHex(locator);
    const seen = this.#seen.get(name) ?? { opened: new Map(), refused: new Map() };
    this.#seen.set(name, seen);
    const found = { shared: [], voices: [] };
    let counts = null;
    const there = [0, 0];
    for (const kind of [DIFF, SPEAKS_FOR, SHARED]) {
      for (let sequence = 0; ; sequence++) {
        const place = toHex(index(this.#sodium, locator, kind, sequence));
        const sealed = this.#file.bags.get(place);
        if (!sealed) break;
        this.#reached.add(place);
        there[kind === SPEAKS_FOR ? 1 : 0]++;
        if (seen.opened.has(place)) continue;
        try {
          const pair = kind === SHARED ? this.#sharedPair(locator) : holder;
          const payload = openBag(this.#sodium, sealed, { locator, kind, sequence, pair });
          seen.opened.set(place, payload);
          seen.refused.delete(place);
          counts = payload.value[8].value.map((count) => Number(count.value));
          this.#lead(payload, kind, found, holder);
        } catch (error) {
          if (!(error instanceof BagError)) throw error;
          if (!seen.refused.has(place) || seen.refused.get(place) instanceof WrongKey) seen.refused.set(place, error);
        }
      }
    }
    if (counts !== null && counts.some((count, at) => count !== there[at])) {
      seen.refused.set(toHex(index(this.#sodium, locator, DIFF, 0)), new BagMissing("A bag of a disguise is not in the file."));
    }
    return found;
  }

  #sharedPair(locator) {
    const secretKey = sharedKey(this.#sodium, locator);
    return { secretKey, publicKey: this.#sodium.publicKey(secretKey) };
  }

  /** Whom and what the records of a bag lead to. */
  #lead(payload, kind, found, holder) {
    for (const { value: batch } of payload.value[9].value) {
      if (kind === SPEAKS_FOR) {
        for (const row of batch[1].value) {
          const voice = voiceOf(this.#sodium, row, [holder, this.#own]);
          if (voice !== null) found.voices.push(voice);
        }
      } else if (OPERATIONS[Number(batch[0].value)] === "share") {
        for (const { value: row } of batch[5].value) if (isLocator(row[0])) found.shared.push(row[0].value);
      } else if (OPERATIONS[Number(batch[0].value)] === "file" && batch[4].value.length === 4) {
        for (const { value: row } of batch[5].value) this.#content(batch[1].value, row);
      }
    }
  }

  #content(model, [locator, field, name, size, digest]) {
    if (!isLocator(locator) || size.type !== "int" || digest.type !== "bytes") return;
    const seen = { opened: new Map(), refused: new Map() };
    this.#seen.set(toHex(locator.value), seen);
    const pieces = [];
    for (let sequence = 0; BigInt(sequence) * PIECE_BYTES < size.value; sequence++) {
      const place = toHex(index(this.#sodium, locator.value, SHARED, sequence));
      const sealed = this.#file.bags.get(place);
      try {
        if (!sealed) throw new BagMissing("A piece of a file's content is not there.");
        this.#reached.add(place);
        const pair = this.#sharedPair(locator.value);
        pieces.push(pieceOf(openBag(this.#sodium, sealed, { locator: locator.value, kind: SHARED, sequence, pair })));
      } catch (error) {
        if (!(error instanceof BagError)) throw error;
        seen.refused.set(place, error);
        return;
      }
    }
    const content = concat(...pieces);
    if (equal(this.#sodium.blake2b(content, { person: "edna.file.1" }), digest.value)) {
      this.#contents.push({ model, field: field.value, name: name.value, content });
    } else {
      seen.refused.set(toHex(index(this.#sodium, locator.value, SHARED, 0)), new BagCorrupt("The content of a file was changed."));
    }
  }
}

function isLocator({ type, value }) {
  return type === "bytes" && value.length === KEY_BYTES;
}

function pieceOf(payload) {
  const row = payload.value[9].value[0]?.value[5]?.value[0]?.value;
  if (row?.[1]?.type !== "bytes") throw new BagCorrupt("A piece of a file's content has another shape.");
  return row[1].value;
}
