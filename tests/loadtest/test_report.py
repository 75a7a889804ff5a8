"""A report stands by itself, shows what the summary says, and says what went wrong before anything else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from loadtest import markdown
from loadtest.comparisons import published_bars
from loadtest.overview import write_overview
from loadtest.page import percent
from loadtest.plots import lanes_of
from loadtest.report import write
from loadtest.scenarios import SCENARIOS, Site, Variant
from tests.loadtest.made_up import Effect, MadeUp, scenario

pytestmark = [pytest.mark.slow, pytest.mark.thorough]
ROOT = Path(__file__).resolve().parent.parent.parent
VOID = {"meta", "br", "link", "img", "hr", "input"}
SOME_ROWS = (1, 3, 8, 20, 90, 700, 3000)


class Reader(HTMLParser):
    """Whether every element is closed; what is referred to; and what stands on the page as text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.refers: list[str] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.handle_attributes(attributes)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.handle_attributes(attributes)

    def handle_attributes(self, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.refers.append(value or "")
            self.refers += [f"#{found}" for found in re.findall(r"url\(#([^)]+)\)", value or "")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of each kind that has figures of its own, with a page over them."""
    root = tmp_path_factory.mktemp("load")
    crowd = replace(SCENARIOS["websubmit-crowd"], levels=("medium",))
    adversarial, published = SCENARIOS["websubmit-adversarial"], SCENARIOS["lobsters-published"]
    losses = iter((0.02, 0.06, 0.04, 0.08))
    effects = {
        (site.label, variant.label): Effect(loss=next(losses), pairs_per_second=3.0, rows=SOME_ROWS)
        for site in published.sites
        for variant in published.variants
    }
    for made_up in (
        MadeUp(crowd, {}, seconds=4.0, noise=0.3),
        MadeUp(adversarial, {}, seconds=4.0, noise=0.3),
        MadeUp(published, effects, seconds=4.0, noise=0.3),
        MadeUp(
            scenario(asks="What <b>others</b> & you notice."), {"a pair a second": Effect(loss=0.04)}, wrong=["GET <x>"]
        ),
    ):
        write(made_up.write(root / made_up.scenario.name))
    write_overview(root)
    return root


def read(runs: Path, name: str) -> tuple[str, Reader]:
    text = (runs / name / "report.html").read_text() if name != "index" else (runs / "index.html").read_text()
    return text, Reader(text)


NAMES = ("websubmit-crowd", "websubmit-adversarial", "lobsters-published", "websubmit-paced", "index")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_needs_nothing_but_itself(runs: Path, name: str) -> None:
    text, page = read(runs, name)
    assert not page.tags & {"script", "link", "iframe", "object"}
    outside = [refer for refer in page.refers if not refer.startswith(("#", "data:image/png"))]
    assert outside == ([f"{other}/report.html" for other in sorted(NAMES[:4])] if name == "index" else [])
    assert "@import" not in text
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert len(text) < 3_000_000


@pytest.mark.parametrize("name", NAMES)
def test_drawings_do_not_refer_to_each_others_parts(runs: Path, name: str) -> None:
    text, page = read(runs, name)
    assert len(page.ids) == len(set(page.ids))
    assert {refer[1:] for refer in page.refers if refer.startswith("#")} <= set(page.ids)
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert drawings
    for drawing in drawings:
        named = drawing.replace(
            "<svg ", '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ', 1
        )
        assert ElementTree.fromstring(named).get("aria-label")


def test_each_kind_of_run_has_its_figures(runs: Path) -> None:
    common = [
        "who disguised meanwhile",
        "How long normal requests take",
        "The same for each page",
        "What disguisers wait for",
    ]
    special = {
        "websubmit-crowd": "What the number of disguisers does",
        "websubmit-adversarial": "Each edit of an answer is a dot",
        "lobsters-published": "The published bars, redrawn",
    }
    for name in NAMES[:4]:
        text = read(runs, name)[1].text
        parts = len(json.loads((runs / name / "summary.json").read_text())["parts"])
        assert [text.count(words) for words in common] == [parts] * len(common)
        assert {run: words in text for run, words in special.items()} == {run: run == name for run in special}


def test_the_page_shows_the_goals_of_the_summary(runs: Path) -> None:
    summary = json.loads((runs / "websubmit-paced" / "summary.json").read_text())
    [goal] = [goal for goal in summary["goals"] if "Throughput" in goal["goal"]]
    assert (goal["met"], round(goal["reached"], 6)) == ("no", 4.0)
    row = re.search(r"<tr><td class=\"text\">Throughput.*?</tr>", read(runs, "websubmit-paced")[0])
    assert row is not None
    cells = [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td.*?</td>", row[0])]
    assert cells[2:6] == ["3.0\u00a0%", "4.0\u00a0% (4.0 to 4.0)", "3,840", "✗ no"]


def test_what_was_asked_and_what_went_wrong_stand_at_the_top_and_are_escaped(runs: Path) -> None:
    text, page = read(runs, "websubmit-paced")
    assert "What <b>others</b> & you notice. The run failed, so nothing of it counts" in page.text
    assert page.text.index("GET <x>") < page.text.index("Goals")
    assert "<x>" not in text
    assert "Failed, so that their numbers do not count: websubmit-paced." in read(runs, "index")[1].text


def test_every_pair_is_shown(runs: Path) -> None:
    table = re.search(r"Each phase by the baselines beside it.*?</table>", read(runs, "websubmit-crowd")[0], re.DOTALL)
    assert table is not None
    rounds = re.findall(r"<tr><td class=\"text\">([^<]+)</td><td>(\d)</td>", table[0])
    variants = [variant.label for variant in SCENARIOS["websubmit-crowd"].variants]
    assert rounds == [(label, number) for label in variants for number in "12"]


def test_the_tables_of_the_docs_have_the_columns_that_they_have_there(runs: Path) -> None:
    docs = (ROOT / "docs" / "load.md").read_text()
    for path in runs.glob("*/summary.json"):
        summary = json.loads(path.read_text())
        head, command, table, *_ = markdown.of_run(summary)
        assert head == f"## {path.parent.name} on MariaDB 10.11"
        assert summary["command"] in command
        columns, _, *lines = [line.strip("| ").split(" | ") for line in table.splitlines()]
        assert len(lines) == sum(len(part["variants"]) for part in summary["parts"])
        assert {len(line) for line in lines} == {len(columns)}
        assert all(f"| {column} |" in docs for column in columns if column != "who"), columns


def test_the_published_bars_are_per_cent_of_their_baseline_and_ours_of_ours(runs: Path) -> None:
    bars = published_bars(json.loads((runs / "lobsters-published" / "summary.json").read_text()))
    published = [round(bar["published"], 1) for bar in bars]
    # 893, 862, 858, 789 of 927; 3908, 3861, 3918, 3350 of 4039
    assert published == [96.3, 93.0, 92.6, 85.1, 96.8, 95.6, 97.0, 82.9]
    assert [bar["ours"] for bar in bars] == pytest.approx([98.0, 96.0, 94.0, 92.0] * 2)


def test_a_bar_that_was_not_measured_is_left_out(runs: Path) -> None:
    summary = json.loads((runs / "lobsters-published" / "summary.json").read_text())
    summary["parts"] = [part for part in summary["parts"] if part["level"] == "low"]
    ours = {(bar["level"], bar["ours"] is None) for bar in published_bars(summary)}
    assert ours == {("low", False), ("high", True)}


def test_the_same_files_give_the_same_page(tmp_path: Path) -> None:
    directory = MadeUp(scenario(), seconds=3.0).write(tmp_path)
    write(directory)
    first = [(directory / name).read_bytes() for name in ("report.html", "summary.json")]
    write(directory)
    assert [(directory / name).read_bytes() for name in ("report.html", "summary.json")] == first


@pytest.mark.parametrize(
    "made_up",
    [
        MadeUp(scenario(), seconds=2.0, rounds=1, per_second=3),
        MadeUp(
            scenario(variants=(Variant("decay runs", what="decay"),), sites=(Site("with workers", workers=True),)),
            {"decay runs": Effect(pairs_per_second=0.0)},
            seconds=3.0,
            alone=False,
        ),
        MadeUp(scenario(), {"a pair a second": Effect(rows=SOME_ROWS, pairs_per_second=100.0)}, seconds=5.0),
    ],
    ids=["hardly any requests", "nobody disguises by a request", "very many disguises"],
)
def test_little_and_much_can_be_drawn(made_up: MadeUp, tmp_path: Path) -> None:
    directory = made_up.write(tmp_path)
    write(directory)
    text = (directory / "report.html").read_text()
    Reader(text)
    assert len(text) < 1_000_000


def test_a_quick_run_and_a_machine_that_is_not_quiet_are_said(tmp_path: Path) -> None:
    directory = MadeUp(scenario(), seconds=2.0, rounds=1).write(tmp_path)
    facts = json.loads((directory / "run.json").read_text())
    (directory / "run.json").write_text(json.dumps(facts | {"quick": True}))
    machine = directory / "as-shipped-medium" / "machine.jsonl"
    looks = [json.loads(line) for line in machine.read_text().splitlines()]
    machine.write_text("".join(json.dumps(look | {"busy": look["busy"] + look["at"] * 0.5}) + "\n" for look in looks))
    write(directory)
    text = Reader((directory / "report.html").read_text()).text
    assert "A quick run" in text
    assert "other programs took up to 0.50 of the 2 processors" in text


def test_strokes_that_overlap_lie_in_different_lanes() -> None:
    lanes, used = lanes_of([0.0, 1.0, 2.0, 3.0, 3.6, 9.0], [5.0, 2.0, 4.0, 3.5, 8.0, 10.0])
    assert list(lanes) == [0, 1, 1, 2, 2, 0]
    assert used == 3


@pytest.mark.parametrize(("share", "told"), [(-0.0004, "0.0"), (0.03, "3.0"), (-0.021, "−2.1"), (None, "–")])
def test_per_cent(share: float | None, told: str) -> None:
    assert percent(share).removesuffix("\u00a0%") == told


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "loadtest.report", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_the_command_redraws_a_run_or_all_of_them(tmp_path: Path) -> None:
    for name in ("websubmit-paced", "websubmit-other"):
        MadeUp(scenario(name), seconds=2.0, rounds=1).write(tmp_path / name)
    one = command(tmp_path / "websubmit-paced")
    assert one.returncode == 0, one.stderr
    assert (tmp_path / "websubmit-paced" / "report.html").exists()
    assert not (tmp_path / "index.html").exists()
    every = command(tmp_path)
    assert every.returncode == 0, every.stderr
    assert (tmp_path / "websubmit-other" / "report.html").exists()
    assert "websubmit-other/report.html" in (tmp_path / "index.html").read_text()


def test_the_command_says_where_there_is_no_run(tmp_path: Path) -> None:
    nothing = command(tmp_path)
    assert nothing.returncode == 1
    assert "run.json is missing" in nothing.stderr
    assert "Traceback" not in nothing.stderr


OVERLAPPING = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('svg.plot')) {
    const texts = [...svg.querySelectorAll('text')].map(text => ({words: text.textContent, box: text.getBoundingClientRect()}));
    const frame = svg.getBoundingClientRect();
    texts.forEach((one, place) => {
      if (one.box.left < frame.left - 1 || one.box.right > frame.right + 1) found.push(one.words + ' leaves its drawing');
      for (const other of texts.slice(place + 1)) {
        const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
        if (across > 1 && down > 3) found.push(one.words + ' | ' + other.words);
      }
    });
  }
  return found;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("name", NAMES)
def test_nothing_lies_on_anything_else_and_the_page_is_not_too_wide(runs: Path, name: str, page: Any) -> None:
    file = runs / "index.html" if name == "index" else runs / name / "report.html"
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    assert page.evaluate(OVERLAPPING) == []
