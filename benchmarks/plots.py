"""Draws the pictures of a run from its file of results: ``python -m benchmarks.plots build/bench.json``.

Beside the file, in a directory of the same name, one SVG for each picture, and an ``index.html`` with all of them and the tables,
which needs nothing else.
"""

from __future__ import annotations

import argparse
import base64
import html
import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks import bars, lines
from benchmarks.drawing import place
from benchmarks.goals import goals
from benchmarks.reporting import PUBLISHED, groups, quick, tables
from benchmarks.timing import Result

_CHARTS = (bars.operations, bars.drilldown, lines.composition, lines.rows, lines.principals)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Benchmarks of edna</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }}
img {{ width: 100%; height: auto; max-width: 60rem; display: block; margin: 1rem 0 2rem }}
pre {{ font-size: 11px; line-height: 1.35; overflow-x: auto; background: #f6f6f6; padding: 1rem }}
h2 {{ margin-top: 3rem; border-top: 1px solid #ddd; padding-top: 1rem }}
</style></head><body>
<h1>Benchmarks of edna</h1>
<p>With edna and by hand, in one run, on the same data and database. {published}.</p>
{quick}
<h2>Goals</h2><pre>{goals}</pre>
{places}
</body></html>
"""


_QUICK = "; few samples (--quick)"


def pictures(here: Sequence[Result]) -> Iterator[tuple[str, Figure]]:
    """Name and figure of all that there is to see of one application, database and level."""
    place = f"{here[0].app}-{here[0].database}-{here[0].level}"
    for chart in _CHARTS:
        if (figure := chart(here)) is not None:
            yield f"{place}-{chart.__name__}", figure
    for result in here:
        if (figure := bars.space(result)) is not None:
            yield f"{place}-space", figure


def draw(results: Sequence[Result], directory: Path) -> list[Path]:
    """Write the pictures and the page; returns what was written. Pictures that lie there from before go."""
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob("*.svg"):
        old.unlink()
    written, sections = [], []
    for here in groups(results):
        images = []
        for name, figure in pictures(here):
            path = directory / f"{name}.svg"
            path.write_bytes(svg(figure, name))
            images.append(_image(path, title(figure)))
            written.append(path)
        scale = f"{here[0].scale}{_QUICK if quick(here) else ''}"
        heading = f"<h2>{html.escape(place(here[0]))}</h2><p>{html.escape(scale)}</p>"
        sections.append(f"{heading}\n{''.join(images)}\n<pre>{html.escape(tables(here))}</pre>")
    index = directory / "index.html"
    index.write_text(
        _PAGE.format(
            published=html.escape(PUBLISHED[0].upper() + PUBLISHED[1:]),
            quick=f"<p><strong>{html.escape(quick(results))}</strong></p>" if quick(results) else "",
            goals=html.escape(goals(results) or "None of them was measured."),
            places="\n".join(sections),
        )
    )
    return [*written, index]


def title(figure: Figure) -> str:
    """What a picture says in words."""
    return figure.get_suptitle() or figure.axes[0].get_title(loc="left")


def svg(figure: Figure, name: str) -> bytes:
    """The picture as a file, the same one each time."""
    file = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": name}):  # or the same results would give another file each time
        figure.savefig(file, format="svg", metadata={"Date": None, "Title": name})
    return file.getvalue()


def _image(path: Path, words: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(words)}" src="data:image/svg+xml;base64,{data}">\n'


def read(path: Path) -> list[Result]:
    """The results of a file that `python -m benchmarks` wrote."""
    lines = json.loads(path.read_text())
    if not lines:
        raise ValueError("it is empty")
    return [Result.from_dict(line) for line in lines]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plots", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path, nargs="?", default=Path("build/bench.json"), help="default: %(default)s")
    parser.add_argument("--directory", type=Path, help="where to (default: beside the file, without its ending)")
    arguments = parser.parse_args()
    try:
        results = read(arguments.results)
    except (OSError, ValueError, TypeError) as error:
        print(f"error: {arguments.results} holds no results ({error}); `make bench` makes some.", file=sys.stderr)
        return 1
    directory = arguments.directory or arguments.results.with_suffix("")
    print(f"{len(draw(results, directory)) - 1} pictures are in {directory}, with the tables in index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
