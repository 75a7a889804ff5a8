/** What is hidden: read and shown in this page. The site is told neither what there is nor since when. */

import { PolicyError } from "../base/errors.js";
import { parseReceipt } from "../locator.js";
import { walk } from "../graph.js";
import { goTo } from "./focus.js";
import { counted, dayOf, filled } from "./said.js";

export function begin(question) {
  const { form } = question;
  question.ask(async ({ sodium, key }) => {
    question.says("walking");
    const receipts = (form.elements.receipts?.value ?? "").split("\n").filter((line) => line.trim());
    const graph = await walk(sodium, key, { locators: receipts.map((text) => parseReceipt(sodium, text).locator), leavesBarred: true });
    const words = await question.words(key);
    question.forget();
    show(form, graph, words);
  });
}

function show(form, graph, words) {
  const page = document.querySelector("[data-edna-hidden]");
  const templates = Object.fromEntries([...page.querySelectorAll("template")].map((each) => [each.dataset.ednaTemplate, each]));
  const day = (moment) => dayOf(new Date(moment), page.dataset);
  const lines = (counts) => Object.entries(counts).map(([model, rows]) => counted(rows, model, words));
  const history = graph.history().filter(({ disguise }) => !words.others.includes(disguise));
  const shown = history.map((entry) => {
    const template = templates[entry.tried ? "tried" : "hidden"];
    const copy = filled(template, {
      title: titleOf(entry, words),
      day: day(entry.appliedAt),
      receipt: entry.receipt,
      held: words.held[entry.disguise] ?? "",
    });
    const list = copy.querySelector("[data-edna-lines]");
    list?.replaceChildren(...lines(entry.counts).map((line) => Object.assign(document.createElement("li"), { textContent: line })));
    if (!words.held[entry.disguise]) copy.querySelector("[data-edna-held]").remove();
    linkEdits(copy.querySelector("[data-edna-edits]"), entry, words);
    return copy;
  });
  const refused = [...graph.bags.values()].map((bag) => bag.refused).filter((error) => error !== null);
  const isBarred = refused.some((error) => error instanceof PolicyError);
  const isDamaged = refused.some((error) => !(error instanceof PolicyError));
  const notes = [isDamaged && "damaged", isBarred && "barred", !shown.length && !refused.length && "nothing"].filter(Boolean).map((name) => filled(templates[name], {}));
  page.querySelector("[data-edna-entries]").replaceChildren(...notes, ...shown);
  [form, ...document.querySelectorAll("[data-edna-before-list]")].forEach((part) => (part.hidden = true));
  page.hidden = false;
  goTo(page.querySelector("[data-edna-entries] :is(h2, p)"));
}

/** What the site calls it: by its parameters, or with them in their places. */
function titleOf({ disguise, params }, { titles, titles_of: byParams }) {
  const given = Object.entries(params ?? {});
  const isMeant = ([named]) => Object.entries(named).every(([name, value]) => String(params[name]) === String(value));
  const title = byParams[disguise]?.find(isMeant)?.[1] ?? titles[disguise] ?? called(disguise);
  return given.reduce((text, [name, value]) => text.replaceAll(`{${name}}`, () => String(value)), title);
}

/** Where rows are changed that stand on the site without their owner's name, as far as it has pages for that. */
function linkEdits(fold, { disowned }, words) {
  if (!fold) return;
  const links = Object.entries(disowned).flatMap(([model, keys]) => (words.edits[model] ? keys.map((key, at) => link(model, key, at, words)) : []));
  fold.querySelector("ul").replaceChildren(...links);
  if (!links.length) fold.remove();
}

function link(model, key, at, { edits, nouns }) {
  const dashed = String(key).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const [noun] = nouns[model] ?? nouns[""];
  const href = edits[model].replace("{key}", encodeURIComponent(key)).replace("{uuid}", dashed);
  const line = document.createElement("li");
  line.append(Object.assign(document.createElement("a"), { href, textContent: `${noun.charAt(0).toUpperCase()}${noun.slice(1)} ${at + 1}` }));
  return line;
}

/** The name of something whose code is gone, as people read it. */
function called(name) {
  const words = name.split(".").pop().replace(/[-_]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
