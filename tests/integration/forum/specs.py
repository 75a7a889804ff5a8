"""What members can disguise."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders

from .models import Follower, Member, Post, Profile, Settings, Topic, Watch


class Nobody(edna.Pseudoprincipal):
    model = Member
    values = {"name": placeholders.random_string(), "email": placeholders.random_email(), "is_active": False}
    companions = {Profile: {"signature": "[deleted]", "avatar": ""}, Settings: {}, Watch: None}


class Anonymise(Disguise):
    """The posts stay, and say nobody's name."""

    name = "forum.anonymise"
    transformations = [
        Decorrelate(Topic, owner="starter"),
        Decorrelate(Topic, owner="last_poster"),
        Decorrelate(Post, owner="author"),
    ]


class Leave(Disguise):
    name = "forum.leave"
    transformations = [
        Remove(Member),
        Remove(Profile, owner="member"),
        Remove(Settings, owner="member"),
        Remove(Follower, owner="profile__member"),
        Remove(Follower, owner="member"),
        Remove(Watch, owner="member"),
        Decorrelate(Topic, owner="starter"),
        Decorrelate(Topic, owner="last_poster"),
        Decorrelate(Post, owner="author"),
    ]


class Hush(Disguise):
    """Signatures are emptied, whoever's the profile is now."""

    name = "forum.hush"
    transformations = [Modify(Profile, owner="member", set={"signature": "[hushed]"})]


ALL = (Nobody, Anonymise, Leave, Hush)
