"""The fair: what stands beside everybody, what others leave there, and what is said of that."""

from __future__ import annotations

from django.db import models


class Trader(models.Model):
    name = models.CharField(max_length=80, unique=True)

    class Meta:
        app_label = "fair"


class Stall(models.Model):
    """Beside every trader; pseudoprincipals have one, too."""

    trader = models.OneToOneField(Trader, models.CASCADE)
    colour = models.CharField(max_length=20, default="")

    class Meta:
        app_label = "fair"


class Ledger(models.Model):
    """Made by a page for whoever has none."""

    trader = models.OneToOneField(Trader, models.CASCADE)
    text = models.TextField(default="")

    class Meta:
        app_label = "fair"


class Pennant(models.Model):
    """Made by a page, too; nothing refers to it."""

    trader = models.OneToOneField(Trader, models.CASCADE)
    text = models.TextField(default="")

    class Meta:
        app_label = "fair"


class Visit(models.Model):
    """Somebody's, at somebody's stall."""

    stall = models.ForeignKey(Stall, models.CASCADE)
    visitor = models.ForeignKey(Trader, models.CASCADE)

    class Meta:
        app_label = "fair"


class Line(models.Model):
    """Somebody's, in somebody's ledger."""

    ledger = models.ForeignKey(Ledger, models.CASCADE)
    writer = models.ForeignKey(Trader, models.CASCADE)

    class Meta:
        app_label = "fair"


class Remark(models.Model):
    """Said of a visit by a third."""

    visit = models.ForeignKey(Visit, models.CASCADE)
    speaker = models.ForeignKey(Trader, models.CASCADE)
    text = models.TextField(default="")

    class Meta:
        app_label = "fair"


class Ware(models.Model):
    maker = models.ForeignKey(Trader, models.CASCADE)

    class Meta:
        app_label = "fair"


MODELS = (Trader, Stall, Ledger, Pennant, Visit, Line, Remark, Ware)
