"""The benchmarks: what they compute is right, what they write has its shape, and a tiny run gets to the end."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import markdown
from benchmarks.__main__ import kept_lines
from benchmarks.browser import Page
from benchmarks.kit.percentiles import percentile
from benchmarks.reporting import sizes, storage, table
from benchmarks.timing import Clock, Key, Result, interleave

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parent.parent.parent
FIELDS = {
    "app",
    "operation",
    "variant",
    "level",
    "database",
    "scale",
    "n",
    "p5_ms",
    "p50_ms",
    "p95_ms",
    "statements",
    "rows",
}


@contextmanager
def three_statements() -> Iterator:
    yield lambda: 3


def result(operation: str, variant: str, ms: float, **fields: object) -> Result:
    common = {"app": "websubmit", "level": "library", "database": "mariadb", "scale": "tiny", "n": 1} | fields
    return Result(operation=operation, variant=variant, p5_ms=ms, p50_ms=ms, p95_ms=ms, statements=3, rows=81, **common)


@pytest.mark.parametrize(
    ("samples", "percent", "expected"),
    [
        ([7.0], 5, 7.0),
        ([7.0], 95, 7.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([4.0, 1.0, 3.0, 2.0], 50, 2.5),
        (list(range(101)), 5, 5),
        (list(range(101)), 95, 95),
        (list(range(101)), 0, 0),
        (list(range(101)), 100, 100),
        ([0.0, 10.0], 95, 9.5),
    ],
)
def test_percentiles(samples: list[float], percent: float, expected: float) -> None:
    assert percentile(samples, percent) == pytest.approx(expected)


def test_a_clock_warms_up_then_times_then_counts() -> None:
    clock, key, ran = Clock(three_statements), Key("delete", "edna"), []
    for number in clock.rounds(range(10), warm_up=3, counted=2):
        assert clock(key, lambda n=number: ran.append(n) or n, rows=81) == number
    assert ran == list(range(10))
    (made,) = clock.results(app="websubmit", level="library", database="sqlite", scale="tiny")
    assert (made.n, made.statements, made.rows) == (5, 3, 81)
    assert 0 < made.p5_ms <= made.p50_ms <= made.p95_ms


@pytest.mark.parametrize("items", [2, 3, 5, 7])
def test_a_clock_with_few_items_still_times_and_counts(items: int) -> None:
    clock, key = Clock(three_statements), Key("delete", "edna")
    for _ in clock.rounds(range(items)):
        clock(key, lambda: None, rows=1)
    assert len(clock.samples.get(key, [])) == max(1, items - 2)
    assert clock.statements[key] == {3}


def test_every_work_is_first_equally_often() -> None:
    order: list[str] = []
    for number in range(4):
        interleave(number, lambda: order.append("edna"), lambda: order.append("manual"))
    assert order == ["edna", "manual", "manual", "edna"] * 2


def test_the_garbage_collector_is_off_only_meanwhile() -> None:
    rounds = Clock(three_statements).rounds([1, 2, 3])
    next(rounds)
    assert not gc.isenabled()
    rounds.close()
    assert gc.isenabled()


def test_a_result_is_flat_in_the_file() -> None:
    line = result("delete account", "edna", 2.0, extra={"total_ms": 7}).as_dict()
    assert set(line) >= FIELDS
    assert line["total_ms"] == 7
    assert "extra" not in line


def test_a_result_is_read_as_it_was_written() -> None:
    made = result("delete account", "edna", 2.0, derivation=True, extra={"total_ms": 7, "parts_ms": {"sql": 1.0}})
    assert Result.from_dict(json.loads(json.dumps(made.as_dict()))) == made


def test_the_table_puts_the_baseline_beside() -> None:
    results = [
        result("delete account", "edna", 6.0),
        result("delete account", "manual", 1.5),
        result("delete account", "edna", 60.0, derivation=True),
    ]
    lines = table(results).splitlines()
    (delete,) = [line for line in lines if line.startswith("delete account") and "derived" not in line]
    assert delete.endswith("4.0")
    assert table([]) == ""


def test_the_table_puts_published_medians_beside_only_where_there_are_some() -> None:
    published = [
        result("delete account", "edna", 6.0, app="lobsters", extra={"published": [5.2, 13.4]}),
        result("restore account", "edna", 9.0, app="lobsters", extra={"published": [None, 17.6]}),
        result("create account", "edna", 1.0, app="lobsters"),
    ]
    lines = table(published).splitlines()
    (delete,) = [line for line in lines if line.startswith("delete account")]
    (restore,) = [line for line in lines if line.startswith("restore account")]
    assert delete.split()[-2:] == ["5.2/13.4", "2.6"]
    assert restore.split()[-2:] == ["-/17.6", "-"]
    assert "other hardware" in lines[-1]
    assert "published" not in table([result("delete account", "edna", 6.0)])


def test_sizes_and_storage_are_tables_of_their_own() -> None:
    weighed = {"stored_bytes": 9000, "pseudoprincipals": 12, "longest_transaction_ms": 3.21, "peak_bytes": 3 * 2**20}
    (*_, line) = sizes([result("delete account", "edna", 6.0, extra=weighed)]).splitlines()
    assert line.split() == ["delete", "account", "81", "3", "-", "12", "9,000", "-", "3.2", "3.0"]
    size = {
        "before_bytes": 1_000_000,
        "after_bytes": 2_000_000,
        "rebuilt_bytes": 1_500_000,
        "before_rows": 1,
        "after_rows": 2,
    }
    left = {"left": 10, "tables": {"users": size}, "notes": ["so it is"]}
    *_, line, note = storage([result("storage", "edna", 6.0, extra=left)]).splitlines()
    assert line.split() == ["users", "1.00", "2.00", "+100.0%", "1.50", "+50.0%", "1", "2"]
    assert note.strip() == "so it is"
    assert sizes([result("delete account", "edna", 6.0)]) == storage([]) == ""


def test_a_page_gives_its_token_and_its_inputs() -> None:
    page = Page(
        200,
        '<input type="hidden" name="csrfmiddlewaretoken" value="abc"><input name="form-0-answer" value="7">'
        '<input name="other" value="1"><textarea name="form-0-text" rows="5">x</textarea><p class="code">a&amp;b</p>',
    )
    assert page.token == "abc"
    assert page.inputs("form-") == {"form-0-answer": "7"}
    assert page.find(r'class="code">([^<]+)<') == "a&b"
    with pytest.raises(AssertionError, match="not on this page"):
        page.find("(receipt)")


def run_on_sqlite(app: str, tmp_path: Path, *options: str) -> tuple[list[dict[str, Any]], str]:
    """The lines that a run wrote, and what it printed."""
    output = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", f"--apps={app}", "--databases=sqlite", f"--output={output}"]
    environment = _without_test_settings() | {"BENCH_HASHES": "quick"}
    done = subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = json.loads(output.read_text())
    assert all(set(line) >= FIELDS for line in lines)
    return lines, done.stdout


@pytest.mark.slow
def test_a_tiny_run_of_devices_tells_the_processors_time(tmp_path: Path) -> None:
    lines, said = run_on_sqlite("devices", tmp_path, "--no-pictures", "--groups=3", "--bags=5", "--slow-samples=1")
    assert {"create, 3 devices: make", "add, 3 devices: read", "update, 5 bags: wrap"} <= {
        line["operation"] for line in lines
    }
    assert all(line["processor_ms"] > 0 for line in lines)
    assert "5 bags get other recipients" in said
    assert "pictures and tables are in" not in said


@pytest.mark.slow
def test_a_tiny_run_puts_keys_of_both_kinds_beside_each_other(tmp_path: Path) -> None:
    """The same bag, and the same disguise: what hybrid keys take in time and in bytes."""
    lines, said = run_on_sqlite("recipients", tmp_path, "--no-pictures", "--recipient-rounds=2", "--recipient-sizes=2")
    found = {line["operation"]: line for line in lines}
    for kind in ("x25519", "x-wing"):
        assert {f"{name}, {kind}" for name in ("key pair", "seal", "open", "reveal", "disguise, full pool")} <= set(
            found
        )
    # A ciphertext of ML-KEM-768 in a bag's stanza, a public half of it in each pseudoprincipal's entry.
    assert found["seal, x-wing"]["bytes"] - found["seal, x25519"]["bytes"] == 1_088
    entries = [found[f"disguise, full pool, {kind}"]["entries_bytes"] for kind in ("x25519", "x-wing")]
    assert entries[1] - entries[0] > 2 * 1_184
    assert "Keys of X25519 and of the hybrid kind" in said


@pytest.mark.slow
def test_a_tiny_run_writes_every_operation(tmp_path: Path) -> None:
    levels = "library,http"
    tiny = [
        f"--levels={levels}",
        "--users=8",
        "--lectures=2",
        "--questions=2",
        "--samples=2",
        "--http-samples=2",
        "--slow-samples=1",
        "--growth=100",
        "--composition=10",
    ]
    lines, said = run_on_sqlite("websubmit", tmp_path, *tiny)
    operations = {(line["operation"], line["variant"], line["level"]) for line in lines}
    for level in levels.split(","):
        for operation in (
            "create account",
            "list answers",
            "list a lecture's answers",
            "edit an answer",
            "delete account",
        ):
            assert {(operation, "edna", level), (operation, "manual", level)} <= operations
        for operation in (
            "restore account",
            "edit an anonymised answer",
            "delete after anonymise",
            "restore after anonymise",
        ):
            assert (operation, "edna", level) in operations
        assert {("anonymise (per user)", variant, level) for variant in ("edna", "manual")} <= operations
    drilled = [line for line in lines if line["level"] == "library" and line["variant"] == "edna"]
    for line in drilled:
        assert sum(line["parts_ms"].values()) == pytest.approx(line["parts_whole_ms"], abs=0.01), line["operation"]
    for curve, expected in (("rows", {10, 100}), ("composition", {0, 1, 10})):
        points = [line for line in lines if line.get("curve") == curve and line["variant"] == "edna"]
        assert {line["x"] for line in points} == expected
        for name in {line["line"] for line in points}:
            grown = {line["statements"] for line in points if line["line"] == name and line["x"]}
            assert len(grown) == 1, f"the number of statements of {name} depends on the {curve}"
    index = tmp_path / "bench" / "index.html"
    assert f"pictures and tables are in {index}" in said
    assert "<img" in index.read_text()


@pytest.mark.slow
def test_a_tiny_run_of_lobsters_measures_every_disguise_for_all_sizes_of_member_and_the_storage(tmp_path: Path) -> None:
    """The run itself fails if a row is not what it was after a restore."""
    tiny = ("--lobsters-scale=0.01", "--samples=4", "--slow-samples=2")
    lines, said = run_on_sqlite("lobsters", tmp_path, *tiny)
    by_key = {(line["operation"], line["variant"]): line for line in lines}
    there_and_back = {
        "delete account": "restore account",
        "decay": "come back from decay",
        "anonymise a topic": "reclaim a topic",
    }
    for there, back in there_and_back.items():
        for suffix in ("", ", light", ", median", ", heaviest"):
            measured = by_key[f"{there}{suffix}", "edna"]
            assert measured["rows"] == by_key[f"{there}{suffix}", "manual"]["rows"] > 0
            assert measured["stored_bytes"] > 0
            assert by_key[f"{back}{suffix}", "edna"]["longest_transaction_ms"] > 0
        assert (back, "manual") not in by_key
    for name in ("create account", "read a story", "front page"):
        assert by_key[name, "edna"]["rows"] == by_key[name, "manual"]["rows"]
    left = by_key["storage after 10% left", "edna"]
    assert left["tables"]["edna_bag"]["after_rows"] == left["bags"] > 0
    assert left["n"] == left["left"]
    for expected in ("published", "what is stored and held", "storage after 10% left"):
        assert expected in said


@pytest.mark.slow
def test_a_tiny_run_of_hotcrp_measures_it_before_and_after_anonymisation(tmp_path: Path) -> None:
    tiny = ("--hotcrp-users=12", "--hotcrp-pc=10", "--hotcrp-papers=4", "--samples=3", "--slow-samples=2")
    lines, said = run_on_sqlite("hotcrp", tmp_path, *tiny)
    operations = {(line["operation"], line["variant"]) for line in lines}
    drilled = [line for line in lines if line["variant"] == "edna" and "anonymise all" not in line["operation"]]
    assert all("parts_ms" in line for line in drilled)
    by_hand_too = ("create account", "read reviews", "edit a review", "remove account", "anonymise")
    for operation in (*by_hand_too, "anonymise all (per member of the PC)"):
        assert {(operation, "edna"), (operation, "manual")} <= operations
    for operation in ("restore account", "reclaim", "edit an anonymised review"):
        assert (operation, "edna") in operations
    for operation in ("remove after anonymise", "restore after anonymise"):
        assert {
            (f"{operation}{size}", "edna") for size in ("", ", lightest of the PC", ", heaviest of the PC")
        } <= operations
    assert "of whom 10 on the PC" in said


def test_the_tables_of_the_docs_stand_in_the_form_that_they_have_there() -> None:
    points = [
        result(f"{line}, {x}", "edna", ms, database="postgres", extra={"curve": "composition", "line": line, "x": x})
        for line, ms in (("delete", 12.345), ("restore", 1234.5))
        for x in (0, 800)
    ]
    page = list(
        markdown.page(
            [
                result("delete account", "edna", 3.436, n=5, database="postgres"),
                result("delete account", "manual", 0.781, n=5, database="postgres"),
                result("restore account", "edna", 6.26, database="postgres"),
                *points,
            ]
        )
    )
    assert page[0] == "## websubmit on PostgreSQL, library: tiny"
    tables = {part.split()[1]: part.splitlines()[1:] for part in page[1:]}
    assert tables["goals"][2:] == [
        "| WebSubmit on PostgreSQL, delete : by hand | 4.40 (4.40) | 5 | 4.4 | 3.44 : 0.78 |",
        "| WebSubmit on PostgreSQL, restore : delete | 1.82 (1.82) | 2 | 3.7 | 6.26 : 3.44 |",
    ]
    assert tables["times"] == [
        "| operation | edna p5 / p50 / p95 | rows | statements | by hand p5 / p50 / p95 | statements | edna : by hand |",
        "|---|---|---|---|---|---|---|",
        "| delete account | 3.44 / 3.44 / 3.44 | 81 | 3 | 0.78 / 0.78 / 0.78 | 3 | 4.4 |",
        "| restore account | 6.26 | 81 | 3 | – | – | – |",
    ]
    assert tables["composition"][-1] == "| 800 | 12.3 | 3 | 1,234 | 3 |"
    docs = (ROOT / "docs" / "benchmarks.md").read_text()
    assert all(tables[name][0] in docs for name in ("goals", "times", "composition"))


@pytest.mark.slow
def test_a_tiny_run_of_shards_compares_one_database_with_two() -> None:
    command = [sys.executable, "-m", "benchmarks.shards", "--people=6", "--rounds=3", "--writers=2", "--seconds=1"]
    done = subprocess.run(
        [*command, "--database=postgres"],
        cwd=ROOT,
        env=_without_test_settings(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    one, two = (line for line in lines if line[:1] in (["one"], ["two"]))
    assert one[1] == two[1], "a second database takes statements of its own"
    assert [line[:2] for line in lines if line[:1] == ["2"]] == [["2", "1"], ["2", "2"]]


def test_results_of_what_was_not_measured_stay_in_the_file(tmp_path: Path) -> None:
    output = tmp_path / "bench.json"
    old = [
        result("delete account", "edna", 1.0, app=app, database=database)
        for app in ("websubmit", "lobsters")
        for database in ("mariadb", "sqlite")
    ]
    output.write_text(json.dumps([each.as_dict() for each in old]))
    kept = kept_lines(output, [result("delete account", "edna", 2.0, app="lobsters", database="mariadb")])
    assert [(line["app"], line["database"]) for line in kept] == [
        ("websubmit", "mariadb"),
        ("websubmit", "sqlite"),
        ("lobsters", "sqlite"),
    ]
    output.write_text("not ours")
    assert kept_lines(output, []) == []


def test_a_missing_server_gets_one_sentence(tmp_path: Path) -> None:
    environment = _without_test_settings() | {"PATH": str(tmp_path)}
    program = "import benchmarks.__main__ as b, shutil, sys; shutil.which = lambda *a, **k: None; sys.exit(b.main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "--databases=mariadb"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: mariadbd is not installed")
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_file_whose_name_the_pictures_need_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", f"--output={tmp_path / 'results'}"]
    done = subprocess.run(command, cwd=ROOT, env=_without_test_settings(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].endswith("results.json: pictures go into a folder of its name")


def _without_test_settings() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("EDNA_", "DJANGO_"))}


@pytest.mark.slow
def test_a_tiny_run_of_the_key_pools() -> None:
    command = [sys.executable, "-m", "benchmarks.keypool", "--rounds=2", "--sizes=2,5", "--database=sqlite"]
    done = subprocess.run(command, cwd=ROOT, env=_without_test_settings(), capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines() if " / " in line and line.split()[0].isdigit()] == [
        "2",
        "5",
    ]
    assert "refilled without an end" in done.stdout


@pytest.mark.slow
def test_a_tiny_run_of_the_middleware_says_whether_the_goal_was_reached() -> None:
    command = [sys.executable, "-m", "benchmarks.middleware", "--rounds=20"]
    done = subprocess.run(command, cwd=ROOT, env=_without_test_settings(), capture_output=True, text=True, check=True)
    tables = [line for line in done.stdout.splitlines() if line.endswith("requests each, µs")]
    assert len(tables) == 5
    verdicts = [line for line in done.stdout.splitlines() if line.endswith((" reached", " missed"))]
    assert [line.strip().startswith("as gunicorn serves it") for line in verdicts] == [True]
