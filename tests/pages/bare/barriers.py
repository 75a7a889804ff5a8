"""What axe-core finds on a page that shuts somebody out: in both colours, on a desk and on a telephone.

The browser's debugger brings the script into the page, past the page's Content-Security-Policy. The policy itself stays as strict as it
was, for the page and for what axe-core tries. Knows nothing of edna.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT

WIDE, PHONE, HIGH = 1280, 390, 760

#: What is folded is unfolded meanwhile. Two rules are asked that are not by default, and that WCAG 2.2 has at AA and at A.
ASK = """async () => {
  const folded = document.querySelectorAll("details:not([open])");
  folded.forEach(details => details.open = true);
  const {violations} = await axe.run({
    resultTypes: ["violations"], rules: {"target-size": {enabled: true}, "label-content-name-mismatch": {enabled: true}},
  });
  folded.forEach(details => details.open = false);
  return violations.filter(({impact}) => ["serious", "critical"].includes(impact)).flatMap(({id, impact, nodes}) =>
    nodes.map(node => `${impact}: ${id}: ${node.html}: ${node.failureSummary}`));
}"""


def barriers(page: Any) -> list[str]:
    """What axe-core calls serious or critical: one line for each element and view. It leaves the page light and wide."""
    page.wait_for_load_state()
    page.evaluate(AXE_SCRIPT)
    found = []
    for colours, width in product(("dark", "light"), (PHONE, WIDE)):
        page.set_viewport_size({"width": width, "height": HIGH})
        page.emulate_media(color_scheme=colours)
        found += [f"{colours}, {width} px: {line}" for line in page.evaluate(ASK)]
    return found
