/** A key is made, or its recovery code is: here, and shown here. The site gets the public half, and the slots. */

import * as custody from "../custody.js";
import { makePasskey, mayHavePasskey } from "../passkey.js";
import { parseRecoveryCode, recoveryCodeText } from "../slots.js";
import { Mistake } from "./question.js";
import { save } from "./files.js";

const SHORTEST = 10;

/** The new password, typed twice; null where none has to be. Throws a Mistake. */
export function newPassword(form, { isOptional = false } = {}) {
  const [typed, again] = ["new_password", "again"].map((name) => form.querySelector(`[data-edna-secret=${name}]`).value);
  if (isOptional && !typed && !again) return null;
  if (Array.from(typed).length < SHORTEST) throw new Mistake("short");
  if (typed !== again) throw new Mistake("differ");
  return typed;
}

export function begin(question, name) {
  if (name === "code") question.ask(async ({ sodium, key }) => (await question.words(key)) && show(question, sodium, await key.newRecoveryCode()));
  else make(question);
}

function make(question) {
  const { form } = question;
  document.querySelectorAll("[data-edna-without-script]").forEach((part) => (part.hidden = true));
  form.hidden = false;
  const opens = (sodium) => ({ key: custody.makeKey(sodium, question.server) });
  const work = async ({ sodium, key }) => {
    const [identifier, password] = [question.identifier(), newPassword(form, { isOptional: wantsPasskey(form) })];
    question.says("sending");
    const secret = wantsPasskey(form) ? await makePasskey(sodium, { name: identifier }) : null;
    const code = await key.register({ identifier, password, stretch: question.stretch });
    if (secret) await key.replaceSlot("passkey", secret);
    show(question, sodium, code);
  };
  question.ask(work, { opens, check: () => newPassword(form, { isOptional: wantsPasskey(form) }) });
  const passkey = form.querySelector("[data-edna-with-passkey]");
  mayHavePasskey().then((may) => (passkey.hidden = !may));
}

function wantsPasskey(form) {
  return form.querySelector("[data-edna-with-passkey] input").checked;
}

/** The code in the place of the form; and whether it was kept is asked by how it ends. */
export function show(question, sodium, text) {
  question.forget();
  const box = document.querySelector("[data-edna-code]");
  const find = (name) => box.querySelector(`[data-edna-part=${name}]`);
  document.querySelectorAll("[data-edna-before-code]").forEach((part) => (part.hidden = true));
  question.form.hidden = true;
  box.hidden = false;
  find("code").textContent = text;
  find("title").focus();
  find("download").addEventListener("click", () => save(`${box.dataset.ednaWhose}\n\n${text}\n`, { name: box.dataset.ednaFile, type: "text/plain" }));
  find("kept").addEventListener("click", () => step(find, "check"));
  find("again").addEventListener("click", () => step(find, "shown"));
  find("confirm").addEventListener("submit", (event) => {
    event.preventDefault();
    const ends = endsWith(sodium, text, find("typed").value);
    find("otherwise").hidden = ends;
    if (ends) {
      find("code").textContent = "";
      step(find, "done");
    }
  });
}

function step(find, name) {
  for (const each of ["shown", "check", "done"]) find(each).hidden = each !== name;
  find(name).querySelector("input, a, button")?.focus();
}

/** Whether what was typed is how the code ends, its characters read as the code's are. */
function endsWith(sodium, text, typed) {
  const bare = (code) => code.toUpperCase().replace(/[^0-9A-Z]/g, "").replace(/O/g, "0").replace(/[IL]/g, "1");
  const [end, code] = [bare(typed), bare(recoveryCodeText(sodium, parseRecoveryCode(sodium, text)))];
  return end.length >= 4 && code.endsWith(end);
}
