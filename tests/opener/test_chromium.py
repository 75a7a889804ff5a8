"""The opener in Chromium, on a page with a strict policy: the same as in Node."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.devices.test_vectors import CASES as OF_DEVICES
from tests.opener.test_vectors import expected
from tests.unit.test_vectors import CASES as OF_FORMAT

pytestmark = pytest.mark.browser

CASES = {**OF_FORMAT, **{f"devices {name}": case for name, case in OF_DEVICES.items()}}
ROOT = Path(__file__).resolve().parent.parent.parent
POLICIES = {
    "own": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'",
    "nonce": "default-src 'none'; script-src 'nonce-once' 'wasm-unsafe-eval'; base-uri 'none'; require-trusted-types-for 'script'",
}


class Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        policy = POLICIES.get(self.path.partition("?")[2])
        if policy:
            self.send_header("Content-Security-Policy", policy)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(ROOT))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_opener_reads_every_vector_in_chromium(
    policy: str, page: Any, site: str, record_property: Callable[..., None]
) -> None:
    """With nonces, without inline scripts, and with nothing but 'wasm-unsafe-eval' beside: nothing is refused by the policy."""
    page.goto(f"{site}/tests/opener/page.html?{policy}")
    page.wait_for_function("globalThis.run !== undefined")

    asked = [{name: case[name] for name in ("operation", "input")} for case in CASES.values()]
    found = page.evaluate(
        "async (cases) => { const all = []; for (const each of cases) all.push(await run(each)); return all; }", asked
    )

    assert dict(zip(CASES, found, strict=True)) == {name: expected(case) for name, case in CASES.items()}
    assert page.evaluate("refused") == []
    record_property("vectors agreed in Chromium", len(CASES))
