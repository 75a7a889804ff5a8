"""A person and a row of every common type of column, to be moved from one kind of database to another."""

from __future__ import annotations

import uuid

from django.db import models


class Holder(models.Model):
    """A principal with a key that every database keeps in another form."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=40, unique=True)

    class Meta:
        app_label = "moving"


class Piece(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    owner = models.ForeignKey(Holder, models.CASCADE)
    before = models.ForeignKey("self", models.SET_NULL, null=True)
    char = models.CharField(max_length=40)
    text = models.TextField()
    slug = models.SlugField()
    email = models.EmailField()
    url = models.URLField()
    file = models.FileField(blank=True)
    flag = models.BooleanField()
    maybe = models.BooleanField(null=True)
    small = models.SmallIntegerField()
    integer = models.IntegerField()
    positive = models.PositiveIntegerField()
    big = models.BigIntegerField()
    real = models.FloatField()
    decimal = models.DecimalField(max_digits=12, decimal_places=3)
    whole = models.DecimalField(max_digits=12, decimal_places=2)
    date = models.DateField()
    time = models.TimeField()
    moment = models.DateTimeField()
    span = models.DurationField()
    uid = models.UUIDField()
    json = models.JSONField()
    binary = models.BinaryField()
    ip = models.GenericIPAddressField()
    nothing = models.DateTimeField(null=True)

    class Meta:
        app_label = "moving"


MODELS = (Holder, Piece)
