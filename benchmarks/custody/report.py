"""What was measured of keys in browsers: beside the same on the server, and what it may take of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.kit.goals import judge
from benchmarks.timing import Result

#: How many times as long as with the key on the server it may take to bring something back.
MOST: Final = 3.0
_HEAD: Final = (
    f"{'operation':<24}{'key':>9}{'n':>5} |{'p5':>10}{'p50':>10}{'p95':>10} | requests, and what else there is to say"
)


def custody(results: Sequence[Result]) -> str:
    """A table for each database; nothing if none was measured."""
    own = [each for each in results if each.app == "custody"]
    databases = dict.fromkeys(each.database for each in own)
    return "\n\n".join("\n".join(_lines([each for each in own if each.database == name])) for name in databases)


def _lines(results: Sequence[Result]) -> Iterator[str]:
    first = results[0]
    yield f"Keys in browsers, on {first.database}, {first.scale} (ms, in Chromium)"
    yield from (_HEAD, "-" * len(_HEAD))
    for each in results:
        key = "server" if each.variant == "server" else "browser"
        times = "".join(f"{value:>10.1f}" for value in (each.p5_ms, each.p50_ms, each.p95_ms))
        yield f"{each.operation:<24}{key:>9}{each.n:>5} |{times} | {_beside(each)}"
    browser, server = (
        next((each for each in results if (each.operation, each.variant) == ("bring back", variant)), None)
        for variant in ("edna", "server")
    )
    if browser and server:
        factor = browser.p50_ms / server.p50_ms
        yield f"Bringing back takes {factor:.1f} times as long; at most {MOST:g} times: {judge(factor, MOST).met}."
    modules, library = first.extra["modules_gzip_bytes"], first.extra["libsodium_gzip_bytes"]
    yield f"Sent once: modules {modules:,} bytes, libsodium {library:,} (gzip)."


def _beside(result: Result) -> str:
    extra = result.extra
    requests = extra.get("requests", 0)
    parts = [f"{requests} request{'s' if requests > 1 else ''}"] if requests else []
    parts += [f"{extra['pseudoprincipals']} pseudoprincipals"] if "pseudoprincipals" in extra else []
    if "opslimit" in extra:
        parts.append(f"Argon2id, {extra['opslimit']} passes, {extra['memlimit_bytes'] / 2**20:g} MiB")
    parts += [f"{extra['scripts']} scripts, the longest chain {extra['chain']}"] if "scripts" in extra else []
    return ", ".join([*parts, *(f"{name} {ms:.0f} ms" for name, ms in extra.get("spent_ms", {}).items())])
