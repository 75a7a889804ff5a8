"""Two who do something at the same moment."""

from __future__ import annotations

import threading

import pytest
from django.db import connections, transaction

from apps.hotcrp_sim import reviews
from apps.hotcrp_sim.models import FOR_AUTHORS, ContactInfo, Paper, PaperComment, PaperReview
from apps.showcase.tests.meeting import met
from tests.waiting import WAIT_SECONDS, at_once, until_waiting

from .people import make_site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("mysql")]


def test_reviews_of_two_papers_that_are_asked_for_at_once_get_two_numbers() -> None:
    """The second draws the number of the first, which is not committed yet, and is refused when it is."""
    site = make_site()
    first, second = site.quiet, site.fair
    asked = threading.Event()

    def one() -> int:
        with transaction.atomic():
            review = reviews.ask(first.pk, site.mia.user, asked_by=site.chair.user)
            asked.set()
            until_waiting()
        return int(review.review_id)

    def other() -> int:
        assert asked.wait(WAIT_SECONDS)
        with transaction.atomic():
            return int(reviews.ask(second.pk, site.mia.user, asked_by=site.chair.user).review_id)

    try:
        numbers = at_once(one, other)
    finally:
        connections.close_all()
    assert numbers == [numbers[0], numbers[0] + 1]
    assert PaperReview.objects.filter(review_id__in=numbers).count() == 2


def test_a_request_is_withdrawn_while_its_reviewer_is_leaving() -> None:
    """Whoever leaves has their account locked and wants their reviews; whoever withdraws has the review and writes about the account."""
    site = make_site()
    with transaction.atomic():
        asked = reviews.ask(site.quiet.pk, site.mia.user, asked_by=site.chair.user)
    review = PaperReview.objects.filter(review_id=asked.review_id)
    status = met(
        lambda: site.chair.post("unassign", site.quiet.pk, review=asked.review_id),
        first=ContactInfo.objects.filter(pk=site.mia.pk),
        then=review,
    )
    assert status == 302
    assert not review.exists()


def test_a_comment_is_written_while_its_author_is_put_away() -> None:
    """It shares the locks of author and paper, taken one after the other."""
    site = make_site()
    chair = site.chair
    status = met(
        lambda: chair.post("comment", site.quiet.pk, text="Well done.", audience=FOR_AUTHORS),
        first=Paper.objects.filter(pk=site.quiet.pk),
        then=ContactInfo.objects.filter(pk=chair.pk),
    )
    assert status == 302
    assert PaperComment.objects.filter(contact=chair.pk, comment="Well done.").count() == 1
