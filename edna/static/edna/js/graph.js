/**
 * What a key leads to: from its list to bags, from the voices in these to further lists. Walked by depth, with two requests for each, however
 * many bags and pseudoprincipals there are. Opens everything here; the site is told which lists and indexes are asked for, and nothing else.
 */

import { fromBase64, toBase64, toHex } from "./base/bytes.js";
import { BagError, BagMissing, PolicyError, ReceiptForeign, WrongKey } from "./base/errors.js";
import { OPERATIONS, SEALED_KEY_BYTES, openBag, voiceOf } from "./bag.js";
import { bodyNonce, contentKey, successionPieces } from "./container.js";
import { DIFF, SHARED, SPEAKS_FOR, chunk, index, isSiteItem, itemsIn, openItem, receiptText, sharedKey } from "./locator.js";
import { plain } from "./values/plain.js";

const KINDS = [DIFF, SPEAKS_FOR, SHARED];
const SEGMENTS_AT_ONCE = 4;
const ASKED_AT_ONCE = 500;
const MOST_DAMAGED_CHUNKS = 8;

/**
 * Walks from an `OpenKey`, and from the locators of receipts, if no list has them. Throws what the server refuses with, ReceiptForeign, and
 * PolicyError if something is barred; with `leavesBarred`, that is `refused` among the bags.
 */
export async function walk(sodium, key, { locators = [], leavesBarred = false } = {}) {
  const graph = new Graph(sodium, key.pair);
  await graph.follow(key, locators);
  graph.requireOwn(locators);
  const barred = [...graph.bags.values()].find(({ refused }) => refused instanceof PolicyError);
  if (barred && !leavesBarred) throw barred.refused;
  return graph;
}

export class Graph {
  #sodium;
  #listed = new Map();

  constructor(sodium, pair) {
    this.#sodium = sodium;
    this.own = pair;
    /** By public key: the pair, the list as it is stored, its items with their locators, and where the key lies. */
    this.holders = new Map();
    /** By locator: what opened (`parts`), why something did not (`refused`), and how many segments there should be. */
    this.bags = new Map();
  }

