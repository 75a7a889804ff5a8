/**
 * What is somebody's, as one document for JSON: docs/export-1.schema.json. The site says what stands in its tables; what is sealed is opened
 * here, and goes nowhere.
 */

import { OPERATIONS } from "./bag.js";
import { walk } from "./graph.js";
import { SHARED, SPEAKS_FOR, parseReceipt } from "./locator.js";
import { handedVoices, modelsIn } from "./reveal.js";
import { plain } from "./values/plain.js";

const STATES = { remove: "removed", modify: "changed", decorrelate: "disowned" };
const NOTHING_KNOWN = { people: {}, secret: [], booleans: [], documents: [], values: [], naming: [], placeholders: [] };

/** The document, as `edna.export` has it; whole numbers beyond 2^53 are texts. Throws what the server refuses with, HandoverRefused. */
export async function exportData(sodium, key, { graph = null, receipts = [] } = {}) {
  const locators = receipts.map((each) => parseReceipt(sodium, each).locator);
  const walked = graph ?? (await walk(sodium, key, { locators }));
  const handed = handedVoices(sodium, walked);
  const { format, made_at, rows, principals, models } = await key.ask("graph/export", { handed, models: modelsIn(walked) });
  const parts = [...walked.bags.values()].flatMap((bag) => bag.parts);
  parts.sort((one, other) => (appliedAt(one) < appliedAt(other) ? -1 : Number(appliedAt(one) > appliedAt(other))));
  const sealed = new Sealed(models, whoTheyAre(principals, parts), spokenFor(parts));
  for (const part of parts.filter(({ kind }) => kind !== SPEAKS_FOR)) sealed.add(part);
  leaveOutOthers(models, [...rows, ...sealed.rows], sealed.rows);
  const unopened = [...walked.bags.values()].filter(({ refused }) => refused).length;
  return { format, made_at, rows: [...rows, ...sealed.rows], files: sealed.files, blobs: sealed.blobs, unopened };
}

function appliedAt({ payload }) {
  return payload.value[2].value;
}

/** By model, the keys of the person and of those for whom they speak, as texts. */
function whoTheyAre(principals, parts) {
  const known = new Map(Object.entries(principals).map(([model, keys]) => [model, new Set(keys.map(sameKey))]));
  const note = (model, value) => known.set(model, (known.get(model) ?? new Set()).add(sameKey(value)));
  for (const { payload } of parts) {
    const [, , , model, principal] = payload.value;
    if (principal.type !== "null") note(model.value, principal.value);
  }
  for (const [model, keys] of spokenFor(parts)) for (const key of keys) note(model, key);
  return known;
}

/** By model, the keys of pseudoprincipals, as texts. */
function spokenFor(parts) {
  const spoken = new Map();
  for (const { payload } of parts.filter(({ kind }) => kind === SPEAKS_FOR)) {
    for (const { value: batch } of payload.value[9].value) {
      const [{ value: model }, { value: voices }] = batch;
      if (!spoken.has(model)) spoken.set(model, new Set());
      for (const { value: row } of voices) spoken.get(model).add(sameKey(row[0].value));
    }
  }
  return spoken;
}

/** Databases write a UUID with hyphens or without. */
function sameKey(value) {
  const text = String(value);
  return /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i.test(text) ? text.replace(/-/g, "").toLowerCase() : text;
}

/** What is in bags, as rows, files and contents of the document. */
class Sealed {
  rows = [];
  files = [];
  blobs = [];
  #models;
  #mine;
  #spoken;

  constructor(models, mine, spoken) {
    this.#models = models;
    this.#mine = mine;
    this.#spoken = spoken;
  }

  add({ kind, payload }) {
    const when = { disguise: payload.value[1].value || null, day: payload.value[2].value.slice(0, 10) };
    for (const { value: batch } of payload.value[9].value) {
      const [operation, model, , key, columns, rows] = batch;
      const word = OPERATIONS[Number(operation.value)];
      const names = columns.value.map(({ value }) => value);
      for (const { value: row } of rows.value) {
        if (STATES[word]) this.#addRow({ word, model: model.value, keys: key.value.map(({ value }) => value), names, row, kind, when });
        else if (word === "file") this.#addFile(model.value, row, when);
        else if (word === "blob") this.#addBlob(row, when);
      }
    }
  }

  #addRow({ word, model, keys, names, row, kind, when }) {
    const isRemoved = word === "remove";
    const old = isRemoved ? row : row.slice(keys.length, keys.length + names.length);
    // It says no more than that a disguise of somebody else lies over the row.
    if (kind === SHARED && !isRemoved && old.every(({ type }) => type === "null")) return;
    const about = this.#models[model] ?? NOTHING_KNOWN;
    if (this.#isPlaceholder(about, isRemoved ? names : [...keys, ...names], row)) return;
    const [cells, leftOut] = [{}, []];
    names.forEach((name, at) => {
      const isKept = old[at].type === "null" || !(this.#namesAnother(about, name, old[at]) || about.secret.includes(name));
      if (isKept) cells[name] = read(about, name, old[at]);
      else leftOut.push(name);
    });
    const key = (isRemoved ? keys.map((name) => row[names.indexOf(name)]) : row.slice(0, keys.length)).map(plain);
    this.rows.push({ model, key, state: STATES[word], ...when, columns: cells, left_out: leftOut });
  }

  /** The row of a pseudoprincipal, or one that was made beside it. */
  #isPlaceholder(about, layout, row) {
    return about.placeholders.some(([column, principals, byKey]) => {
      const spoken = this.#spoken.get(principals);
      const at = layout.indexOf(column);
      if (!spoken) return false;
      return at < 0 ? byKey && row[0].value < 0n : row[at].type !== "null" && spoken.has(sameKey(row[at].value));
    });
  }

  #namesAnother(about, name, { value }) {
    if (!Object.hasOwn(about.people, name)) return false;
    const principals = about.people[name];
    return principals === "" || !this.#mine.get(principals)?.has(sameKey(value));
  }

  #addFile(model, [, column, name, size], when) {
    this.files.push({ model, column: plain(column), name: plain(name), bytes: plain(size), ...when });
  }

  #addBlob([position, part, content], when) {
    this.blobs.push({ position: plain(position), part: plain(part), content: plain(content), ...when });
  }
}

/** Drivers give truth as a number, and documents as text. */
function read(about, name, value) {
  const shown = plain(value);
  const [column] = name.split("__");
  if (about.booleans.includes(column) && value.type === "int") return value.value !== 0n;
  if (!about.documents.includes(column) || value.type !== "str") return shown;
  try {
    return JSON.parse(shown);
  } catch {
    return shown;
  }
}

/** Columns that name their owner by value, where it is none of the person's values: they may name somebody else. */
function leaveOutOthers(models, all, sealed) {
  const compared = (value) => String(value).trim().toLowerCase();
  const known = new Set();
  for (const { model, columns } of all) {
    for (const name of models[model]?.values ?? []) if ((columns[name] ?? null) !== null) known.add(compared(columns[name]));
  }
  for (const row of sealed) {
    for (const name of models[row.model]?.naming ?? []) {
      if ([undefined, null, ""].includes(row.columns[name]) || known.has(compared(row.columns[name]))) continue;
      delete row.columns[name];
      row.left_out.push(name);
    }
  }
}
