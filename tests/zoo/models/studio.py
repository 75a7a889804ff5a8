"""The studio: UUIDs as keys, models that inherit from each other's tables, files, a table that Django does not manage."""

from __future__ import annotations

import uuid

from django.db import models


class Artist(models.Model):
    """A principal with a UUID key."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    handle = models.CharField(max_length=60, unique=True)
    settings = models.JSONField(default=dict)

    class Meta:
        app_label = "zoo"


class Work(models.Model):
    """A multi-table parent, which has the owner."""

    artist = models.ForeignKey(Artist, models.CASCADE, related_name="works")
    title = models.TextField()

    class Meta:
        app_label = "zoo"


class Painting(Work):
    medium = models.TextField(default="oil")

    class Meta:
        app_label = "zoo"


class Song(Work):
    seconds = models.IntegerField(default=0)
    singer = models.ForeignKey(Artist, models.SET_NULL, null=True, related_name="sung")

    class Meta:
        app_label = "zoo"


class Showing(models.Model):
    """Owned by a path through a multi-table parent."""

    work = models.ForeignKey(Work, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Sketch(models.Model):
    artist = models.ForeignKey(Artist, models.CASCADE)
    image = models.FileField(upload_to="sketches", null=True, blank=True)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class LegacyNote(models.Model):
    """The table is kept by somebody else, and no constraint watches the owner."""

    number = models.BigIntegerField(primary_key=True, db_column="NOTE_NO")
    artist = models.ForeignKey(Artist, models.DO_NOTHING, db_constraint=False, db_column="ARTIST")
    text = models.TextField(db_column="NOTE_TEXT")

    class Meta:
        app_label = "zoo"
        managed = False
        db_table = "legacy_notes"


#: The last is not managed: its table is made by whoever installs the zoo.
MODELS = (Artist, Work, Painting, Song, Showing, Sketch, LegacyNote)
