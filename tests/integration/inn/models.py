"""The inn: guests and hosts are counted alike, and some rows name both."""

from __future__ import annotations

from django.db import models


class Guest(models.Model):
    """A principal that is no user of Django's: it has neither a user name nor ``is_active``."""

    is_authenticated = True
    is_anonymous = False

    name = models.CharField(max_length=60, default="")
    last_login = models.DateTimeField(null=True)  # Django writes it at every login

    class Meta:
        app_label = "inn"
        ordering = ("pk",)


class Regular(Guest):
    """A proxy: another name for the same rows."""

    class Meta:
        app_label = "inn"
        ordering = ("pk",)
        proxy = True


class Host(models.Model):
    is_authenticated = True
    is_anonymous = False

    name = models.CharField(max_length=60, default="")
    last_login = models.DateTimeField(null=True)  # Django writes it at every login
    is_active = models.BooleanField(default=True)

    class Meta:
        app_label = "inn"
        ordering = ("pk",)


class Stay(models.Model):
    """The guest's; it mentions the host, and perhaps another guest."""

    guest = models.ForeignKey(Guest, models.CASCADE, related_name="stays")
    host = models.ForeignKey(Host, models.CASCADE, null=True, related_name="stays")
    friend = models.ForeignKey(Guest, models.SET_NULL, null=True, related_name="+")
    text = models.TextField(default="")

    class Meta:
        app_label = "inn"
        ordering = ("pk",)


class Meal(models.Model):
    """The host's."""

    cook = models.ForeignKey(Host, models.CASCADE, related_name="meals")
    text = models.TextField(default="")

    class Meta:
        app_label = "inn"
        ordering = ("pk",)


class Letter(models.Model):
    """As much the guest's as the host's, who are of different models."""

    guest = models.ForeignKey(Guest, models.CASCADE, related_name="letters")
    host = models.ForeignKey(Host, models.CASCADE, related_name="letters")
    text = models.TextField(default="")

    class Meta:
        app_label = "inn"
        ordering = ("pk",)


MODELS = (Guest, Host, Stay, Meal, Letter)
