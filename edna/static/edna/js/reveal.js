/**
 * What a browser hands over for one act, instead of its owner's key: docs/decisions/0030-browser-custody.md. The server gets the keys of
 * the contents that this act needs, and neither a secret key nor the content of anything else.
 */

import { toBase64, toHex } from "./base/bytes.js";
import { HandoverRefused } from "./base/errors.js";
import { OPERATIONS } from "./bag.js";
import { halfTag, secretOf } from "./keys.js";
import { SHARED, SPEAKS_FOR, parseReceipt } from "./locator.js";
import { tagged } from "./values/tagged.js";
import { walk } from "./graph.js";

const CHANGES = ["modify", "decorrelate"];
/** The key of a row of any model. */
const ANY = ["", ""];

/** Takes back what the receipt says; the outcome as the site has it. Throws what the server refuses with, HandoverRefused, BagError. */
export async function reveal(sodium, key, receipt, { graph = null, overrides = {}, accept = [], acceptAll = false } = {}) {
  const handed = await handedForReceipts(sodium, key, [receipt], { graph });
  return key.ask("graph/reveal", { receipt, handed, overrides, accept, accept_all: acceptAll });
}

/** What is handed over to do something with what these receipts say; more of it if that `comesBack`. Throws HandoverRefused, BagError. */
export async function handedForReceipts(sodium, key, receipts, { graph = null, comesBack = true } = {}) {
  const locators = receipts.map((each) => parseReceipt(sodium, each).locator);
  const walked = graph ?? (await walk(sodium, key, { locators }));
  const refused = locators.flatMap((each) => walked.chunksOf(each)).map((each) => walked.bags.get(toHex(each))?.refused);
  const first = refused.find((error) => error);
  if (first) throw first;
  const { references, in_common: inCommon } = await referencesOf(key, walked);
  const wanted = needed(walked, locators, references);
  if (!comesBack || !mayBeOthers(walked, wanted, inCommon)) return handedFor(sodium, walked, wanted);
  return handedWithAll(sodium, walked, wanted, references);
}

/** Disguises, with what was disowned earlier; the receipt. Throws what the server refuses with, HandoverRefused. */
export async function disguise(sodium, key, name, { graph = null } = {}) {
  const walked = graph ?? (await walk(sodium, key));
  const handed = handedVoices(sodium, walked);
  return (await key.ask("graph/disguise", { disguise: name, handed })).receipt;
}

/** What `erase` would destroy: `{rows, pseudoprincipals, files, forgets}`. Changes nothing. Throws as `erase`. */
export async function planErasure(sodium, key, receipt, options = {}) {
  return key.ask("graph/plan-erasure", await handedForErasure(sodium, key, receipt, options));
}

/**
 * Destroys for good what the receipt leads to; what that was. If it `forgets`, nothing of the person is left, and the key opens nothing.
 *
 * Where receipts are kept by people alone, `receipts` are their others, and `receiptsComplete` says that these are all.
 * Throws what the server refuses with, HandoverRefused, BagError.
 */
export async function erase(sodium, key, receipt, options = {}) {
  return key.ask("graph/erase", await handedForErasure(sodium, key, receipt, options));
}

async function handedForErasure(sodium, key, receipt, { graph = null, receipts = [], receiptsComplete = false }) {
  const handed = await handedForReceipts(sodium, key, [receipt, ...receipts], { graph, comesBack: false });
  return { receipt, handed, receipts, receipts_complete: receiptsComplete };
}

