"""The site's second version: names and texts have tables of their own, addresses are normalised."""

from __future__ import annotations

from django.db import models


class User(models.Model):
    email = models.CharField(max_length=80)
    reputation = models.IntegerField(default=0)
    show_email = models.BooleanField(default=True)


class Handle(models.Model):
    """Has a primary key that the database gives."""

    user = models.OneToOneField(User, models.CASCADE)
    name = models.CharField(max_length=40, unique=True)


class Story(models.Model):
    user = models.ForeignKey(User, models.CASCADE)
    url = models.CharField(max_length=200)
    normalised_url = models.CharField(max_length=200, default="")
    title = models.CharField(max_length=100)
    posted_at = models.DateTimeField(null=True)


class StoryText(models.Model):
    """Has its story's primary key."""

    story = models.OneToOneField(Story, models.CASCADE, primary_key=True)
    body = models.TextField()


class Moderation(models.Model):
    """Owned by both."""

    moderator = models.ForeignKey(User, models.CASCADE, null=True, related_name="moderations")
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="moderated")
    story = models.ForeignKey(Story, models.SET_NULL, null=True)
    action = models.CharField(max_length=100)
