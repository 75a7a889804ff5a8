"""Writers, and rows that belong to them, or only name them."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.base import ModelBase


class Table(models.Model):
    class Meta:
        abstract = True
        app_label = "desk"


class Writer(Table):
    """A principal; foreign keys may also refer to the pen name."""

    pen_name = models.CharField(max_length=40, unique=True)


class Hidden(models.Manager[Any]):
    """Shows nothing: managers may hide rows, and hidden rows are someone's, too."""

    def get_queryset(self) -> Any:
        return super().get_queryset().none()


class Letter(Table):
    """Two owners, and a third one who only read it."""

    author = models.ForeignKey(Writer, models.CASCADE, related_name="written")
    recipient = models.ForeignKey(Writer, models.CASCADE, null=True, related_name="received")
    censor = models.ForeignKey(Writer, models.SET_NULL, null=True, related_name="read")
    text = models.TextField(default="")

    objects = models.Manager()
    base = Hidden()

    class Meta(Table.Meta):
        default_manager_name = "base"


class Stamp(Table):
    """Owned along a path."""

    letter = models.ForeignKey(Letter, models.CASCADE)


class Draft(Table):
    """Its owner is known by pen name."""

    writer = models.ForeignKey(Writer, models.CASCADE, to_field="pen_name")
    text = models.TextField(default="")


class Page(Table):
    """A key of two columns, one of which is the owner."""

    pk = models.CompositePrimaryKey("writer", "number")
    writer = models.ForeignKey(Writer, models.CASCADE)
    number = models.IntegerField()
    text = models.TextField(default="")


class Paper(Table):
    """A parent's table has the owner, the child's the text."""

    owner = models.ForeignKey(Writer, models.CASCADE)
    title = models.CharField(max_length=40)


class Essay(Paper):
    text = models.TextField(default="")

    class Meta(Table.Meta):
        pass


class Bookmark(Table):
    """Of no disguise; there is only one whose it can be."""

    writer = models.ForeignKey(Writer, models.CASCADE)


class Duel(Table):
    """Of no disguise, and two whose it could be."""

    first = models.ForeignKey(Writer, models.CASCADE, related_name="challenged")
    second = models.ForeignKey(Writer, models.CASCADE, related_name="accepted")


class Shelf(Table):
    """Nobody's."""

    label = models.CharField(max_length=10)


#: In an order in which the tables can be made.
MODELS: tuple[ModelBase, ...] = (Writer, Letter, Stamp, Draft, Page, Paper, Essay, Bookmark, Duel, Shelf)
PRINCIPALS = ("desk.writer",)