/** The locators of what one act needs: of its receipts, of what lies over or under those, and of what speaks for those whose it is. */
export function needed(graph, locators, references) {
  const wanted = new Map(locators.flatMap((locator) => graph.chunksOf(locator)).map((each) => [toHex(each), each]));
  const parts = new Map([...graph.bags].map(([name, bag]) => [name, new Part(bag, references)]));
  for (let before = 0; before < wanted.size; ) {
    before = wanted.size;
    const spoken = new Set([...wanted.keys()].flatMap((name) => [...(parts.get(name)?.voices ?? [])]));
    const under = new Set(
      [...wanted.values()].flatMap((each) => graph.holdersOf(each).map((holder) => (holder.under ? toHex(holder.under) : ""))),
    );
    for (const [name, bag] of graph.bags) {
      if (wanted.has(name) || bag.refused) continue;
      const isTheirs = graph.holdersOf(bag.locator).some(({ pair }) => spoken.has(toHex(pair.publicKey)));
      const meets = [...wanted.keys()].some((other) => parts.has(other) && parts.get(name).meets(parts.get(other)));
      if (isTheirs || under.has(name) || meets) wanted.set(name, bag.locator);
    }
  }
  return [...wanted.values()];
}

/** Of the models that stand in bags, which columns refer to which rows: what lies over what depends on it. */
async function referencesOf(key, graph) {
  const models = modelsIn(graph);
  return models.length ? key.ask("graph/references", { models }) : { references: {}, in_common: [] };
}

/** The labels of all models that stand in bags. */
export function modelsIn(graph) {
  const models = new Set();
  for (const { payload, kind } of [...graph.bags.values()].flatMap(({ parts }) => parts)) {
    models.add(payload.value[3].value);
    for (const { value: batch } of payload.value[9].value) models.add(batch[kind === SPEAKS_FOR ? 0 : 1].value);
  }
  models.delete("");
  return [...models];
}

function openedOf(graph) {
  return [...graph.bags.values()].filter(({ refused }) => !refused).map(({ locator }) => locator);
}

/** What says for whom this person speaks, and nothing of what was disguised. Throws HandoverRefused. */
export function handedVoices(sodium, graph) {
  return handedFor(sodium, graph, openedOf(graph), { kinds: [SPEAKS_FOR] });
}

/** Whether others may own what was changed: then the site asks for all that may tell whether they are away. */
function mayBeOthers(graph, wanted, inCommon) {
  const parts = wanted.flatMap((locator) => graph.bags.get(toHex(locator))?.parts ?? []).filter(({ kind }) => kind !== SPEAKS_FOR);
  return parts.some(({ kind, payload }) =>
    payload.value[9].value.some(({ value: [operation, model] }) => {
      const word = OPERATIONS[Number(operation.value)];
      return word === "owner" || (word === "modify" && (kind === SHARED || inCommon.includes(model.value)));
    }),
  );
}

/** With all shared bags; and beside it where everything leads, and who speaks for whom. */
function handedWithAll(sodium, graph, wanted, references) {
  const all = openedOf(graph);
  const shared = all.filter((locator) => graph.bags.get(toHex(locator)).parts.some(({ kind }) => kind === SHARED));
  const whole = handedFor(sodium, graph, all, { kinds: [SPEAKS_FOR], everywhere: true });
  return { ...handedFor(sodium, graph, needed(graph, [...wanted, ...shared], references)), whole };
}

/** As the routes take it. Throws HandoverRefused where a bag has a secret key in the clear. */
export function handedFor(sodium, graph, locators, { kinds = null, everywhere = false } = {}) {
  const names = new Set(locators.map(toHex));
  const bags = [...graph.bags.values()].filter(({ locator }) => names.has(toHex(locator)));
  const parts = bags.flatMap((bag) => bag.parts.filter(({ kind }) => kind !== SHARED && (kinds?.includes(kind) ?? true)));
  if (bags.some(({ keysAreSealed }) => !keysAreSealed)) {
    throw new HandoverRefused(
      "Keys of placeholders were sealed before this site let browsers keep keys. Make a new key once, here or on the site; then try again.",
    );
  }
  if (bags.some(({ locator }) => graph.holdersOf(locator).some(({ items }) => items.some((item) => isUnsound(item, locator))))) {
    throw new HandoverRefused("A list has an item that the site did not make. Renew the key on the site once; then try again.");
  }
  const voices = new Map(parts.flatMap((part) => part.voices ?? []).map((pair) => [toHex(pair.publicKey), pair]));
  const holders = [...graph.holders].filter(([name, { under }]) => under === null || voices.has(name)).map(([, holder]) => holder);
  return {
    damaged: [...graph.bags.values()].some(({ refused }) => refused !== null),
    lists: holders.map(({ pair, stored, items }) => ({
      public_key: toBase64(pair.publicKey),
      items: toBase64(stored),
      locators: items.map((item) => handedLocator(graph, names, item, everywhere)),
      half: pair.seed ? toBase64(halfTag(sodium, pair)) : null,
    })),
    bags: parts.map(({ place, contentKey, succession }) => ({
      index: toBase64(place),
      content_key: toBase64(contentKey),
      ...(succession.length ? { succession: succession.map(toBase64) } : {}),
    })),
    voices: [...voices.values()].map((pair) => ({
      public_key: toBase64(pair.publicKey),
      sealed_key: toBase64(sodium.seal(secretOf(pair), graph.own.publicKey)),
    })),
  };
}

