"""What axe-core finds on a page that shuts somebody out: in both colours, on a desk and on a telephone.

The browser's debugger brings the script into the page, past the page's Content-Security-Policy. The policy itself stays as strict as it
was, for the page and for what axe-core tries. Knows nothing of edna.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT

WIDE, PHONE, HIGH = 1280, 390, 760

#: What is folded is unfolded meanwhile. Rules are asked whose breach is serious or critical, and only these; two of them are not asked by
#: default, and WCAG 2.2 has them at AA and at A.
ASK = """async () => {
  const more = ["target-size", "label-content-name-mismatch"];
  const isUsual = ({enabled, tags}) => enabled && !tags.includes("experimental") && !tags.includes("deprecated");
  const isAsked = (rule) => ["serious", "critical"].includes(rule.impact) && (isUsual(rule) || more.includes(rule.id));
  const values = axe._audit.rules.filter(isAsked).map(({id}) => id);
  const folded = document.querySelectorAll("details:not([open])");
  folded.forEach(details => details.open = true);
  const {violations} = await axe.run({resultTypes: ["violations"], preload: false, runOnly: {type: "rule", values}});
  folded.forEach(details => details.open = false);
  return violations.flatMap(({id, impact, nodes}) =>
    nodes.map(node => `${impact}: ${id}: ${node.html}: ${node.failureSummary}`));
}"""


def barriers(page: Any) -> list[str]:
    """What axe-core calls serious or critical: one line for each element and view. It leaves the page light and wide."""
    prepare(page)
    found = []
    for colours, width in product(("dark", "light"), (PHONE, WIDE)):
        page.set_viewport_size({"width": width, "height": HIGH})
        page.emulate_media(color_scheme=colours)
        found += [f"{colours}, {width} px: {line}" for line in asked(page)]
    return found


def prepare(page: Any) -> None:
    page.wait_for_load_state()
    page.evaluate(AXE_SCRIPT)


def asked(page: Any) -> list[str]:
    """The same of the page as it is shown now, which is prepared."""
    lines: list[str] = page.evaluate(ASK)
    return lines
