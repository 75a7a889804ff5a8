"""Users, and what they own: alone, in trees, and together. The tables are made by `tests.installed`."""

from __future__ import annotations

from django.db import models

from edna.spec import EPOCH


class Table(models.Model):
    class Meta:
        abstract = True
        app_label = "lobsters"


class User(Table):
    username = models.CharField(max_length=40, unique=True)
    email = models.CharField(max_length=80, unique=True, null=True)
    about = models.TextField(default="")
    karma = models.IntegerField(default=0)
    created_at = models.DateTimeField(default=EPOCH)


class Tag(Table):
    name = models.CharField(max_length=20)


class Story(Table):
    user = models.ForeignKey(User, models.CASCADE, related_name="stories")
    url = models.CharField(max_length=200)
    title = models.CharField(max_length=100)


class Tagging(Table):
    story = models.ForeignKey(Story, models.CASCADE, related_name="taggings")
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="taggings")


class Comment(Table):
    """A tree below a story. It survives both."""

    user = models.ForeignKey(User, models.CASCADE, related_name="comments")
    story = models.ForeignKey(Story, models.SET_NULL, null=True, related_name="comments")
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="replies")
    text = models.TextField()


class Vote(Table):
    user = models.ForeignKey(User, models.CASCADE, related_name="votes")
    story = models.ForeignKey(Story, models.CASCADE, related_name="votes")

    class Meta(Table.Meta):
        abstract = False
        constraints = (models.UniqueConstraint(fields=["user", "story"], name="lobsters_one_vote"),)


class Moderation(Table):
    """Somebody moderated something of somebody. Owned by both; user 0 stands for the site itself and has no row."""

    moderator = models.ForeignKey(User, models.CASCADE, null=True, related_name="moderations", db_constraint=False)
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="moderated", db_constraint=False)
    story = models.ForeignKey(Story, models.SET_NULL, null=True, related_name="moderations")
    action = models.CharField(max_length=100)


class Message(Table):
    """Owned by both."""

    author = models.ForeignKey(User, models.CASCADE, null=True, related_name="sent")
    recipient = models.ForeignKey(User, models.CASCADE, null=True, related_name="received")
    body = models.TextField()


class Draft(Table):
    """A column of every type whose values are easily bent on the way."""

    user = models.ForeignKey(User, models.CASCADE, related_name="drafts")
    text = models.TextField(null=True)
    code = models.CharField(max_length=200, null=True)
    blob = models.BinaryField(null=True)
    big = models.BigIntegerField(null=True)
    amount = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    moment = models.DateTimeField(null=True)
    data = models.JSONField(null=True)


#: In an order in which the tables can be made.
MODELS = (User, Tag, Story, Tagging, Comment, Vote, Moderation, Message, Draft)
