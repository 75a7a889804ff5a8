// What makes edna's pages more comfortable; all of them work without. No secret is kept, sent or logged here.
//
// [data-edna-once]: a form that is not sent twice by a second click. [data-edna-reload]: the address that a reload of this answer asks for, so
// that the form which it answers is not sent again. [data-edna-download]: a form that a file answers, so that its page stays: what opens the
// key goes out of it, and so does what was wrong before. [data-edna-tools]: hidden buttons for the secret in [data-edna-secret].
// [data-edna-picture]: where the code of a new device is drawn, if it is here already. [data-edna-scanned]: a note beside the field that takes
// a code that was scanned.

function sendOnce(form) {
  const buttons = () => form.querySelectorAll("button");
  // Afterwards: a disabled button is not sent along.
  form.addEventListener("submit", () => setTimeout(() => buttons().forEach((button) => (button.disabled = true))));
  // Back from the next page, it may be sent again.
  window.addEventListener("pageshow", () => buttons().forEach((button) => (button.disabled = false)));
}

function forgetWhatWasTyped(form) {
  const forget = () => {
    form.querySelectorAll("input[type=password], [name=recovery_code], [name=secret_key]").forEach((field) => (field.value = ""));
    form.querySelectorAll("[role=alert]").forEach((said) => said.remove());
    form.querySelectorAll(".edna-wrong").forEach((field) => field.classList.remove("edna-wrong"));
  };
  // Afterwards: what is empty would be sent so.
  form.addEventListener("submit", () => setTimeout(forget));
}

async function copy(element) {
  if (navigator.clipboard) return navigator.clipboard.writeText(element.textContent.trim());
  window.getSelection().selectAllChildren(element); // without TLS there is no clipboard
  if (!document.execCommand("copy")) throw new Error("refused");
}

function offer(tools) {
  const element = document.getElementById(tools.dataset.ednaTools);
  const said = tools.querySelector("[role=status]");
  const say = (name) => (said.textContent = tools.dataset[name] ?? "");
  const works = {
    copy: () => copy(element).then(() => say("copied"), () => say("notCopied")),
    print: () => window.print(),
  };
  for (const button of tools.querySelectorAll("button[data-edna-do]"))
    button.addEventListener("click", () => works[button.dataset.ednaDo]());
  tools.hidden = false;
}

const answer = document.querySelector("[data-edna-reload]");
if (answer) history.replaceState(null, "", answer.dataset.ednaReload);
document.querySelectorAll("form[data-edna-once]").forEach(sendOnce);
document.querySelectorAll("form[data-edna-download]").forEach(forgetWhatWasTyped);
document.querySelectorAll("[data-edna-tools]").forEach(offer);
const [place, code] = ["[data-edna-picture]", "#edna-device-code"].map((which) => document.querySelector(which));
if (place && code.textContent) import("./js/pages/scanned.js").then(({ draw }) => draw(place, code.textContent));
const note = document.querySelector("[data-edna-scanned]");
if (note && location.hash) import("./js/pages/scanned.js").then(({ takeScanned }) => takeScanned(note));
