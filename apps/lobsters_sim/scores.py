"""How the site ranks: a story's hotness and a comment's confidence. Pure arithmetic, shared by the pages and the data generator.

Neither looks at who wrote something: a disguise changes authors, and must not move a story or a comment.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from decimal import Decimal

#: A story as good as another one, but this much older, needs ten times its points to stand beside it.
WINDOW_SECONDS = 22 * 60 * 60

#: What a link to one's own work is worth.
AUTHOR_BONUS = 0.25

#: How sure `confidence` wants to be: the quantile of the normal distribution for 80 %.
CERTAINTY = 1.281551565545


def hotness(
    created_at: datetime.datetime,
    *,
    upvotes: int,
    downvotes: int,
    comment_points: int = 0,
    tag_modifiers: Iterable[float] = (),
    by_author: bool = False,
) -> Decimal:
    """The place of a story on the front page, the smallest first.

    ``comment_points`` are the up- minus the downvotes of its comments, of which half count, and never more than the story's
    own upvotes; below stories that start with a malus only what speaks against them counts.
    """
    score = upvotes - downvotes
    base = sum(tag_modifiers) + (AUTHOR_BONUS if by_author else 0.0)
    points = comment_points / 2
    if base < 0:
        points = min(points, 0.0)
    points = min(points, float(upvotes))
    order = math.log10(max(abs(score + 1) + points, 1.0))
    sign = (score > 0) - (score < 0)
    return Decimal(repr(round(-(order * sign + base + created_at.timestamp() / WINDOW_SECONDS), 7)))


def confidence(upvotes: int, downvotes: int) -> Decimal:
    """The lower end of what a comment's share of upvotes may be, by Wilson's interval: few votes say little."""
    votes = upvotes + downvotes
    if votes == 0:
        return Decimal(0)
    share, square = upvotes / votes, CERTAINTY * CERTAINTY
    middle = share + square / (2 * votes)
    spread = CERTAINTY * math.sqrt(share * (1 - share) / votes + square / (4 * votes * votes))
    return Decimal(f"{max((middle - spread) / (1 + square / votes), 0.0):.19f}")
