"""What is written beside a page, while somebody votes: the database ends one of two who wait for each other, and nobody sees that."""

from __future__ import annotations

import threading

import pytest
from django.db import connections, transaction
from django.test import Client
from django.urls import reverse

from apps.lobsters_sim.models import HiddenStory, ReadRibbon, SavedStory, Story, Tag, User
from tests.faults.test_busy import until_waiting
from tests.faults.test_concurrency import WAIT_SECONDS, at_once

from .conftest import BACKEND, Person, Site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("mysql")]


@pytest.mark.parametrize(("address", "row"), [("story", ReadRibbon), ("save", SavedStory), ("hide", HiddenStory)])
def test_a_row_that_names_member_and_story(
    address: str, row: type[ReadRibbon | SavedStory | HiddenStory], site: Site, carl: Person
) -> None:
    """It shares the locks of both, taken one after the other. Here somebody else has the second, and then wants the first."""
    client, story = Client(), site.beas
    client.force_login(carl.user, backend=BACKEND)
    row.objects.all().delete()
    locked = threading.Event()

    def voter() -> None:
        with transaction.atomic():
            # MariaDB ends whoever has changed less.
            Tag.objects.bulk_create(Tag(tag=f"tag{number}", description="") for number in range(100))
            list(Story.objects.select_for_update().filter(pk=story.pk))
            locked.set()
            until_waiting()
            list(User.objects.select_for_update().filter(pk=carl.user.pk))

    def reader() -> int:
        assert locked.wait(WAIT_SECONDS)
        path = reverse(f"lobsters:{address}", args=[story.short_id])
        answer = client.get(path) if address == "story" else client.post(path)
        return int(answer.status_code)

    try:
        voted, status = at_once(voter, reader)
    finally:
        connections.close_all()
    assert voted is None
    assert status == (200 if address == "story" else 302)
    assert row.objects.filter(user=carl.user, story=story).count() == 1
