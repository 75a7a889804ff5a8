"""What somebody waits for in Chromium, on the sample site under gunicorn: from the click to the last byte of the outcome, and from the
address to a form that takes the key.

Both custodies use the same page, form and recovery code, so no password is derived; "on the server" is the page whose script did not come.
"""

from __future__ import annotations

import gzip
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.test import override_settings

import edna
from apps.websubmit.models import Answer, User
from benchmarks.custody.modules import closure
from benchmarks.kit.percentiles import percentile
from benchmarks.timing import Result, interleave
from benchmarks.websubmit.course import Course, Scale
from benchmarks.websubmit.over_http import site
from edna import conf
from edna.custody import password as passwords

ANONYMISE: Final = "websubmit.anonymize-all"
BACK, HIDDEN = "/websubmit/privacy/back/", "/websubmit/privacy/hidden/"
#: Round trips in ms, and what comes in and goes out in bytes a second; none: as the machine is.
NETWORKS: Final = {"here": None, "40 ms": (40, 2_500_000), "150 ms": (150, 500_000)}
WARM_UP: Final = 2
#: The first that is there; the shell is the same pages without a window.
BROWSERS: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

#: Notes when the button is pressed, when the form is ready, and every request that a script makes.
WATCH: Final = """
addEventListener("submit", () => sessionStorage.setItem("pressed", performance.timeOrigin + performance.now()), true);
new MutationObserver((_, watch) => {
  if (!document.querySelector("[data-edna-ready]")) return;
  watch.disconnect();
  globalThis.ednaReadyMs = performance.now();
}).observe(document, {subtree: true, attributes: true, childList: true, attributeFilter: ["data-edna-ready"]});
const {fetch} = globalThis;
globalThis.fetch = async (address, options) => {
  const began = performance.now(), answer = await fetch(address, options), text = await answer.clone().text();
  const asked = JSON.parse(sessionStorage.getItem("asked") ?? "[]");
  sessionStorage.setItem("asked", JSON.stringify([...asked, [String(address), performance.now() - began, text.length]]));
  return answer;
};
"""
OUTCOME: Final = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const [pressed, asked] = [Number(sessionStorage.getItem("pressed")), JSON.parse(sessionStorage.getItem("asked") ?? "[]")];
  sessionStorage.clear();
  return {whole: performance.timeOrigin + page.responseEnd - pressed, post: page.responseEnd - page.requestStart, asked};
}"""
#: As `edna/js/pages` does it; how often it asks, and for what.
WALK: Final = """async ([base, token, text]) => {
  const [{loadSodium}, {openByText}, {Server}, {walk}] = await Promise.all(
    ["base/sodium.js", "custody.js", "server.js", "graph.js"].map(name => import(`/static/edna/js/${name}`)));
  const sodium = await loadSodium();
  const key = openByText(sodium, new Server({base, csrfToken: token}), text);
  await key.token();
  sessionStorage.clear();
  const began = performance.now();
  const graph = await walk(sodium, key);
  const ms = performance.now() - began;
  const asked = JSON.parse(sessionStorage.getItem("asked") ?? "[]").map(([address]) => address.split("/").slice(-2).join("/"));
  sessionStorage.clear();
  return {ms, asked, holders: graph.holders.size, bags: graph.bags.size};
}"""

#: Argon2id in a worker, as a page does it, each password in a worker of its own; with the salt and the costs that the site says.
STRETCH: Final = """async ([base, token, identifier, password, times]) => {
  const [{inWorker}, {Server}] = await Promise.all(["stretch.js", "server.js"].map(name => import(`/static/edna/js/${name}`)));
  const [how] = await new Server({base, csrfToken: token}).stretchings(identifier);
  const took = [];
  for (let time = 0; time < times; time++) {
    const began = performance.now();
    await inWorker(password, how);
    took.push(performance.now() - began);
  }
  return {took, opslimit: how.opslimit, memlimitBytes: how.memlimitBytes};
}"""


class Measuring:
    """A course of students with 80 answers in 20 lectures, and the site on its data."""

    def __init__(self, *, reveals: int, seed: int) -> None:
        self._stack = ExitStack()
        self._results: list[dict[str, Any]] = []
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = (
            "true"  # Playwright has a loop in this thread, which runs nothing of ours
        )
        os.environ["BENCH_CUSTODY"] = "both"  # of the site; and what is disguised here is for its browsers, too
        self._stack.enter_context(override_settings(EDNA={**settings.EDNA, "CUSTODY": "both"}))
        self._rounds = reveals + WARM_UP
        scale = Scale(self._rounds + 2, 20, 4)
        self._course = Course(scale, with_slots=self._rounds + 1, seed=seed)
        self.rows = self._course.answers_each

    def __enter__(self) -> Measuring:
        self._port = self._stack.enter_context(site("edna"))
        self._chromium = self._stack.enter_context(chromium())
        return self

    def __exit__(self, *ended: object) -> None:
        self._stack.close()

    @contextmanager
    def _page(self, *, in_browser: bool = True) -> Iterator[Any]:
        context = self._chromium.new_context()
        context.set_default_timeout(600_000)
        context.add_init_script(WATCH)
        if not in_browser:
            context.route("**/js/pages/start.js*", lambda route: route.abort())
        try:
            yield context.new_page()
        finally:
            context.close()

    def _address(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def bring_back(self) -> None:
        """The same rows of the same student in each custody, another one first each time."""
        found: dict[str, list[dict[str, Any]]] = {"browser": [], "server": []}
        with self._page() as here, self._page(in_browser=False) as there:
            for number, member in enumerate(self._course.with_slots[: self._rounds]):

                def once(custody: str, member: Any = member) -> None:
                    receipt = edna.disguise(ANONYMISE, member.user)
                    seen = self._brought_back(here if custody == "browser" else there, receipt, member.recovery_code)
                    found[custody].append(seen)

                interleave(number, lambda: once("browser"), lambda: once("server"))
        for custody, seen in found.items():
            self._note_reveals(custody, seen[WARM_UP:])

    def _brought_back(self, page: Any, receipt: edna.Receipt, code: str) -> dict[str, Any]:
        page.goto(self._address(BACK))
        page.locator("[data-edna-ready], [data-edna-failed]").first.wait_for()
        page.locator("[name=receipt]").fill(str(receipt))
        page.get_by_text("No password, or it does not work?").click()
        page.get_by_label("Recovery code").fill(code)
        with page.expect_navigation():
            page.locator("form[data-edna-hands] .edna-actions button:not([type=button])").click()
        page.get_by_text("It is back").first.wait_for()
        outcome: dict[str, Any] = page.evaluate(OUTCOME)
        return outcome

    def _note_reveals(self, custody: str, seen: Sequence[dict[str, Any]]) -> None:
        parts = {"requests of scripts": [sum(ms for _, ms, _ in each["asked"]) for each in seen]}
        parts["answer with the outcome"] = [each["post"] for each in seen]
        parts["in the page"] = [
            each["whole"] - each["post"] - asked for each, asked in zip(seen, parts["requests of scripts"], strict=True)
        ]
        self._note(
            "bring back",
            "edna" if custody == "browser" else "server",
            [each["whole"] for each in seen],
            requests=len(seen[0]["asked"]) + 1,
            received_bytes=round(percentile([sum(size for *_, size in each["asked"]) for each in seen], 50)),
            spent_ms={name: round(percentile(samples, 50), 1) for name, samples in parts.items()},
        )

    def walk(self, depths: Sequence[int]) -> None:
        """Of somebody whose answers were given to others, and from those to others, and so on."""
        member = self._course.with_slots[-1]
        key = member.secret_key.expose_text()
        mine = Answer.objects.filter(
            pk__in=list(Answer.objects.filter(author=member.user).values_list("pk", flat=True))
        )
        with self._page() as page:
            page.goto(self._address(HIDDEN))
            for depth in range(max(depths) + 1):
                if depth:
                    for author in User.objects.filter(pk__in=set(mine.values_list("author", flat=True))):
                        edna.disguise(ANONYMISE, author)
                if depth not in depths:
                    continue
                page.reload()
                token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
                seen = [page.evaluate(WALK, ["/websubmit/privacy/", token, key]) for _ in range(5)]
                self._note(
                    f"walk, depth {depth}",
                    "edna",
                    [each["ms"] for each in seen],
                    requests=len(seen[0]["asked"]),
                    pseudoprincipals=seen[0]["holders"] - 1,
                    asked=seen[0]["asked"],
                )

    def derive(self, times: int) -> None:
        """A password, at the cost that the site has chosen: in the browser, and by the same library in this process."""
        address, text = "bea@example.org", "seven geese over the marsh"
        with self._page() as page:
            page.goto(self._address(HIDDEN))
            token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
            asked = ["/websubmit/privacy/", token, address, text, times + WARM_UP]
            seen = page.evaluate(STRETCH, asked)
        cost = {"opslimit": seen["opslimit"], "memlimit_bytes": seen["memlimitBytes"]}
        here = []
        for _ in range(times + WARM_UP):
            began = time.perf_counter()
            passwords.derive(text, identifier=address, pepper=conf.mac_keys()[0], **cost)
            here.append((time.perf_counter() - began) * 1_000)
        for variant, samples in (("edna", seen["took"]), ("server", here)):
            self._note("derive", variant, samples[WARM_UP:], **cost)

    def load(self, times: int) -> None:
        """The first time that somebody opens a page: nothing is in the browser's cache."""
        for name, network in NETWORKS.items():
            samples, scripts = [], 0
            for _ in range(times):
                with self._page() as page:
                    if network is not None:
                        limit(page, *network)
                    page.goto(self._address(BACK))
                    page.wait_for_function("globalThis.ednaReadyMs")
                    samples.append(page.evaluate("ednaReadyMs"))
                    scripts = page.evaluate(
                        "performance.getEntriesByType('resource').filter(e => e.name.endsWith('.js')).length"
                    )
            self._note(f"ready, {name}", "edna", samples, scripts=scripts, chain=closure("pages/start.js").longest)

    def _note(self, operation: str, variant: str, samples: Sequence[float], **extra: Any) -> None:
        self._results.append({"operation": operation, "variant": variant, "samples": samples, "extra": extra})

    def results(self, database: str) -> list[Result]:
        modules = closure("pages/start.js", "pages/acts.js")
        sizes = {"modules": modules.files, "libsodium": [modules.root.parent / "vendor/libsodium/libsodium-sumo.js"]}
        sent = {f"{name}_gzip_bytes": sum(map(compressed, files)) for name, files in sizes.items()}
        return [
            Result(
                app="custody",
                operation=each["operation"],
                variant=each["variant"],
                level="chromium",
                database=database,
                scale=str(self._course.scale),
                n=len(each["samples"]),
                p5_ms=round(percentile(each["samples"], 5), 2),
                p50_ms=round(percentile(each["samples"], 50), 2),
                p95_ms=round(percentile(each["samples"], 95), 2),
                statements=None,
                rows=self.rows if each["operation"] == "bring back" else None,
                extra={**each["extra"], **sent},
            )
            for each in self._results
        ]


def compressed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), mtime=0))


def limit(page: Any, round_trip_ms: int, bytes_per_second: int) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    rates = {"downloadThroughput": bytes_per_second, "uploadThroughput": bytes_per_second}
    session.send("Network.emulateNetworkConditions", {"offline": False, "latency": round_trip_ms, **rates})


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise RuntimeError("there is no Chromium here; install it, or measure the other applications (--apps)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
