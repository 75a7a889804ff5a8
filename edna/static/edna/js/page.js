/** What the page edna-open.html does. It stands in the page, with all that it imports. */

import { accountOf } from "./account.js";
import { EdnaError } from "./base/errors.js";
import { loadSodium } from "./base/sodium.js";
import { keyOf, openFile, readFile } from "./file.js";

const WORDS = {
  remove: "removed",
  modify: "changed",
  decorrelate: "given to nobody",
  share: "kept with others",
  file: "files",
  blob: "the site's own",
  mention: "mentioned",
  owner: "owned with others",
  listing: "listed",
  "speaks for": "placeholders that are you",
};

const [form, fileField, keyField, button, save, all, rows] = ["form", "file", "key", "open", "save", "all", "rows"].map(byId);
let saved = null;

function byId(id) {
  return document.getElementById(id);
}

function say(text, isBad = false) {
  const status = byId("status");
  status.textContent = text;
  status.classList.toggle("bad", isBad);
}

function show(account) {
  const lines = account.bags.flatMap(({ disguise, applied_at, records }) =>
    records.map(({ operation, model, rows: found }) => [
      [disguise || "shared with others", applied_at.slice(0, 10)],
      [`${model || "files"}: ${WORDS[operation]}`],
      [String(found.length)],
    ]),
  );
  rows.replaceChildren(...lines.map(lineOf));
  tell("refused", account.refused.length, (count) => `${count} of the bags did not open. They are named in the saved file, each with its error.`);
  tell("unreached", account.unreached, (count) => `Your key leads to none of ${count} bags that are in the file, too.`);
  all.textContent = JSON.stringify(account, null, 2);
  byId("result").hidden = false;
}

function lineOf(cells) {
  const line = document.createElement("tr");
  cells.forEach(([text, below], at) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    if (below) cell.append(Object.assign(document.createElement("span"), { textContent: below }));
    if (at === 2) cell.className = "number";
    line.append(cell);
  });
  return line;
}

function tell(id, count, words) {
  byId(id).hidden = count === 0;
  byId(id).textContent = count ? words(count) : "";
}

async function open() {
  const file = readFile(await fileField.files[0].text());
  const sodium = await loadSodium();
  const opened = openFile(sodium, file, keyOf(sodium, file, keyField.value));
  saved = accountOf(opened);
  show(saved);
  say(opened.bags.length ? `Opened: ${opened.bags.length} ${opened.bags.length === 1 ? "bag" : "bags"}.` : "Nothing is sealed for this key.");
  keyField.value = "";
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  byId("result").hidden = true;
  button.disabled = true;
  say("Opening …");
  // The words are to be seen before the work begins.
  setTimeout(async () => {
    let next = "found";
    try {
      await open();
    } catch (error) {
      say(error instanceof EdnaError ? error.message : "This did not work. Is the file whole, and is there enough memory?", true);
      next = "open";
    }
    button.disabled = false;
    byId(next).focus();
  });
});

byId("show").addEventListener("change", ({ target }) => {
  keyField.type = target.checked ? "text" : "password";
});

save.addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(saved, null, 2)], { type: "application/json" }));
  link.download = "edna-opened.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
