"""The guided tour through HotCRP holds, and it would say so if it did not."""

from __future__ import annotations

from typing import Any

import pytest

from apps.hotcrp_sim.models import ActionLog, ContactInfo, PaperReview
from edna import Outcome, Receipt

pytestmark = pytest.mark.slow


def test_every_check_holds(tour: Any) -> None:
    output = tour("hotcrp")
    assert "✗" not in output
    assert output.count("  ✓ ") >= 35
    assert "changed rows in PaperReview: 1\n" in output


def leave_an_address(original: Any, *args: Any, **kwargs: Any) -> Receipt:
    """A disguise that forgets where the person was."""
    address = ActionLog.objects.filter(contact=args[1], ipaddr__isnull=False).order_by("pk")[0].ipaddr
    receipt = original(*args, **kwargs)
    entry = ActionLog.objects.order_by("pk").filter(contact__is_guise=True)[0]
    ActionLog.objects.filter(pk=entry.pk).update(ipaddr=address)
    return receipt


def sign_the_review(original: Any, *args: Any, **kwargs: Any) -> Receipt:
    """A disguise that tells the authors more than they knew."""
    receipt = original(*args, **kwargs)
    for review in PaperReview.objects.all():
        texts = {**review.texts, "t02": review.texts["t02"] + " (The author of this review has left.)"}
        review.texts = texts
        review.save(update_fields=["tfields"])
    return receipt


def leave_a_name(original: Any, *args: Any, **kwargs: Any) -> list[Receipt]:
    """A global disguise that misses somebody's review."""
    receipts = original(*args, **kwargs)
    one = PaperReview.objects.filter(contact__is_guise=True).order_by("review_id")[0]
    somebody = ContactInfo.objects.filter(is_guise=False).order_by("pk")[0]
    PaperReview.objects.filter(pk=one.pk).update(contact=somebody)
    return receipts


def let_everybody_speak(original: Any, *args: Any, **kwargs: Any) -> Any:
    """A check of rights that checks nothing."""
    return args[1].contact


def change_a_score(original: Any, *args: Any, **kwargs: Any) -> Outcome:
    """A reveal that brings back almost what was there."""
    outcome = original(*args, **kwargs)
    one = PaperReview.objects.order_by("review_id")[0]
    PaperReview.objects.filter(pk=one.pk).update(over_all_merit=one.over_all_merit + 1)
    return outcome


@pytest.mark.parametrize(
    ("name", "sabotage", "claim"),
    [
        ("disguise", leave_an_address, "Nothing of Rae's is left to be read"),
        ("disguise", sign_the_review, "The page is what it was while Rae was here"),
        ("disguise_all", leave_a_name, "No review and no comment has an author with a name"),
        ("speak_as", let_everybody_speak, "Refused: somebody else's key"),
        ("reveal", change_a_score, "Nothing differs but the one review that Rae edited"),
    ],
)
def test_it_fails_when_something_is_not_as_promised(sabotaged: Any, name: str, sabotage: Any, claim: str) -> None:
    sabotaged("hotcrp", name, sabotage, claim)
