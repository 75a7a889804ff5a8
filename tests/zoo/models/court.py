"""The court: rows that belong to two and to three people."""

from __future__ import annotations

from django.db import models


class Party(models.Model):
    name = models.CharField(max_length=60, default="")

    class Meta:
        app_label = "zoo"


class Message(models.Model):
    author = models.ForeignKey(Party, models.CASCADE, related_name="sent")
    recipient = models.ForeignKey(Party, models.CASCADE, related_name="received")
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Seal(models.Model):
    """Belongs to whom its message belongs to."""

    message = models.ForeignKey(Message, models.CASCADE)
    text = models.TextField(null=True)

    class Meta:
        app_label = "zoo"


class Moderation(models.Model):
    """Two owners, of whom one may be NULL and the other nobody."""

    NOBODY = 0

    moderator = models.ForeignKey(Party, models.SET_NULL, null=True, related_name="moderations")
    user = models.ForeignKey(Party, models.DO_NOTHING, db_constraint=False, default=NOBODY, related_name="moderated_by")
    reason = models.TextField()

    class Meta:
        app_label = "zoo"


class Treaty(models.Model):
    """Three owners, two of them in a unique constraint, the third nullable."""

    first = models.ForeignKey(Party, models.CASCADE, related_name="treaties_first")
    second = models.ForeignKey(Party, models.CASCADE, related_name="treaties_second")
    third = models.ForeignKey(Party, models.SET_NULL, null=True, related_name="treaties_third")
    number = models.IntegerField()
    text = models.TextField()

    class Meta:
        app_label = "zoo"
        constraints = (models.UniqueConstraint(fields=["first", "second", "number"], name="zoo_one_treaty"),)


MODELS = (Party, Message, Seal, Moderation, Treaty)
