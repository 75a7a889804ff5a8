"""Tables that others have made long ago, described as `manage.py inspectdb` would: guesses for most types, and nobody manages them."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.websubmit.models import User


class Found(models.Model):
    class Meta:
        abstract = True
        managed = False
        app_label = "attic"


class Thing(Found):
    """On PostgreSQL an enumeration, an array, JSON as text, a composite value, an interval; on MariaDB what it has instead."""

    id = models.IntegerField(primary_key=True)
    person = models.ForeignKey(User, models.DO_NOTHING)
    mood = models.TextField()
    tags = models.TextField()
    note = models.CharField(max_length=5)
    data = models.TextField()
    size = models.TextField(null=True)
    weight = models.FloatField()


class Marked(Found):
    """PostgreSQL's: of lists the driver makes lists."""

    id = models.IntegerField(primary_key=True)
    person = models.ForeignKey(User, models.DO_NOTHING)
    labels = ArrayField(models.TextField())
    beside = models.ForeignKey("self", models.SET_NULL, null=True)


class Stubborn(Found):
    """Of which the database keeps what it is told to delete."""

    person = models.ForeignKey(User, models.DO_NOTHING)
    code = models.FloatField(unique=True)

    class Meta(Found.Meta):
        db_table = "attic_stubborn"


class Member(Found):
    """Known by a text, of which the database does not tell some letters apart."""

    code = models.CharField(max_length=20, primary_key=True)
    name = models.TextField()


class Letter(Found):
    author = models.ForeignKey(Member, models.DO_NOTHING, related_name="written")
    reader = models.ForeignKey(Member, models.DO_NOTHING, related_name="read", null=True)
    text = models.TextField()


class Counted(Found):
    """With a column that the database computes, one of which the model knows nothing, and rows of others that go with its own."""

    person = models.ForeignKey(User, models.DO_NOTHING)
    text = models.TextField()
    upper = models.TextField()
