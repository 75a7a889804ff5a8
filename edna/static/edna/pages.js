// What makes edna's pages more comfortable; all of them work without. No secret is kept, sent or logged here.
//
// [data-edna-once]: a form that is not sent twice by a second click. [data-edna-reload]: the address that a reload of this answer asks for, so
// that the form which it answers is not sent again. [data-edna-tools]: hidden buttons for the secret in [data-edna-secret].

function sendOnce(form) {
  const buttons = () => form.querySelectorAll("button");
  // Afterwards: a disabled button is not sent along.
  form.addEventListener("submit", () => setTimeout(() => buttons().forEach((button) => (button.disabled = true))));
  // Back from the next page, it may be sent again.
  window.addEventListener("pageshow", () => buttons().forEach((button) => (button.disabled = false)));
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
document.querySelectorAll("[data-edna-tools]").forEach(offer);
