/** The words of a page, which the site has put into it in the language of the visitor: `[data-edna-say]`, each by its name. */

import { EdnaError } from "../base/errors.js";

/** What the page's Content-Security-Policy forbade last. */
let forbidden = null;
document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => (forbidden = effectiveDirective));

const box = () => document.querySelector("[data-edna-says]");

/** `%(name)s` are places for values. */
export function said(name, values = {}) {
  const text = box()?.querySelector(`[data-edna-say="${CSS.escape(name)}"]`)?.textContent ?? null;
  return text && Object.entries(values).reduce((words, [place, value]) => words.replaceAll(`%(${place})s`, value), text);
}

/** A sentence about an error: that of its name, of the nearest class above it, or of all. */
export function explained(error) {
  if (["connect-src", "worker-src"].includes(forbidden) && !("code" in error)) return said("policy", { name: forbidden });
  if (error instanceof TypeError && !("code" in error)) return said("unreachable"); // that is how `fetch` says it
  if (error.status >= 502) return said("unreachable");
  if (error.code === "RequestRefused" && error.status === 403) return said("outdated");
  if (isUnsealed(error)) return said("unsealed");
  const names = [error.code, error.name];
  for (let kind = error; kind instanceof EdnaError; kind = Object.getPrototypeOf(kind)) names.push(kind.constructor.name);
  const known = [...names, "EdnaError"].find((name) => name && said(name) !== null);
  return said(known, { name: error.code ?? error.name, seconds: Math.max(2, error.retryAfterSeconds ?? 2) });
}

/** Whether it is about what was sealed before browsers kept keys on this site: a new key mends that. */
export function isUnsealed(error) {
  return error.name === "HandoverRefused" && error.status === undefined;
}

/** "2 notes", in the site's own nouns. */
export function counted(rows, model, { nouns, accounts, account, of }) {
  if (rows === 1 && accounts.includes(model)) return account;
  const [one, many] = nouns[model] ?? nouns[""];
  const number = new Intl.NumberFormat(document.documentElement.lang || undefined).format(rows);
  return of.replace("%(number)s", number).replace("%(noun)s", rows === 1 ? one : many);
}

/** A day as the site writes days: Django's format, and its names of the months in it. */
export function dayOf(moment, { ednaZone: timeZone, ednaDay: format, ednaMonths: months }) {
  const parts = new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", { timeZone, day: "numeric", month: "numeric", year: "numeric" }).formatToParts(moment);
  const [d, m, y] = ["day", "month", "year"].map((type) => parts.find((part) => part.type === type).value);
  const letters = { j: d, d: d.padStart(2, "0"), n: m, m: m.padStart(2, "0"), Y: y, y: y.slice(-2) };
  const month = months.split("|")[Number(m) - 1];
  return format.replace(/\\(.)|([A-Za-z])/g, (_, escaped, letter) => escaped ?? letters[letter] ?? month);
}

/** The copy of a `<template>` in whose texts and attributes `{name}` are replaced. */
export function filled(template, values) {
  const copy = template.content.cloneNode(true);
  const fill = (text) => Object.entries(values).reduce((words, [place, value]) => words.replaceAll(`{${place}}`, value), text);
  const nodes = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  while (nodes.nextNode()) {
    const { currentNode: node } = nodes;
    if (node.nodeType === Node.TEXT_NODE) node.data = fill(node.data);
    else for (const attribute of node.attributes) if (attribute.value.includes("{")) attribute.value = fill(attribute.value);
  }
  return copy;
}
