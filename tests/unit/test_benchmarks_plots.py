"""The pictures of the benchmarks, and what is said of goals and growth: drawn and written from the file of results alone."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks import plots
from benchmarks.goals import GOALS, goals
from benchmarks.parts import KINDS, PARTS
from benchmarks.plots import draw, pictures, title
from benchmarks.reporting import curves, drilldown, groups, report, table
from benchmarks.timing import Result

pytestmark = pytest.mark.thorough

SVG = "{http://www.w3.org/2000/svg}"


def result(operation: str, variant: str, ms: float, **fields: Any) -> Result:
    common = {"app": "websubmit", "level": "library", "database": "mariadb", "scale": "tiny", "n": 3} | fields
    spread = {"p5_ms": ms * 0.9, "p50_ms": ms, "p95_ms": ms * 1.5}
    return Result(operation=operation, variant=variant, **({"statements": 3, "rows": 81} | spread | common))


def drilled(ms: float) -> dict[str, Any]:
    each = ms / len(PARTS)
    sql = {**dict.fromkeys(KINDS, 0.0), "select": each / 2, "delete": each / 2}
    return {
        "parts_n": 4,
        "parts_ms": dict.fromkeys(PARTS, each),
        "parts_whole_ms": ms,
        "parts_overhead_ms": 0.02,
        "sql_ms": sql,
        "sql_calls": {**dict.fromkeys(KINDS, 0), "select": 5, "delete": 2},
    }


def curve(name: str, line: str, variant: str, points: dict[int, float], **fields: Any) -> list[Result]:
    return [
        result(f"{line}, {x}", variant, ms, extra={"curve": name, "x": x, "line": line, "rows_read": 22}, **fields)
        for x, ms in points.items()
    ]


@pytest.fixture
def everything() -> list[Result]:
    """Some of all that a run may write."""
    size = {
        "before_bytes": 10**6,
        "after_bytes": 3 * 10**6,
        "rebuilt_bytes": 2 * 10**6,
        "before_rows": 1,
        "after_rows": 2,
    }
    tables = {"users": size, "edna's tables": size, "the application's tables": size}
    left = {"left": 10, "pseudoprincipals": 7, "tables": tables, "notes": ["so it is"]}
    return [
        result("delete account", "edna", 6.0, extra={"published": [1.3, 13.1], **drilled(7.0)}),
        result("delete account", "manual", 1.2, extra=drilled(1.4)),
        result("restore account", "edna", 9.0, extra={"published": [None, 53.2], **drilled(10.0)}),
        result("delete account", "edna", 70.0, derivation=True, extra=drilled(71.0)),
        result("delete after anonymise", "edna", 15.0),
        result("restore after anonymise", "edna", 12.0),
        result("anonymise all (per member of the PC)", "edna", 15.0),
        *curve("rows", "delete, in chunks", "edna", {10: 2.0, 10_000: 200.0}),
        *curve("rows", "delete, in one transaction", "edna", {10_000: 180.0}),
        *curve("rows", "delete, by hand", "manual", {10: 0.2, 10_000: 40.0}),
        *curve("composition", "delete", "edna", {0: 2.0, 1: 3.0, 101: 13.0}),
        *curve("principals", "delete", "edna", {1_000: 2.0, 1_000_000: 2.1}, app="principals"),
        *curve("principals", "restore", "edna", {1_000: 3.0, 1_000_000: 3.1}, app="principals"),
        result("create account", "edna", 300.0, level="http", derivation=True),
        result(
            "storage after 10% left",
            "edna",
            20.0,
            app="lobsters",
            extra={**left, "published_space": {"edna's tables": [12, 58.5]}},
        ),
    ]


def texts(figure: Any) -> str:
    """All that is written in a picture."""
    return "\n".join(text.get_text() for text in figure.findobj(match=lambda artist: hasattr(artist, "get_text")))


def test_every_kind_of_picture_is_drawn_and_the_page_needs_nothing_else(
    everything: list[Result], tmp_path: Path
) -> None:
    (tmp_path / "of-an-earlier-run.svg").write_text("<svg/>")
    written = draw(everything, tmp_path)
    assert (
        {path.name for path in written}
        == {path.name for path in tmp_path.iterdir()}
        == {
            "websubmit-mariadb-library-operations.svg",
            "websubmit-mariadb-library-drilldown.svg",
            "websubmit-mariadb-library-composition.svg",
            "websubmit-mariadb-library-rows.svg",
            "websubmit-mariadb-http-operations.svg",
            "principals-mariadb-library-principals.svg",
            "lobsters-mariadb-library-space.svg",
            "index.html",
        }
    )
    page = written[-1].read_text()
    images = re.findall(r'src="([^"]*)"', page)
    assert len(images) == len(written) - 1
    for path, image in zip(written, images, strict=False):
        assert ElementTree.parse(path).getroot().tag == f"{SVG}svg"
        assert base64.b64decode(image.removeprefix("data:image/svg+xml;base64,")) == path.read_bytes()
    assert "http://" not in page
    assert "https://" not in page
    for expected in ("restore : delete", "Lobsters on MariaDB, in the library", "where the milliseconds go"):
        assert expected in page


def test_pictures_say_what_there_is_to_see(everything: list[Result]) -> None:
    drawn = [found for here in groups(everything) for found in pictures(here)]
    said = {name: texts(figure) for name, figure in drawn}
    assert all(title(figure) in said[name] != "" for name, figure in drawn)
    operations = said["websubmit-mariadb-library-operations"]
    assert "a deletion takes 5.0 times the hand-written one" in operations
    for expected in (
        "delete account",
        "restore account",
        "6.00",
        "1.20",
        "13.1",
        "53.2",
        "published: prototype (over HTTP)",
    ):
        assert expected in operations
    assert "70.0" not in operations, "the one with a derivation is left out where there is one without"
    assert "password derived" in said["websubmit-mariadb-http-operations"]
    assert "of “delete account”, SQL is 17 %, Python 17 %" in said["websubmit-mariadb-library-drilldown"]
    assert "a pseudoprincipal more costs 100 µs (delete)" in said["websubmit-mariadb-library-composition"]
    assert (
        "a deletion reads 22 rows among 1,000 students, 22 among 1,000,000"
        in said["principals-mariadb-library-principals"]
    )
    assert "+200%" in said["lobsters-mariadb-library-space"]
    assert "58.5" in said["lobsters-mariadb-library-space"]


def run_plots(monkeypatch: pytest.MonkeyPatch, output: Path) -> int:
    monkeypatch.setattr(sys, "argv", ["plots", str(output)])
    return plots.main()


def test_pictures_are_drawn_again_from_the_file(
    everything: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "bench.json"
    output.write_text(json.dumps([each.as_dict() for each in everything]))
    assert plots.read(output) == everything
    assert run_plots(monkeypatch, output) == 0
    assert capsys.readouterr().out == f"7 pictures are in {tmp_path / 'bench'}, with the tables in index.html\n"
    index = tmp_path / "bench" / "index.html"
    before = index.read_text()
    run_plots(monkeypatch, output)
    assert index.read_text() == before, "the same results give another page"


@pytest.mark.parametrize("content", ["not ours", "[]", "{}", '[{"app": "websubmit"}]'])
def test_a_file_without_results_gets_one_sentence(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "bench.json"
    output.write_text(content)
    assert run_plots(monkeypatch, output) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error: {output} holds no results")
    assert len(said.splitlines()) == 1


def test_the_goals_are_one_block_with_what_was_reached(everything: list[Result]) -> None:
    lines = {
        " ".join(line.split()[:2]) + " " + re.split(r"\s{2,}", line)[2]: line
        for line in goals(everything).splitlines()[3:]
    }
    reached = {name: re.split(r"\s{2,}", line)[3:7] for name, line in lines.items()}
    assert reached == {
        "websubmit mariadb delete : by hand": ["5.00", "5.00", "5", "reached"],
        "websubmit mariadb restore : delete": ["1.50", "1.50", "2", "reached"],
        "websubmit mariadb delete after anonymisation : direct": ["2.50", "2.50", "2", "missed"],
        "websubmit mariadb restore after anonymisation : direct": ["1.33", "1.33", "2", "reached"],
    }
    assert goals([]) == ""


def test_the_goals_are_those_of_the_project() -> None:
    found = {(goal.app, goal.what): goal.most for goal in GOALS}
    assert [found[app, "delete : by hand"] for app in ("websubmit", "lobsters", "hotcrp")] == [5, 2.5, 1.5]
    assert {most for (_, what), most in found.items() if what != "delete : by hand"} == {2}
    assert ("delete account, median", "edna") in {goal.upper for goal in GOALS if goal.app == "lobsters"}


def test_the_drill_down_and_the_curves_are_tables_of_their_own(everything: list[Result]) -> None:
    (by_hand,) = [line for line in drilldown(everything).splitlines() if line.startswith("delete account (by hand)")]
    whole = by_hand.replace("|", " ").split()
    assert whole[4:8] == ["4", "1.20", "1.40", "0.02"]
    assert "(5)" in by_hand
    said = curves(everything)
    assert "delete: 0.100 ms for each pseudoprincipal (published: 1 to 2); statements with 1 to 101 of them: 3" in said
    assert [line.split()[-2] for line in said.splitlines() if "1,000,000" in line] == ["22", "22"]
    assert "in chunks" not in table(everything), "a curve is no operation of the main table"
    assert drilldown([]) == curves([]) == ""
    assert report(everything).count("where the milliseconds go") == 1


def test_the_page_and_the_report_say_what_was_measured_quickly(tmp_path: Path) -> None:
    slowly = [result("delete account", variant, 6.0) for variant in ("edna", "manual")]
    quickly = [
        result("delete account", variant, 6.0, app="lobsters", extra={"quick": True}) for variant in ("edna", "manual")
    ]
    index = draw([*slowly, *quickly], tmp_path)[-1]
    said = "Measured with --quick, at a small scale with few samples: lobsters on mariadb, library."
    assert said in index.read_text()
    assert said in report([*slowly, *quickly])
    assert index.read_text().count("few samples (--quick)") == 1
    assert "--quick" not in draw(slowly, tmp_path)[-1].read_text()
    assert "--quick" not in report(slowly)
