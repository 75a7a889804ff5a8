/** What is hidden: read and shown in this page. The site is told neither what there is nor since when. */

import { parseReceipt } from "../locator.js";
import { walk } from "../graph.js";
import { filled } from "./said.js";

export function begin(question) {
  const { form } = question;
  question.ask(async ({ sodium, key }) => {
    question.says("walking");
    const receipts = (form.elements.receipts?.value ?? "").split("\n").filter((line) => line.trim());
    const graph = await walk(sodium, key, { locators: receipts.map((text) => parseReceipt(sodium, text).locator) });
    const words = await question.words(key);
    question.forget();
    show(form, graph, words);
  });
}

function show(form, graph, words) {
  const page = document.querySelector("[data-edna-hidden]");
  const templates = Object.fromEntries([...page.querySelectorAll("template")].map((each) => [each.dataset.ednaTemplate, each]));
  const day = new Intl.DateTimeFormat(document.documentElement.lang || undefined, { dateStyle: "long", timeZone: page.dataset.ednaZone });
  const lines = (counts) => Object.entries(counts).map(([model, rows]) => counted(rows, model, words));
  const shown = graph.history().map((entry) => {
    const template = templates[entry.tried ? "tried" : "hidden"];
    const copy = filled(template, {
      title: words.titles[entry.disguise] ?? called(entry.disguise),
      day: day.format(new Date(entry.appliedAt)),
      receipt: entry.receipt,
    });
    const list = copy.querySelector("[data-edna-lines]");
    list?.replaceChildren(...lines(entry.counts).map((line) => Object.assign(document.createElement("li"), { textContent: line })));
    return copy;
  });
  const isDamaged = [...graph.bags.values()].some(({ refused }) => refused !== null);
  const notes = [isDamaged && "damaged", !shown.length && !isDamaged && "nothing"].filter(Boolean).map((name) => filled(templates[name], {}));
  page.querySelector("[data-edna-entries]").replaceChildren(...notes, ...shown);
  [form, ...document.querySelectorAll("[data-edna-before-list]")].forEach((part) => (part.hidden = true));
  page.hidden = false;
  page.querySelector("h2")?.focus();
}

/** "2 notes", in the site's own nouns. */
function counted(rows, model, { nouns, accounts, account, of }) {
  if (rows === 1 && accounts.includes(model)) return account;
  const [one, many] = nouns[model] ?? nouns[""];
  const number = new Intl.NumberFormat(document.documentElement.lang || undefined).format(rows);
  return of.replace("%(number)s", number).replace("%(noun)s", rows === 1 ? one : many);
}

/** The name of something whose code is gone, as people read it. */
function called(name) {
  const words = name.split(".").pop().replace(/[-_]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
