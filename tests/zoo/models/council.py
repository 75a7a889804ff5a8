"""The council: a tree that cascades, a condition that what refers to a row has to follow, and minutes about people by content type."""

from __future__ import annotations

from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models


class Elder(models.Model):
    name = models.CharField(max_length=60, default="")

    class Meta:
        app_label = "zoo"


class Motion(models.Model):
    """A tree, of which each part is somebody's."""

    proposer = models.ForeignKey(Elder, models.CASCADE)
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="amendments")
    private = models.BooleanField(default=False)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Remark(models.Model):
    elder = models.ForeignKey(Elder, models.CASCADE)
    motion = models.ForeignKey(Motion, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Minute(models.Model):
    """About an elder, where no foreign key says so."""

    content_type = models.ForeignKey(ContentType, models.CASCADE)
    object_id = models.BigIntegerField()
    target = GenericForeignKey()
    text = models.TextField()

    class Meta:
        app_label = "zoo"


MODELS = (Elder, Motion, Remark, Minute)
