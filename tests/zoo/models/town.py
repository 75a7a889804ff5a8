"""The town: whole numbers as keys, paths, trees, many-to-many tables, generic keys, a profile that a signal makes."""

from __future__ import annotations

from typing import Any

from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models.functions import Length
from django.db.models.signals import post_save
from django.dispatch import receiver

from tests.zoo.fields import PointField


class Citizen(models.Model):
    """A principal with a whole number as its key."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=60, default="")
    born = models.DateField(null=True)
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "zoo"


class Mayor(Citizen):
    """A proxy: another name for the same rows."""

    class Meta:
        app_label = "zoo"
        proxy = True


class Profile(models.Model):
    """One for each citizen, made by a signal. Its primary key is a foreign key."""

    citizen = models.OneToOneField(Citizen, models.CASCADE, primary_key=True)
    bio = models.TextField(default="")
    theme = models.CharField(max_length=20, default="light")

    class Meta:
        app_label = "zoo"


@receiver(post_save, sender=Citizen, dispatch_uid="zoo.profile")
def make_profile(*, instance: Citizen, created: bool, raw: bool = False, **_: Any) -> None:
    if created and not raw:
        Profile.objects.create(citizen=instance)


class Decree(models.Model):
    mayor = models.ForeignKey(Mayor, models.PROTECT, related_name="decrees")
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Tag(models.Model):
    name = models.CharField(max_length=60)

    class Meta:
        app_label = "zoo"


class Flag(models.Model):
    """May be about any row."""

    content_type = models.ForeignKey(ContentType, models.CASCADE)
    object_id = models.BigIntegerField()
    target = GenericForeignKey()
    note = models.TextField()

    class Meta:
        app_label = "zoo"


class Published(models.Manager):
    """Hides drafts, and is the model's default."""

    def get_queryset(self) -> Any:
        return super().get_queryset().exclude(status="draft")


class Post(models.Model):
    author = models.ForeignKey(Citizen, models.CASCADE, related_name="posts")
    title = models.CharField(max_length=60)
    title_length = models.GeneratedField(
        expression=Length("title"), output_field=models.IntegerField(), db_persist=True
    )
    body = models.TextField(db_column="the body")
    status = models.CharField(max_length=10, default="public")
    score = models.IntegerField(default=0)
    place = PointField(null=True)
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    tags = models.ManyToManyField(Tag)
    flags = GenericRelation(Flag, related_query_name="post")

    objects = Published()
    everything = models.Manager()

    class Meta:
        app_label = "zoo"
        constraints = (
            models.CheckConstraint(condition=models.Q(score__gte=0), name="zoo_score"),
            models.UniqueConstraint(
                fields=["author", "title"], condition=models.Q(status="public"), name="zoo_one_public_title"
            ),
        )


class Comment(models.Model):
    """A tree."""

    author = models.ForeignKey(Citizen, models.CASCADE, related_name="comments")
    post = models.ForeignKey(Post, models.CASCADE, related_name="comments")
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="replies")
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Attachment(models.Model):
    """Owned by a path."""

    comment = models.ForeignKey(Comment, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Mention(models.Model):
    """Owned by several paths."""

    comment = models.ForeignKey(Comment, models.CASCADE, null=True)
    post = models.ForeignKey(Post, models.CASCADE, null=True)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Vote(models.Model):
    """The owner is inside a unique constraint."""

    voter = models.ForeignKey(Citizen, models.CASCADE, related_name="votes")
    post = models.ForeignKey(Post, models.CASCADE, related_name="votes")
    value = models.IntegerField(default=1)

    class Meta:
        app_label = "zoo"
        constraints = (models.UniqueConstraint(fields=["voter", "post"], name="zoo_one_vote"),)


class Club(models.Model):
    name = models.CharField(max_length=60)
    members = models.ManyToManyField(Citizen, through="Membership")

    class Meta:
        app_label = "zoo"


class Membership(models.Model):
    """A many-to-many table that has a model."""

    club = models.ForeignKey(Club, models.CASCADE)
    member = models.ForeignKey(Citizen, models.CASCADE)
    role = models.CharField(max_length=60, default="")

    class Meta:
        app_label = "zoo"
        unique_together = (("member", "club"),)


MODELS = (Citizen, Profile, Decree, Tag, Flag, Post, Comment, Attachment, Mention, Vote, Club, Membership)
