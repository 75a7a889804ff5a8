// What is sent before the page's script is there waits for it: the site is not to get what it must not have, nor is what was typed to be lost.
// If the script does not come, the form is the site's again. No module, so that it is here as soon as the form is.
{
  const form = document.currentScript.closest("form");
  const is = (name) => form.hasAttribute(`data-edna-${name}`);
  form.classList.add("edna-waits");
  let waits = false;
  const early = (event) => {
    if (is("ready") || is("failed")) return;
    event.preventDefault();
    waits = true;
    const progress = form.querySelector("[data-edna-progress]");
    progress.querySelector("[role=status]").textContent = form.querySelector("[data-edna-say=sending]").textContent;
    progress.hidden = false;
  };
  form.addEventListener("submit", early);
  form.addEventListener("error", ({ target }) => target.localName === "script" && form.setAttribute("data-edna-failed", ""), true);
  const watch = new MutationObserver(() => {
    watch.disconnect();
    if (waits) form.querySelector("[data-edna-progress]").hidden = true;
    if (waits && is("ready")) form.requestSubmit();
  });
  watch.observe(form, { attributeFilter: ["data-edna-ready", "data-edna-failed"] });
}
