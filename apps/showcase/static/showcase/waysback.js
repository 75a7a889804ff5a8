// The page with a recovery code, and forms that must not be sent twice, by a second click or by a reload. Without this script all of them work, too.
//
// The server shows a code once and keeps it nowhere. So that a reload does not lose it, this tab keeps it, under the random word
// that the server's session has for it, until its owner says that it is safe. Strangers' pages load this script as well: after a
// logout, or when the word is another one by now, the tab forgets the code. It does not on the answers that say data-mine.
"use strict";

(() => {
  const NAME = "edna.recovery-code";

  function tab() {
    try {
      window.sessionStorage.getItem(NAME);
      return window.sessionStorage;
    } catch {
      return null; // a browser that keeps nothing
    }
  }

  function forget() {
    tab()?.removeItem(NAME);
  }

  function keptUnder(word) {
    try {
      const kept = JSON.parse(tab()?.getItem(NAME) ?? "null");
      return word && kept?.word === word ? kept.code : "";
    } catch {
      return "";
    }
  }

  function sendOnce(form) {
    form.addEventListener("submit", () => {
      for (const button of form.querySelectorAll("button")) setTimeout(() => (button.disabled = true));
    });
    // Back from the next page, it may be sent again.
    window.addEventListener("pageshow", () => {
      for (const button of form.querySelectorAll("button")) button.disabled = false;
    });
  }

  async function copy(element) {
    const text = element.textContent.trim();
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    window.getSelection().selectAllChildren(element); // without TLS there is no clipboard
    if (!document.execCommand("copy")) throw new Error("refused");
  }

  function download(place, code) {
    const whose = place.querySelector(".whose").textContent.trim();
    const text = `${whose}\n\n${code}\n\nIt brings your account back, and sets a new password:\n${place.dataset.return}\n`;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = place.dataset.file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  function offer(place, element) {
    const said = place.querySelector("[data-said]");
    const tools = {
      copy: () =>
        copy(element).then(
          () => (said.textContent = "Copied. Paste it somewhere safe: the next thing that you copy takes its place."),
          () => (said.textContent = "Your browser does not let us copy it. Select the code, and copy it yourself."),
        ),
      download: () => {
        download(place, element.textContent.trim());
        said.textContent = "Saved as a file. Whoever reads the file has the code: move it to a safe place.";
      },
      print: () => {
        said.textContent = "";
        window.print();
      },
    };
    const box = place.querySelector("[data-tools]");
    for (const button of box.querySelectorAll("[data-do]")) button.addEventListener("click", tools[button.dataset.do]);
    box.hidden = false;
    place.querySelector("form").addEventListener("submit", forget);
  }

  function page(place) {
    const element = place.querySelector(".code");
    const code = element.textContent.trim();
    if (code) {
      // This page answers a form; at its own address a reload asks for it without sending the form again.
      tab()?.setItem(NAME, JSON.stringify({ word: place.dataset.shown, code }));
      history.replaceState(null, "", place.dataset.address);
    } else {
      element.textContent = keptUnder(place.dataset.shown);
      if (!element.textContent) return forget();
      document.getElementById("new-code").hidden = true;
      place.hidden = false;
    }
    offer(place, element);
  }

  // What answered a form that logged somebody in or out, or put something back: a reload would send it again, and find it done.
  const answer = document.querySelector("[data-reload]");
  if (answer) history.replaceState(null, "", answer.dataset.reload);

  document.querySelectorAll("form[data-once]").forEach(sendOnce);
  const place = document.getElementById("recovery-code");
  if (place) page(place);
  else if (!answer?.hasAttribute("data-mine")) forget();
})();
