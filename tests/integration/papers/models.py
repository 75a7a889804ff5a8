"""Papers: a name stands in a key of a document, in a column of the folder, and within its longer text."""

from __future__ import annotations

from django.db import models


class Writer(models.Model):
    name = models.CharField(max_length=40, unique=True)

    class Meta:
        app_label = "papers"


class Folder(models.Model):
    """Everybody's, and it says who was here last."""

    keeper = models.ForeignKey(Writer, models.SET_NULL, null=True, related_name="kept")
    last_paper = models.ForeignKey("Paper", models.SET_NULL, null=True, related_name="+")
    last_writer_name = models.CharField(max_length=40, default="")
    summary = models.TextField(default="")

    class Meta:
        app_label = "papers"


class Paper(models.Model):
    author = models.ForeignKey(Writer, models.CASCADE, related_name="papers")
    meta = models.JSONField(null=True)

    class Meta:
        app_label = "papers"


class Pen(models.Model):
    """Under which name a writer is known to others, beside each."""

    writer = models.OneToOneField(Writer, models.CASCADE)
    name = models.CharField(max_length=40)

    class Meta:
        app_label = "papers"


class Mention(models.Model):
    """Who is named in whose folder: several in one."""

    folder = models.ForeignKey(Folder, models.CASCADE, related_name="mentions")
    writer = models.ForeignKey(Writer, models.CASCADE, related_name="+")

    class Meta:
        app_label = "papers"


MODELS = (Writer, Paper, Folder, Pen, Mention)
