from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.migrating.before.models import Moderation, Story, User


@edna.register
class Anonymous(edna.Pseudoprincipal):
    model = User
    values = {"username": placeholders.random_string(), "email": placeholders.random_email()}


@edna.register
class Anon(Disguise):
    name = "lobsters.anon"
    transformations = [Decorrelate(Story, owner="user"), Decorrelate(Moderation, owner=["moderator", "user"])]


@edna.register
class Gdpr(Disguise):
    name = "lobsters.gdpr"
    transformations = [
        Remove(Story, owner="user"),
        Decorrelate(Moderation, owner=["moderator", "user"]),
        Remove(User),
    ]


@edna.register
class Blank(Disguise):
    name = "lobsters.blank"
    transformations = [Modify(Story, owner="user", set={"url": "https://Deleted.example/", "text": "[deleted]"})]
