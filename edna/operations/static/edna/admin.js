// Two small helps; every page works without them, by reloading. Figures of jobs follow them while they run, and a form that must be
// sent once has its button switched off when it is sent (the server starts one job anyway).
//
// Where more has changed than figures, the page is asked for anew, and only what differs is exchanged: never a form that somebody is using,
// so that no press is lost and the focus stays where it is. While a button is held down nothing moves.
"use strict";
(function () {
  const POLL = 1500, SLOW_POLL = 10000;
  const page = document.getElementById("edna");

  document.addEventListener("submit", function (event) {
    const form = event.target;
    if (!form.matches("form[data-once]")) { return; }
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    form.querySelectorAll("button").forEach(function (button) { button.disabled = true; });
  });
  // Back from the next page: the browser may show this one as it was left.
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-once]").forEach(function (form) {
      delete form.dataset.sent;
      form.querySelectorAll("button").forEach(function (button) { button.disabled = false; });
    });
  });

  function live() { return page.querySelector("[data-live]"); }

  function places() {
    const found = new Map();
    page.querySelectorAll("[data-live] [data-job]").forEach(function (place) { found.set(place.dataset.job, place); });
    return found;
  }

  function say(what) {
    if (!live()) { return; }
    live().classList.toggle("edna-stale", what !== "");
    live().querySelectorAll("[data-trouble]").forEach(function (note) { note.hidden = note.dataset.trouble !== what; });
  }

  function show(place, job) {
    place.querySelectorAll("[data-figure]").forEach(function (element) {
      if (element.dataset.figure === "bar") { element.value = job.percent; return; }
      const text = job.figures[element.dataset.figure];
      if (text !== undefined && element.textContent !== text) { element.textContent = text; }
    });
  }

  // Whether somebody is pressing a button just now, or has sent a form whose answer is on its way.
  function isPressed() { return page.querySelector("form:active, form[data-sent]") !== null; }

  // What stays as it is: where the focus is in a form.
  function isUsed(node) {
    const form = document.activeElement && document.activeElement.closest("#edna form");
    return Boolean(form) && node.contains(form);
  }

  function kind(node) {
    return node.nodeType === Node.ELEMENT_NODE ? `${node.nodeName} ${node.className} ${node.getAttribute("action")}` : node.nodeName;
  }

  function next(node, alike) {
    while (node && kind(node) !== kind(alike)) { node = node.nextSibling; }
    return node;
  }

  // Makes one element what the other one is; whether something had to stay.
  function exchange(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) { old.data = fresh.data; return false; }
    if (old.nodeName === "FORM") { return false; } // it differs by its token alone
    let stayed = false, place = old.firstChild;
    function remove() {
      const after = place.nextSibling;
      if (isUsed(place)) { stayed = true; } else { place.remove(); }
      place = after;
    }
    if (old.matches(".edna-buttons") && isUsed(old)) { return !hasSameForms(old, fresh); }
    Array.from(old.attributes).forEach(function (each) { if (!fresh.hasAttribute(each.name)) { old.removeAttribute(each.name); } });
    Array.from(fresh.attributes).forEach(function (each) { old.setAttribute(each.name, each.value); });
    Array.from(fresh.childNodes).forEach(function (child) {
      const same = next(place, child);
      if (!same) { old.insertBefore(child, place); return; }
      while (place !== same) { remove(); }
      stayed = exchange(same, child) || stayed;
      place = same.nextSibling;
    });
    while (place) { remove(); }
    return stayed;
  }

  function hasSameForms(old, fresh) {
    const [before, now] = [old, fresh].map(function (each) { return Array.from(each.children).map(kind).join(); });
    return before === now;
  }

  // Whether all of it could be exchanged.
  async function renew() {
    const answer = await fetch(window.location.href, { redirect: "manual" });
    if (!answer.ok) { throw new Error(); }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("edna");
    if (isPressed()) { return false; }
    const stayed = exchange(page, fresh);
    hideReloads();
    return !stayed;
  }

  function hideReloads() {
    page.querySelectorAll("[data-live] .edna-reload").forEach(function (link) { link.hidden = true; });
  }

  // More has changed than figures, and is not all exchanged yet.
  let isDue = false;

  // Asks how the jobs stand; whether anything is left to follow.
  async function look() {
    const answer = await fetch(live().dataset.live, { headers: { Accept: "application/json" }, redirect: "manual" });
    // The only place this address ever sends anybody to is the page to log in. Asking again would change nothing.
    if (answer.type === "opaqueredirect") { say("ended"); return false; }
    if (isPressed()) { return true; }
    if (answer.status === 403 || answer.status === 404) { window.location.reload(); return false; }
    if (!answer.ok) { throw new Error(); }
    const jobs = (await answer.json()).jobs, shown = places();
    const known = jobs.filter(function (job) { return shown.has(job.id); });
    isDue = isDue || known.length !== shown.size || known.some(function (job) {
      return shown.get(job.id).dataset.version !== job.version;
    });
    if (isPressed()) { return true; }
    known.forEach(function (job) { show(shown.get(job.id), job); });
    say("");
    return true;
  }

  async function follow() {
    let wait = document.hidden ? SLOW_POLL : POLL;
    try {
      if (live() && !await look()) { return; }
      if (isDue && !isPressed()) { isDue = !await renew(); }
      if (!isDue && !places().size) { return; }
    } catch (error) {
      // The server is away for a moment: what is shown may be old.
      say("away");
      wait = SLOW_POLL;
    }
    window.setTimeout(follow, wait);
  }

  if (page && places().size) {
    hideReloads();
    window.setTimeout(follow, POLL);
  }
})();
