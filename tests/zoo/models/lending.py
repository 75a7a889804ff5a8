"""Lending books: natural keys, references to other columns than the key, owners inside primary keys and by value."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import models


class Reader(models.Model):
    """A principal with a natural key, and a second column that others refer to."""

    code = models.CharField(max_length=60, primary_key=True)
    email = models.CharField(max_length=100, unique=True)
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "zoo"


class Wish(models.Model):
    reader = models.ForeignKey(Reader, models.CASCADE, null=True)
    title = models.TextField()

    class Meta:
        app_label = "zoo"


class Review(models.Model):
    """Refers to its owner by another column than the key."""

    reader = models.ForeignKey(Reader, models.CASCADE, to_field="email")
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Loan(models.Model):
    """The owner is a part of the primary key."""

    pk = models.CompositePrimaryKey("reader", "number")
    reader = models.ForeignKey(Reader, models.CASCADE)
    number = models.IntegerField()
    book = models.TextField()

    class Meta:
        app_label = "zoo"


class Shelf(models.Model):
    """A natural key, which others refer to."""

    label = models.CharField(max_length=60, primary_key=True)
    reader = models.ForeignKey(Reader, models.CASCADE)

    class Meta:
        app_label = "zoo"


class Copy(models.Model):
    shelf = models.ForeignKey(Shelf, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Card(models.Model):
    """The owner is the primary key."""

    reader = models.OneToOneField(Reader, models.CASCADE, primary_key=True)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Call(models.Model):
    """Names its reader by a value, where no foreign key does; says more in a document."""

    documents: Mapping[str, tuple[str, ...]] = {"slip": ("note", "desk")}

    reader_code = models.CharField(max_length=60, db_index=True, blank=True, default="")
    text = models.TextField()
    slip = models.JSONField(default=dict)

    class Meta:
        app_label = "zoo"


MODELS = (Reader, Wish, Review, Loan, Shelf, Copy, Card, Call)
