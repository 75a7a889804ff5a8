"""What members of a club write, alone and to each other. Never changes: stored fixtures hold these tables."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Note(models.Model):
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    text = models.TextField()
    written_at = models.DateTimeField(null=True)
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    details = models.JSONField(default=dict)
    attachment = models.FileField(upload_to="notes", blank=True)


class Message(models.Model):
    sender = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="sent")
    recipient = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="received")
    text = models.TextField()


class Vote(models.Model):
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    note = models.ForeignKey(Note, models.CASCADE)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["voter", "note"], name="club_one_vote")]
