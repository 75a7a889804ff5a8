"""What users and staff can disguise. Registered by the `community` fixture only."""

from __future__ import annotations

import datetime
import decimal

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Modify, Param, Remove, placeholders

from .models import Comment, Draft, Message, Moderation, Story, Tagging, User, Vote

ANON, ANON_DELETE, ANON_RETAIN = "lobsters.anon", "lobsters.anon-delete", "lobsters.anon-retain"
GDPR, DECAY, TOPIC, BY_URL = "lobsters.gdpr", "lobsters.go-dormant", "lobsters.leave-topic", "lobsters.by-url"
DISOWN_STORIES, CLEAR_OUTBOX = "lobsters.disown-stories", "lobsters.clear-outbox"
CLEAR_MESSAGES, REDACT_MESSAGES, REDACT_COMMENTS = (
    "lobsters.clear-messages",
    "lobsters.redact-messages",
    "lobsters.redact-comments",
)
HIDE_PROFILE, CLEAR_DRAFTS, REDACT_DRAFTS = "lobsters.hide-profile", "lobsters.clear-drafts", "lobsters.redact-drafts"


class AnonymousUser(edna.Pseudoprincipal):
    model = User
    values = {"username": placeholders.random_string()}


class Anonymise(Disguise):
    """Nothing that anybody wrote or did shows who it was."""

    name = ANON
    applies_to = "staff"
    transformations = [
        Decorrelate(Story, owner="user"),
        Decorrelate(Comment, owner="user"),
        Decorrelate(Vote, owner="user"),
        Decorrelate(Moderation, owner=["moderator", "user"]),
        Decorrelate(Message, owner=["author", "recipient"]),
        Decorrelate(Draft, owner="user"),
    ]


class AnonymiseDelete(Anonymise):
    """The same; messages that anonymous people get meanwhile are deleted by the reveal."""

    name = ANON_DELETE
    references = {"lobsters.Message.recipient": "delete"}


class AnonymiseRetain(Anonymise):
    """The same; messages that anonymous people get meanwhile stay theirs."""

    name = ANON_RETAIN
    references = {"lobsters.Message.recipient": "retain"}


class Leave(Disguise):
    """The account and all that is its owner's alone is removed; what others share with them stays theirs."""

    name = GDPR
    transformations = [
        Remove(User),
        Remove(Story, owner="user"),
        Remove(Tagging, owner="story__user"),
        Remove(Comment, owner="user"),
        Remove(Vote, owner="user"),
        Remove(Vote, owner="story__user"),
        Remove(Message, owner=["author", "recipient"]),
        Remove(Draft, owner="user"),
        Decorrelate(Moderation, owner=["moderator", "user"]),
    ]


class Decay(Disguise):
    """A dormant account goes; what it wrote stays, under nobody's name."""

    name = DECAY
    transformations = [Remove(User), *Anonymise.transformations]


class LeaveTopic(Disguise):
    """A user has nothing more to do with stories of one tag."""

    name = TOPIC
    params = {"tag": str}
    transformations = [
        Decorrelate(Story, owner="user", where=Q(taggings__tag__name=Param("tag"))),
        Decorrelate(Comment, owner="user", where=Q(story__taggings__tag__name=Param("tag"))),
        Remove(Vote, owner="user", where=Q(story__taggings__tag__name=Param("tag"))),
    ]


class SplitByUrl(Disguise):
    """One pseudoprincipal for all stories of a user that share a URL."""

    name = BY_URL
    transformations = [Decorrelate(Story, owner="user", group_by=["url"])]


class DisownStories(Disguise):
    """One pseudoprincipal for all stories of a user, and nothing else."""

    name = DISOWN_STORIES
    transformations = [Decorrelate(Story, owner="user", group_by=edna.ALL)]


class ClearOutbox(Disguise):
    """Messages go with their author; nobody asks the recipient."""

    name = CLEAR_OUTBOX
    transformations = [Remove(Message, owner="author")]


class ClearMessages(Disguise):
    """A message goes when the last of the two who share it has cleared theirs."""

    name = CLEAR_MESSAGES
    transformations = [Remove(Message, owner=["author", "recipient"])]


class RedactMessages(Disguise):
    name = REDACT_MESSAGES
    transformations = [Modify(Message, owner=["author", "recipient"], set={"body": "[redacted]"})]


class RedactComments(Disguise):
    name = REDACT_COMMENTS
    transformations = [Modify(Comment, owner="user", set={"text": placeholders.random_string()})]


class HideProfile(Disguise):
    name = HIDE_PROFILE
    transformations = [
        Modify(
            User,
            set={
                "username": placeholders.random_string(),
                "email": placeholders.random_email(),
                "about": "",
                "karma": 0,
                "created_at": placeholders.truncated_date(to="year"),
            },
        )
    ]


class ClearDrafts(Disguise):
    name = CLEAR_DRAFTS
    transformations = [Remove(Draft, owner="user")]


class RedactDrafts(Disguise):
    """Every column gets another value."""

    name = REDACT_DRAFTS
    transformations = [
        Modify(
            Draft,
            owner="user",
            set={
                "text": "NULL",
                "code": "7",
                "blob": b"\x00\xff'\\",
                "big": 7,
                "amount": decimal.Decimal("7.7"),
                "moment": datetime.datetime(1999, 12, 31, 23, 59, 59, 7, tzinfo=datetime.UTC),
                "data": {"z": [1, None], "a": "é"},
            },
        )
    ]


ALL = (
    AnonymousUser,
    Anonymise,
    AnonymiseDelete,
    AnonymiseRetain,
    Leave,
    Decay,
    LeaveTopic,
    SplitByUrl,
    DisownStories,
    ClearOutbox,
    ClearMessages,
    RedactMessages,
    RedactComments,
    HideProfile,
    ClearDrafts,
    RedactDrafts,
)