/** Null for what stays here, and for what the site did not put into the list: that may be anything. */
function handedLocator(graph, names, { locator, isSound }, everywhere) {
  if (!isSound) return null;
  const bag = graph.bags.get(toHex(locator));
  return everywhere || bag.isEmpty || (names.has(toHex(locator)) && !bag.refused) ? toBase64(locator) : null;
}

function isUnsound({ locator, isSound }, other) {
  return !isSound && locator !== null && toHex(locator) === toHex(other);
}

/** What tells whether bags lie over each other: rows, what is there or would be (removed rows, pseudoprincipals), who names it, pointers. */
class Part {
  rows = new Set();
  there = new Set();
  named = new Set();
  pointers = new Set();
  voices = new Set();
  #references;

  constructor({ parts }, references) {
    this.#references = references;
    for (const { kind, payload } of parts) {
      const [, , , model, principal] = payload.value;
      this.#add(this.named, this.#key(model.value), principal);
      for (const { value: batch } of payload.value[9].value) {
        if (kind === SPEAKS_FOR) this.#addVoices(batch);
        else this.#addRecords(batch);
      }
    }
  }

  meets(other) {
    const pairs = [
      [this.rows, other.rows],
      [this.there, other.named],
      [this.named, other.there],
      [this.pointers, other.pointers],
    ];
    return pairs.some(([these, those]) => [...these].some((each) => those.has(each)));
  }

  #addVoices([model, rows]) {
    for (const { value: row } of rows.value) {
      this.voices.add(toHex(row[1].value));
      this.#add(this.there, this.#key(model.value), row[0]);
      this.#add(this.named, this.#key(model.value), row[3]);
    }
  }

  #addRecords([operation, model, , key, columns, rows]) {
    const word = OPERATIONS[Number(operation.value)];
    if (word === "share") for (const { value: row } of rows.value) this.pointers.add(toHex(row[0].value));
    if (word !== "remove" && !CHANGES.includes(word)) return;
    const [keys, names] = [key, columns].map((list) => list.value.map(({ value }) => value));
    const layout = word === "remove" ? names : [...keys, ...names, ...names];
    for (const { value: row } of rows.value) {
      this.rows.add(JSON.stringify([model.value, ...keys.map((name) => tagged(row[layout.indexOf(name)]))]));
      row.forEach((value, at) => this.#addValue(word, model.value, layout[at], keys, value));
    }
  }

  #addValue(word, model, name, keys, value) {
    const target = this.#references[model]?.[name];
    if (target) this.#add(this.named, target, value);
    if (word !== "remove") return;
    this.#add(this.there, [model, name], value);
    if (keys.includes(name)) this.#add(this.there, ANY, value);
  }

  /** The column of the model's own key. */
  #key(model) {
    return this.#references[model]?.[""] ?? ["", model];
  }

  #add(values, [model, name], value) {
    if (["null", "bool", "list", "dict"].includes(value.type)) return;
    // A generic key may be a text where the row's is a number.
    const said = model === "" && name === "" ? String(value.value) : tagged(value);
    values.add(JSON.stringify([model, name, said]));
  }
}