  async follow(key, locators) {
    let [people, wanted] = [[{ pair: this.own, under: null }], [...locators]];
    while (people.length || wanted.length) {
      if (people.length) wanted.push(...(await this.#list(key, people)));
      people = [];
      const found = wanted.length ? await this.#fetch(key, unique(wanted)) : [];
      wanted = [];
      for (const each of found) {
        const led = this.#open(each);
        people.push(...led.voices.filter(({ pair }) => !this.holders.has(toHex(pair.publicKey))));
        wanted.push(...led.shared.filter((locator) => !this.bags.has(toHex(locator))));
      }
    }
  }

  /** What a list of theirs leads to, and does not open, is damaged. Throws ReceiptForeign. */
  requireOwn(locators) {
    const isForeign = (locator) => !this.holdersOf(locator).length && this.bags.get(toHex(locator))?.refused instanceof WrongKey;
    if (locators.some(isForeign)) throw new ReceiptForeign("A receipt does not open with this key: it belongs to another person.");
  }

  /** The key pair of a pseudoprincipal for whom this person speaks, by the label of its model and its primary key; null if they do not. */
  voice(model, principal) {
    const isMeant = (holder) => holder.under !== null && holder.model === model.toLowerCase() && bare(holder.principal) === bare(principal);
    return [...this.holders.values()].find(isMeant)?.pair ?? null;
  }

  /** Holders in whose list a locator is. */
  holdersOf(locator) {
    return this.#listed.get(toHex(locator)) ?? [];
  }

  /** The locators of all chunks of a disguise that are left, the first included. */
  chunksOf(locator) {
    const found = [locator];
    for (let [number, last] = [1, 0]; number - last <= MOST_DAMAGED_CHUNKS; number++) {
      const next = chunk(this.#sodium, locator, number);
      if (!this.#listed.has(toHex(next))) continue;
      found.push(next);
      last = number;
    }
    return found;
  }

  /**
   * What is disguised now, newest first: `{receipt, disguise, appliedAt, params, records, counts, disowned}`; of chunks, one for all. `counts` are
   * rows by model, each once; `disowned` the keys of those that a placeholder has; `tried` says that something of it was brought back, and the rest waits.
   */
  history() {
    const firsts = new Map();
    const shown = [...this.bags.values()].filter(({ parts, refused }) => !refused && parts.some(({ kind }) => kind === DIFF));
    for (const { locator } of shown) {
      for (const later of this.chunksOf(locator).slice(1)) firsts.set(toHex(later), toHex(locator));
    }
    const entries = new Map();
    for (const { locator, parts } of shown) {
      const name = firsts.get(toHex(locator)) ?? toHex(locator);
      for (const { payload } of parts.filter(({ kind }) => kind === DIFF)) {
        const [, disguise, appliedAt, , , params] = payload.value;
        const made = { locator, disguise: disguise.value, appliedAt: appliedAt.value, params: plain(params), records: [], payloads: [] };
        const entry = entries.get(name) ?? made;
        if (name === toHex(locator)) entry.locator = locator;
        if (appliedAt.value < entry.appliedAt) entry.appliedAt = appliedAt.value;
        entry.records.push(...recordsOf(payload));
        entry.payloads.push(payload);
        entries.set(name, entry);
      }
    }
    return [...entries.values()]
      .map(({ locator, payloads, ...entry }) => ({
        receipt: receiptText(this.#sodium, { disguise: entry.disguise, locator }),
        ...entry,
        counts: countsOf(payloads),
        disowned: disownedOf(payloads),
        tried: entry.records.some(({ operation }) => operation === "listing"),
      }))
      .sort((one, other) => (one.appliedAt < other.appliedAt ? 1 : -1));
  }

  async #list(key, people) {
    const byName = new Map(people.map((person) => [toHex(person.pair.publicKey), person]));
    const locators = [];
    for (const some of portions([...byName.values()])) {
      const { lists } = await key.ask("graph/entries", { public_keys: some.map(({ pair }) => toBase64(pair.publicKey)) });
      for (const list of lists) {
        const person = byName.get(toHex(fromBase64(list.public_key)));
        const stored = fromBase64(list.items);
        const items = itemsIn(stored, person.pair).map((item) => this.#item(item, person.pair));
        const holder = { ...person, stored, items };
        this.holders.set(toHex(person.pair.publicKey), holder);
        for (const { locator } of items.filter(({ locator: each }) => each !== null)) {
          this.#listed.set(toHex(locator), [...this.holdersOf(locator), holder]);
          if (!this.#isOpen(locator)) locators.push(locator);
        }
      }
    }
    return locators;
  }

  /** The site made it of its locator if it `isSound`; anybody may have put another one there, to have it opened. */
  #item(item, pair) {
    try {
      const locator = openItem(this.#sodium, item, pair);
      return { locator, isSound: isSiteItem(this.#sodium, item, locator, pair) };
    } catch (error) {
      if (!(error instanceof WrongKey)) throw error;
      return { locator: null, isSound: false };
    }
  }

  #isOpen(locator) {
    const seen = this.bags.get(toHex(locator));
    return seen !== undefined && !seen.refused;
  }

  /** All stored segments under each locator: one request unless there are many. */
  async #fetch(key, locators) {
    const found = new Map(locators.map((locator) => [toHex(locator), { locator, stored: [] }]));
    let more = locators;
    for (let start = 0; more.length; start += SEGMENTS_AT_ONCE) {
      const places = new Map();
      for (const locator of more) {
        for (const kind of KINDS) {
          for (let sequence = start; sequence < start + SEGMENTS_AT_ONCE; sequence++) {
            const place = index(this.#sodium, locator, kind, sequence);
            places.set(toBase64(place), { locator, kind, sequence, place });
          }
        }
      }
      more = [];
      for (const some of portions([...places.keys()])) {
        for await (const bag of stored(key, some)) {
          const { locator, ...place } = places.get(bag.index);
          found.get(toHex(locator)).stored.push({ ...place, ...("error" in bag ? { barred: bag.error } : { sealed: fromBase64(bag.sealed) }) });
          if (place.sequence === start + SEGMENTS_AT_ONCE - 1) more.push(locator);
        }
      }
    }
    return [...found.values()];
  }

  #open({ locator, stored }) {
    const seen = { locator, parts: [], refused: null, isEmpty: stored.length === 0, keysAreSealed: true };
    this.bags.set(toHex(locator), seen);
    const led = { shared: [], voices: [] };
    const candidates = this.holdersOf(locator).map(({ pair }) => pair);
    if (!candidates.length) candidates.push(this.own);
    for (const part of stored.sort((one, other) => one.kind - other.kind || one.sequence - other.sequence)) {
      const opened = part.barred ? { error: barred(part.barred) } : this.#opened(locator, part, candidates);
      if (opened.error) seen.refused ??= opened.error;
      else seen.parts.push(opened);
    }
    const counts = seen.parts[0]?.payload.value[8].value.map((count) => Number(count.value));
    if (counts && !isWhole(seen.parts, counts)) seen.refused ??= new BagMissing("A bag of a disguise is not there any more.");
    if (!seen.refused) for (const part of seen.parts) this.#lead(seen, part, led);
    return led;
  }

  #opened(locator, { kind, sequence, place, sealed }, candidates) {
    const pairs = kind === SHARED ? [this.#sharedPair(locator)] : candidates;
    let refusal = null;
    for (const pair of pairs) {
      try {
        const payload = openBag(this.#sodium, sealed, { locator, kind, sequence, pair });
        const [nonce, succession] = [bodyNonce(sealed), successionPieces(this.#sodium, sealed, pair)];
        return { kind, sequence, place, sealed, payload, pair, contentKey: contentKey(this.#sodium, sealed, pair), nonce, succession };
      } catch (error) {
        if (!(error instanceof BagError)) throw error;
        if (refusal === null || refusal instanceof WrongKey) refusal = error;
      }
    }
    return { error: refusal };
  }

  #sharedPair(locator) {
    const secretKey = sharedKey(this.#sodium, locator);
    return { secretKey, publicKey: this.#sodium.publicKey(secretKey) };
  }

  #lead(seen, part, led) {
    part.voices = [];
    for (const { value: batch } of part.payload.value[9].value) {
      if (part.kind === SPEAKS_FOR) {
        for (const row of batch[1].value) {
          const pair = voiceOf(this.#sodium, row, [part.pair, this.own]);
          if (row.value[2].value.length !== SEALED_KEY_BYTES) seen.keysAreSealed = false;
          if (pair === null) continue;
          part.voices.push(pair);
          led.voices.push({ pair, under: seen.locator, model: batch[0].value, principal: plain(row.value[0]) });
        }
      } else if (OPERATIONS[Number(batch[0].value)] === "share") {
        for (const { value: row } of batch[5].value) led.shared.push(row[0].value);
      }
    }
  }
}

function isWhole(parts, counts) {
  const there = [0, 0];
  for (const { kind } of parts) there[kind === SPEAKS_FOR ? 1 : 0]++;
  return there.every((count, at) => count === counts[at]);
}

function recordsOf(payload) {
  return payload.value[9].value.map(({ value: [operation, model, , , , rows] }) => ({
    operation: OPERATIONS[Number(operation.value)],
    model: model.value,
    rows: rows.value.length,
  }));
}

/** Rows by model, each once; those of placeholders count nowhere. */
function countsOf(payloads) {
  const [rows, given, shared] = [{}, {}, {}];
  for (const { value: [, , , ownModel, own, , , , , batches] } of payloads) {
    for (const { value: [operation, { value: model }, , key, columns, found] } of batches.value) {
      const word = OPERATIONS[Number(operation.value)];
      if (word === "share") shared[model] = (shared[model] ?? 0) + found.value.reduce((sum, { value: row }) => sum + Number(row[1].value), 0);
      if (!["remove", "modify", "decorrelate", "blob"].includes(word)) continue;
      const [keys, names] = [key, columns].map((list) => list.value.map(({ value }) => value));
      const layout = word === "remove" ? names : keys;
      for (const { value: row } of found.value) {
        const values = keys.map((name) => plain(row[layout.indexOf(name)]));
        if (word === "remove" && model === ownModel.value && values.length === 1 && bare(values[0]) !== bare(plain(own))) continue;
        (rows[model] ??= new Set()).add(JSON.stringify(values));
        if (word === "decorrelate") (given[model] ??= new Set()).add(JSON.stringify(values));
      }
    }
  }
  for (const [model, number] of Object.entries(shared)) {
    const more = Math.max(0, number - (given[model]?.size ?? 0));
    for (let at = 0; at < more; at++) (rows[model] ??= new Set()).add(`shared ${at}`);
  }
  return Object.fromEntries(Object.entries(rows).map(([model, keys]) => [model, keys.size]));
}

/** By model, the keys of rows that were given to a placeholder; of rows with one column for a key. */
function disownedOf(payloads) {
  const found = {};
  for (const { value: batch } of payloads.flatMap(({ value }) => value[9].value)) {
    const [operation, { value: model }, , key, , rows] = batch;
    if (OPERATIONS[Number(operation.value)] !== "decorrelate" || key.value.length !== 1) continue;
    for (const { value: row } of rows.value) (found[model] ??= new Set()).add(plain(row[0]));
  }
  return Object.fromEntries(Object.entries(found).map(([model, keys]) => [model, [...keys].sort((one, other) => (one < other ? -1 : 1))]));
}

/** A primary key as text: of a UUID, with or without its dashes. */
function bare(key) {
  return String(key).length < 32 ? String(key) : String(key).replace(/-/g, "").toLowerCase();
}

function unique(locators) {
  return [...new Map(locators.map((locator) => [toHex(locator), locator])).values()];
}

/** What is there, asked for until nothing is left: an answer has only so many bytes. What is barred has an error in place of bytes. */
export async function* stored(key, indexes) {
  while (indexes.length) {
    const { bags, barred, left } = await key.ask("graph/bags", { indexes });
    yield* bags;
    yield* barred;
    indexes = left;
  }
}

export function barred(code) {
  return Object.assign(new PolicyError("Only another process of the site hands this bag out. Nothing is damaged."), { code });
}

function* portions(all) {
  for (let at = 0; at < all.length; at += ASKED_AT_ONCE) yield all.slice(at, at + ASKED_AT_ONCE);
}
