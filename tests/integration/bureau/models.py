"""People of whom a column says who administers the site, and no column ``is_staff``."""

from __future__ import annotations

from django.db import models


class Clerk(models.Model):
    """A principal."""

    email = models.EmailField(unique=True)
    is_superuser = models.BooleanField(default=False)

    class Meta:
        app_label = "bureau"


class Letter(models.Model):
    clerk = models.ForeignKey(Clerk, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "bureau"


MODELS = (Clerk, Letter)
