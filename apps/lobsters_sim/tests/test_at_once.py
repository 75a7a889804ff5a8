"""What is written beside a page, while somebody votes: the database ends one of two who wait for each other, and nobody sees that."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from apps.lobsters_sim.models import HiddenStory, ReadRibbon, SavedStory, Story, User
from apps.showcase.tests.meeting import met

from .conftest import BACKEND, Person, Site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("mysql")]


@pytest.mark.parametrize(("address", "row"), [("story", ReadRibbon), ("save", SavedStory), ("hide", HiddenStory)])
def test_a_row_that_names_member_and_story(
    address: str, row: type[ReadRibbon | SavedStory | HiddenStory], site: Site, carl: Person
) -> None:
    """It shares the locks of both, taken one after the other."""
    client, story = Client(), site.beas
    client.force_login(carl.user, backend=BACKEND)
    row.objects.all().delete()
    path = reverse(f"lobsters:{address}", args=[story.short_id])
    status = met(
        lambda: client.get(path) if address == "story" else client.post(path),
        first=Story.objects.filter(pk=story.pk),
        then=User.objects.filter(pk=carl.user.pk),
    )
    assert status == (200 if address == "story" else 302)
    assert row.objects.filter(user=carl.user, story=story).count() == 1
