/** Forms of the site that take a handover in the place of the key: the site answers them as it does without scripts, with a page. */

import { handedFor, handedForReceipts, handedVoices } from "../reveal.js";
import { parseReceipt } from "../locator.js";
import { sent } from "../server.js";
import { walk } from "../graph.js";
import { Mistake, receiptsIn } from "./question.js";
import { counted, dayOf, filled } from "./said.js";

const PROOF = { lists: [], bags: [], voices: [], damaged: false };

export function begin(question, name) {
  const { form } = question;
  const work = async ({ sodium, key, ...opened }) => {
    const receipts = receiptsIn(form);
    question.says("walking");
    const graph = name === "proof" ? null : await walk(sodium, key, { locators: receipts.map((text) => parseReceipt(sodium, text).locator) });
    const acts = {
      proof: () => ({ handed: PROOF }),
      voices: async () => {
        await told(question, graph);
        return { handed: form.elements.also_earlier?.checked === false ? PROOF : handedVoices(sodium, graph) };
      },
      receipt: () => revealing(sodium, key, graph, receipts[0]),
      disguises: async () => ({ handed: await handedForAll(sodium, key, graph, form.dataset.ednaDisguises.split(" ")) }),
      erase: async () => {
        await agreed(question, graph, await question.words(key));
        return erasing(sodium, key, graph, form.elements.what.value);
      },
      return: () => revealing(sodium, key, graph, receipts[0] ?? departure(graph, form.dataset.ednaAccount)),
    };
    const { handed, ...more } = await acts[name]();
    const slots = await slotsUnder(question, key, opened);
    return question.send({
      handed: JSON.stringify(handed),
      key_session: await key.token(),
      ...(slots ? { slots: JSON.stringify({ slots }) } : {}),
      ...more,
    });
  };
  question.ask(work, { check: () => requirePhrase(form) });
}

/** Before the key is opened, as far as the page asks for a phrase; the site looks at it, too. Throws a Mistake. */
function requirePhrase({ elements: { phrase } }) {
  const bare = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
  if (phrase && bare(phrase.value) !== bare(phrase.dataset.ednaPhrase)) throw new Mistake("phrase", { phrase: phrase.dataset.ednaPhrase });
}

async function revealing(sodium, key, graph, receipt) {
  if (!receipt) return { handed: handedFor(sodium, graph, []) };
  return { receipt, handed: await handedForReceipts(sodium, key, [receipt], { graph }) };
}

/** All that came of the disguises with these names. */
function handedForAll(sodium, key, graph, names) {
  const receipts = graph.history().filter(({ disguise }) => names.includes(disguise)).map(({ receipt }) => receipt);
  return receipts.length ? handedForReceipts(sodium, key, receipts, { graph }) : handedFor(sodium, graph, []);
}

/**
 * Shows what is hidden, and since when, on a page with sentences for it (`[data-edna-told]`, a `<template>` for the disguises that it names): what
 * the site is not told. Goes on when the button is pressed once more.
 */
async function told(question, graph) {
  const box = question.form.querySelector("[data-edna-told]");
  const history = box ? graph.history() : [];
  const sentences = [...(box?.querySelectorAll("template") ?? [])].flatMap((template) => {
    const latest = history.find(({ disguise }) => template.dataset.ednaOf.split(" ").includes(disguise));
    return latest ? [filled(template, { day: dayOf(new Date(latest.appliedAt), box.dataset) })] : [];
  });
  if (!sentences.length) return;
  box.querySelector("ul").replaceChildren(...sentences);
  box.hidden = false;
  box.querySelector("p").focus();
  await question.pressedAgain();
}

/** Shows what of the hidden would go: of one receipt, or of all. Only the key tells. */
async function agreed(question, graph, words) {
  const what = question.form.elements.what.value;
  const entries = graph.history().filter(({ receipt }) => !what.startsWith("edna1:") || receipt === what);
  const counts = {};
  for (const entry of entries) for (const [model, rows] of Object.entries(entry.counts)) counts[model] = (counts[model] ?? 0) + rows;
  const lines = Object.entries(counts).map(([model, rows]) => counted(rows, model, words));
  if (!lines.length) return;
  const box = question.form.querySelector("[data-edna-goes]");
  box.querySelector("ul").replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
  box.hidden = false;
  box.querySelector("p").focus();
  await question.pressedAgain();
}

/** What one receipt leads to; or, for everything, all that there is. */
async function erasing(sodium, key, graph, what) {
  if (what.startsWith("edna1:")) return { handed: await handedForReceipts(sodium, key, [what], { graph, comesBack: false }) };
  return { handed: handedFor(sodium, graph, [...graph.bags.values()].filter(({ refused }) => !refused).map(({ locator }) => locator)) };
}

/** The receipt of what took the account away: the latest that did. */
function departure(graph, account) {
  const takes = ({ records }) => records.some(({ operation, model }) => operation === "remove" && model === account);
  return graph.history().find(takes)?.receipt;
}

/** Where another name is given: the password opens the key under that one, too. */
async function slotsUnder(question, key, { password }) {
  const name = question.form.querySelector("[name^=instead-][autocomplete=username]")?.value.trim();
  if (!name || !password) return null;
  return [sent(await key.passwordSlot({ identifier: question.form.dataset.ednaIdentifierOfName.replace("{name}", () => name), password, stretch: question.stretch }))];
}
