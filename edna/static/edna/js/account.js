/** What was opened of a file, as one JSON document for the person: rows by what was done to them. No key is in it. */

import { toBase64 } from "./base/bytes.js";
import { OPERATIONS } from "./bag.js";
import { SPEAKS_FOR } from "./locator.js";
import { plain } from "./values/plain.js";

const CHANGES = ["modify", "decorrelate"];

export function accountOf({ bags, contents, refused, unreached }) {
  return {
    format: "edna opened bags 1",
    bags: bags.map(bagOf),
    files: contents.map(({ model, field, name, content }) => ({ model, field, name, base64: toBase64(content) })),
    refused,
    unreached,
  };
}

function bagOf(payload) {
  const [kind, disguise, appliedAt, model, principal, params, , , , batches] = payload.value;
  const isSpeaksFor = Number(kind.value) === SPEAKS_FOR;
  return {
    disguise: disguise.value,
    applied_at: appliedAt.value,
    principal_model: model.value,
    principal: plain(principal),
    params: plain(params),
    records: batches.value.map(({ value }) => (isSpeaksFor ? voicesOf(value) : recordsOf(value))),
  };
}

function voicesOf([model, rows]) {
  const pairs = rows.value.map(({ value: row }) => ({ pseudoprincipal: plain(row[0]), stands_for: plain(row[3]) }));
  return { operation: "speaks for", model: model.value, rows: pairs };
}

function recordsOf([operation, model, , key, columns, rows]) {
  const word = OPERATIONS[Number(operation.value)];
  const [keys, names] = [key, columns].map((list) => list.value.map(({ value }) => value));
  const rowOf = ({ value: row }) => {
    if (word === "remove") return named(names, row);
    if (!CHANGES.includes(word)) return named([...keys, ...names], row);
    const [old, now] = [row.slice(keys.length, keys.length + names.length), row.slice(keys.length + names.length)];
    return { key: named(keys, row), old: named(names, old), new: named(names, now) };
  };
  return { operation: word, model: model.value, rows: rows.value.map(rowOf) };
}

function named(names, values) {
  return Object.fromEntries(names.map((name, at) => [name, plain(values[at])]));
}
