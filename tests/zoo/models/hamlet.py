"""The hamlet: the smallest place that has everything once, for whoever goes through every history there is.

Beside the people there are three tables: one of rows that are somebody's alone, one of rows that are two people's, and one that refers to
the second.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.db import models

#: Of JSON columns, what in them the oracle takes for columns.
Documents = Mapping[str, tuple[str, ...]]


class Villager(models.Model):
    name = models.CharField(max_length=60, unique=True)

    class Meta:
        app_label = "zoo"


class Diary(models.Model):
    """Somebody's alone; found by a condition."""

    documents: Documents = {"meta": ("mood",)}

    villager = models.ForeignKey(Villager, models.CASCADE)
    text = models.TextField()
    meta = models.JSONField(default=dict)
    public = models.BooleanField(default=True)

    class Meta:
        app_label = "zoo"


class Letter(models.Model):
    """Two people's; says by their names who has read it."""

    documents: Documents = {"readers": ("0", "1")}

    sender = models.ForeignKey(Villager, models.CASCADE, related_name="sent")
    recipient = models.ForeignKey(Villager, models.CASCADE, related_name="received")
    text = models.TextField()
    readers = models.JSONField(default=list)

    class Meta:
        app_label = "zoo"


class Stamp(models.Model):
    """Belongs to whom its letter belongs to."""

    letter = models.ForeignKey(Letter, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Hearth(models.Model):
    """Beside each pseudoprincipal, and beside nobody else."""

    villager = models.OneToOneField(Villager, models.CASCADE)
    fuel = models.CharField(max_length=20, default="")

    class Meta:
        app_label = "zoo"


MODELS = (Villager, Diary, Letter, Stamp, Hearth)
