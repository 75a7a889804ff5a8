"""Citizens who write letters to each other. The tables are made by the `post` fixture."""

from __future__ import annotations

from django.db import models


class Citizen(models.Model):
    """A principal."""

    name = models.CharField(max_length=40, unique=True)

    class Meta:
        app_label = "post"


class Letter(models.Model):
    """The sender's as much as the recipient's, with something enclosed."""

    sender = models.ForeignKey(Citizen, models.CASCADE, related_name="sent")
    recipient = models.ForeignKey(Citizen, models.CASCADE, related_name="received")
    text = models.TextField()
    enclosure = models.FileField(upload_to="letters", blank=True)

    class Meta:
        app_label = "post"


MODELS = (Citizen, Letter)
