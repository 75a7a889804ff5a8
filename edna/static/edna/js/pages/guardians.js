/** The pages of guardians, where the key stays in the browser: a way back is made, refused or given up; and somebody comes back by it. */

import { Request, enroll, veto, withdraw } from "../guardians/way-back.js";
import { goTo } from "./focus.js";
import { newPassword } from "./key.js";
import { Mistake, Question } from "./question.js";
import { filled } from "./said.js";

const SHORTEST_PIN = 4;

export function begin(question, name) {
  if (name === "guardians-ask" || name === "guardians-request") comeBack(question, name);
  else withKey(question, name);
}

function withKey(question, name) {
  const { form, server, secrets } = question;
  const acts = {
    guardians: ({ sodium, key }) =>
      enroll(sodium, server, key, { identifier: question.identifier(), contact: form.elements.contact.value, pin: secrets.pin.value }),
    "guardians-withdraw": ({ key }) => withdraw(key),
    "guardians-veto": ({ sodium, key }) => veto(sodium, server, key),
  };
  const check = () => {
    if (!secrets.pin?.value && !secrets.pin_again?.value) return;
    if (secrets.pin.value !== secrets.pin_again.value) throw new Mistake("pins");
    if (Array.from(secrets.pin.value).length < SHORTEST_PIN) throw new Mistake("short-pin");
  };
  const work = async (opened) => {
    await question.words(opened.key); // of another account, it would change that one's way back
    question.says("sending");
    const missing = await acts[name](opened);
    question.forget();
    form.hidden = true;
    document.querySelectorAll("[data-edna-before-done]").forEach((part) => (part.hidden = true));
    show("done", { missing: missing.length });
  };
  question.ask(work, { check });
}

/** Shows a part of the page that waits for its moment. Its text may have a place for how many guardians have not heard it. */
function show(name, { missing = 0 } = {}) {
  const part = document.querySelector(`[data-edna-part=${name}]`);
  part.hidden = false;
  const some = part.querySelector("[data-edna-missing]");
  if (some) some.hidden = missing === 0;
  goTo(part.querySelector("p"));
  return part;
}

function comeBack(question, name) {
  const { form, server } = question;
  const page = document.querySelector("[data-edna-part=request]");
  const finish = new Question(page.querySelector("form[data-edna-finish]"));
  let [request, identifier] = [null, null];

  const refresh = async () => {
    draw(page, await request.look(), confirm);
    goTo(page.querySelector("p"));
  };
  /** What goes wrong is said where the last step says it; and what was said before goes. */
  const attempt = async (work) => {
    finish.forgetWhatWasSaid();
    try {
      await work();
    } catch (error) {
      finish.tell(error);
    }
  };
  const confirm = (number, code) =>
    attempt(async () => {
      const refused = await request.confirm(number, code).then(() => null, (error) => error);
      await refresh();
      if (refused) throw refused;
    });
  const work = async ({ sodium }) => {
    question.says("sending");
    identifier = question.identifier();
    request =
      name === "guardians-ask"
        ? await Request.ask(sodium, server, identifier)
        : await Request.goOn(sodium, server, identifier, form.elements.request_code.value);
    page.querySelector("[data-edna-code]").textContent = request.code;
    await refresh();
    form.hidden = true;
    show("request");
  };
  question.ask(work, { opens: () => ({}) });
  page.querySelector("[data-edna-look]").addEventListener("click", () => attempt(refresh));
  const back = async () => {
    finish.says("opening");
    const key = await request.recover({ pin: finish.secrets.pin.value });
    await key.changePassword({ identifier, password: newPassword(finish.form), stretch: finish.stretch });
    finish.forget();
    page.hidden = true;
    show("done");
  };
  finish.ask(back, { opens: () => ({}), check: () => newPassword(finish.form) });
}

/** What each guardian says, in the page's words. */
function draw(page, progress, confirm) {
  const isEnough = progress.helping >= progress.needed;
  for (const name of ["helping", "needed"]) page.querySelector(`[data-edna-${name}]`).textContent = progress[name];
  const template = page.querySelector("template");
  page.querySelector("ul").replaceChildren(...progress.answers.map((answer) => line(template, answer, isEnough, confirm)));
  page.querySelector("[data-edna-look]").hidden = isEnough;
  page.querySelector("[data-edna-fields]").hidden = !isEnough;
}

function line(template, answer, isEnough, confirm) {
  const until = answer.waitsSeconds === null ? "" : new Date(Date.now() + 1000 * answer.waitsSeconds).toLocaleString(document.documentElement.lang || undefined);
  const copy = filled(template, { name: answer.name || `${answer.number}`, request: answer.request, until });
  copy.querySelector(`[data-edna-state=${stateOf(answer)}]`).hidden = false;
  const code = copy.querySelector("form");
  code.hidden = !answer.waitsForCode || isEnough;
  const field = code.querySelector("input");
  code.addEventListener("submit", (event) => {
    event.preventDefault();
    const button = code.querySelector("button");
    button.disabled = true;
    confirm(answer.number, field.value).finally(() => (button.disabled = false));
  });
  return copy;
}

function stateOf({ helps, waitsForCode, waitsSeconds, isRefused, isAway }) {
  if (helps) return "helps";
  if (isRefused) return "refused";
  if (isAway) return "away";
  if (waitsSeconds !== null) return "waits";
  return waitsForCode ? "code" : "asked";
}
