// Two small helps; every page works without them, by reloading. Figures of jobs follow them while they run, and a form that must be
// sent once has its button switched off when it is sent (the server starts one job anyway).
"use strict";
(function () {
  const POLL = 1500, SLOW_POLL = 10000;

  document.querySelectorAll("form[data-once]").forEach(function (form) {
    form.addEventListener("submit", function (event) {
      if (form.dataset.sent) { event.preventDefault(); return; }
      form.dataset.sent = "yes";
      form.querySelectorAll("button").forEach(function (button) { button.disabled = true; });
    });
  });
  // Back from the next page: the browser may show this one as it was left.
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-once]").forEach(function (form) {
      delete form.dataset.sent;
      form.querySelectorAll("button").forEach(function (button) { button.disabled = false; });
    });
  });

  document.querySelectorAll("[data-live]").forEach(function (section) {
    const places = new Map();
    section.querySelectorAll("[data-job]").forEach(function (place) { places.set(place.dataset.job, place); });
    if (!places.size) { return; }
    section.querySelectorAll(".edna-reload").forEach(function (link) { link.hidden = true; });

    function say(what) {
      section.classList.toggle("edna-stale", what !== "");
      section.querySelectorAll("[data-trouble]").forEach(function (note) { note.hidden = note.dataset.trouble !== what; });
    }

    function show(place, job) {
      place.querySelectorAll("[data-figure]").forEach(function (element) {
        if (element.dataset.figure === "bar") { element.value = job.percent; return; }
        const text = job.figures[element.dataset.figure];
        if (text !== undefined && element.textContent !== text) { element.textContent = text; }
      });
    }

    async function follow() {
      let wait = document.hidden ? SLOW_POLL : POLL;
      try {
        const answer = await fetch(section.dataset.live, { headers: { Accept: "application/json" }, redirect: "manual" });
        // The only place this address ever sends anybody to is the page to log in. Asking again would change nothing.
        if (answer.type === "opaqueredirect") { say("ended"); return; }
        if (answer.status === 403 || answer.status === 404) { window.location.reload(); return; }
        if (!answer.ok) { throw new Error(); }
        const jobs = (await answer.json()).jobs;
        const known = jobs.filter(function (job) { return places.has(job.id); });
        const changed = known.length !== places.size || known.some(function (job) {
          return places.get(job.id).dataset.version !== job.version;
        });
        known.forEach(function (job) { show(places.get(job.id), job); });
        if (changed) { window.location.reload(); return; }
        say("");
      } catch (error) {
        // The server is away for a moment: what is shown may be old.
        say("away");
        wait = SLOW_POLL;
      }
      window.setTimeout(follow, wait);
    }
    window.setTimeout(follow, POLL);
  });
})();
