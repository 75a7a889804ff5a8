"""What all pictures share: Okabe and Ito's colours, which people with any kind of colour vision can tell apart, and the frame's style."""

from __future__ import annotations

from typing import Any, Final

BLUE, SKY, ORANGE, VERMILION, GREEN, PURPLE = "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7"
INK: Final = "#222222"
STYLE: Final[dict[str, Any]] = {
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "legend.frameon": False,
}
