from __future__ import annotations

from collections.abc import Iterable

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.migrating.after.models import Handle, Moderation, Story, StoryText, User
from tests.migrating.after.urls import normalised


@edna.register
class Anonymous(edna.Pseudoprincipal):
    model = User
    values = {"email": placeholders.random_email()}


@edna.register
class Anon(Disguise):
    name = "lobsters.anon"
    transformations = [Decorrelate(Story, owner="user"), Decorrelate(Moderation, owner=["moderator", "user"])]
    # The migration has given placeholder users names as well.
    references = {"lobsters.Handle.user": "delete"}


@edna.register
class Gdpr(Disguise):
    name = "lobsters.gdpr"
    transformations = [
        Remove(StoryText, owner="story__user"),
        Remove(Story, owner="user"),
        Decorrelate(Moderation, owner=["moderator", "user"]),
        Remove(Handle, owner="user"),
        Remove(User),
    ]
    references = {"lobsters.Handle.user": "delete"}


@edna.register
class Blank(Disguise):
    name = "lobsters.blank"
    transformations = [
        Modify(Story, owner="user", set={"url": "https://Deleted.example/", "normalised_url": "deleted.example"}),
        Modify(StoryText, owner="story__user", set={"body": "[deleted]"}),
    ]


# What the migrations did to the rows that were there, for those that were not.


@edna.record_migration("lobsters", "0002_normalised_url", models=["lobsters.story"])
def with_normalised_url(record: edna.SealedRecord) -> edna.SealedRecord:
    record.derive("normalised_url", normalised, "url")
    return record


@edna.record_migration("lobsters", "0004_story_text", models=["lobsters.story"])
def text_in_its_own_table(record: edna.SealedRecord) -> Iterable[edna.SealedRecord | None]:
    return record, record.split_off("lobsters.storytext", {"text": "body"}, key={"story": "id"})


@edna.record_migration("lobsters", "0005_handles", models=["lobsters.user"])
def name_in_its_own_table(record: edna.SealedRecord) -> Iterable[edna.SealedRecord]:
    yield record
    if record.removed:
        yield record.another("lobsters.handle", user=record["id"], name=record.old.pop("username"))
