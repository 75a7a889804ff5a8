"""Two who do something at the same moment."""

from __future__ import annotations

import threading

import pytest
from django.db import connections, transaction

from apps.hotcrp_sim import reviews
from apps.hotcrp_sim.models import ContactInfo, PaperReview, TopicArea
from tests.faults.test_busy import until_waiting
from tests.faults.test_concurrency import WAIT_SECONDS, at_once

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
    locked = threading.Event()

    def leaving() -> None:
        with transaction.atomic():
            # MariaDB ends whoever has changed less.
            TopicArea.objects.bulk_create(TopicArea(topic_name=f"topic {number}") for number in range(100))
            list(ContactInfo.objects.select_for_update().filter(pk=site.mia.user.pk))
            locked.set()
            until_waiting()
            list(PaperReview.objects.select_for_update().filter(review_id=asked.review_id))

    def withdrawing() -> int:
        assert locked.wait(WAIT_SECONDS)
        return int(site.chair.post("unassign", site.quiet.pk, review=asked.review_id).status_code)

    try:
        left, status = at_once(leaving, withdrawing)
    finally:
        connections.close_all()
    assert (left, status) == (None, 302)
    assert not PaperReview.objects.filter(review_id=asked.review_id).exists()
