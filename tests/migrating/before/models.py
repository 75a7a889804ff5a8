"""The site's first version."""

from __future__ import annotations

from django.db import models


class User(models.Model):
    username = models.CharField(max_length=40, unique=True)
    email = models.CharField(max_length=80)
    karma = models.IntegerField(default=0)


class Story(models.Model):
    user = models.ForeignKey(User, models.CASCADE)
    url = models.CharField(max_length=200)
    title = models.CharField(max_length=100)
    text = models.TextField()
    posted_at = models.DateTimeField(null=True)


class Moderation(models.Model):
    """Owned by both."""

    moderator = models.ForeignKey(User, models.CASCADE, null=True, related_name="moderations")
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="moderated")
    story = models.ForeignKey(Story, models.SET_NULL, null=True)
    action = models.CharField(max_length=100)
