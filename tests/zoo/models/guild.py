"""The guild: rows beside every member, some of them made for pseudoprincipals, too, and rows that name a member twice.

Others attach rows to what stands beside a member, also beside a pseudoprincipal.
"""

from __future__ import annotations

from django.db import models


class Member(models.Model):
    name = models.CharField(max_length=60, unique=True)

    class Meta:
        app_label = "zoo"


class Sign(models.Model):
    """Beside every member, with a key of its own."""

    member = models.OneToOneField(Member, models.CASCADE)
    motto = models.CharField(max_length=60, default="")

    class Meta:
        app_label = "zoo"


class Chest(models.Model):
    """Beside every member; its key is theirs."""

    member = models.OneToOneField(Member, models.CASCADE, primary_key=True)
    lock = models.CharField(max_length=60, default="")

    class Meta:
        app_label = "zoo"


class Piece(models.Model):
    """Names two members, or one twice."""

    master = models.ForeignKey(Member, models.CASCADE, related_name="led")
    journeyman = models.ForeignKey(Member, models.CASCADE, related_name="made")
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Tool(models.Model):
    """Of one member, in a piece of others."""

    member = models.ForeignKey(Member, models.CASCADE)
    piece = models.ForeignKey(Piece, models.CASCADE, null=True)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Wreath(models.Model):
    """Somebody hangs it on a sign."""

    sign = models.ForeignKey(Sign, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Taunt(models.Model):
    """As a wreath; on nobody's sign it is of no use once somebody is back."""

    sign = models.ForeignKey(Sign, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Plaque(models.Model):
    """As a wreath; where it hangs, it stays."""

    sign = models.ForeignKey(Sign, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Coin(models.Model):
    """Somebody puts it into a chest."""

    chest = models.ForeignKey(Chest, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Ribbon(models.Model):
    """Somebody ties it to a sign, and takes it along when they leave."""

    sign = models.ForeignKey(Sign, models.CASCADE)
    giver = models.ForeignKey(Member, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


MODELS = (Member, Sign, Chest, Piece, Tool, Wreath, Taunt, Plaque, Coin, Ribbon)
