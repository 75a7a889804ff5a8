"""The forum: third-party code in miniature, which answers with an error for a member without a profile."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Member(models.Model):
    is_authenticated = True
    is_anonymous = False

    name = models.CharField(max_length=80, unique=True)
    email = models.EmailField(default="")
    is_active = models.BooleanField(default=True)

    class Meta:
        app_label = "forum"
        ordering = ("pk",)

    def get_absolute_url(self) -> str:
        return reverse("member", kwargs={"pk": self.pk})


class Profile(models.Model):
    """Beside every member; others may follow it."""

    member = models.OneToOneField(Member, models.CASCADE)
    signature = models.TextField(default="")
    avatar = models.FileField(upload_to="avatars/")
    joined_at = models.DateTimeField(auto_now_add=True)
    posts = models.PositiveIntegerField(default=0)

    class Meta:
        app_label = "forum"
        ordering = ("pk",)


class Settings(models.Model):
    """Beside every member, under the member's own key."""

    member = models.OneToOneField(Member, models.CASCADE, primary_key=True)
    theme = models.CharField(max_length=20, default="light")

    class Meta:
        app_label = "forum"
        ordering = ("pk",)


class Follower(models.Model):
    """Somebody who follows somebody's profile."""

    profile = models.ForeignKey(Profile, models.CASCADE, related_name="followers")
    member = models.ForeignKey(Member, models.CASCADE)

    class Meta:
        app_label = "forum"
        ordering = ("pk",)
        unique_together = (("profile", "member"),)


class Watch(models.Model):
    """Made by a page for whoever it is about, if there is none; of a kind of which everybody has one."""

    member = models.OneToOneField(Member, models.CASCADE)
    level = models.IntegerField(default=0)

    class Meta:
        app_label = "forum"
        ordering = ("pk",)


class Topic(models.Model):
    starter = models.ForeignKey(Member, models.CASCADE, related_name="topics")
    last_poster = models.ForeignKey(Member, models.CASCADE, related_name="+")
    title = models.CharField(max_length=80, default="")

    class Meta:
        app_label = "forum"
        ordering = ("pk",)


class Post(models.Model):
    topic = models.ForeignKey(Topic, models.CASCADE, related_name="posts")
    author = models.ForeignKey(Member, models.CASCADE, related_name="posts")
    text = models.TextField(default="")

    class Meta:
        app_label = "forum"
        ordering = ("pk",)


MODELS = (Member, Profile, Settings, Follower, Watch, Topic, Post)
