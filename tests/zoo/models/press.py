"""The press: names within texts, values in documents, and a count that follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db import models
from django.db.models.signals import post_save
from django.dispatch import receiver

from edna.signals import before_commit


class Writer(models.Model):
    name = models.CharField(max_length=60, unique=True)

    class Meta:
        app_label = "zoo"


class Journal(models.Model):
    """Nobody's. How many articles there are follows, how many there ever were does not."""

    title = models.CharField(max_length=60)
    article_count = models.IntegerField(default=0)
    ever = models.IntegerField(default=0)

    class Meta:
        app_label = "zoo"


class Article(models.Model):
    """Says in a document who wrote it, and where."""

    documents: Mapping[str, tuple[str, ...]] = {"meta": ("by", "desk")}

    writer = models.ForeignKey(Writer, models.CASCADE)
    journal = models.ForeignKey(Journal, models.CASCADE)
    text = models.TextField()
    meta = models.JSONField(default=dict)

    class Meta:
        app_label = "zoo"


class Notice(models.Model):
    """Everybody's; names whoever wrote the article, and others."""

    article = models.ForeignKey(Article, models.CASCADE)
    by_name = models.CharField(max_length=60)
    headline = models.TextField()

    class Meta:
        app_label = "zoo"


class Duet(models.Model):
    """Two people's, and names both."""

    first = models.ForeignKey(Writer, models.CASCADE, related_name="begun")
    second = models.ForeignKey(Writer, models.CASCADE, related_name="ended")
    text = models.TextField()

    class Meta:
        app_label = "zoo"


def count_again(journals: Collection[Any]) -> None:
    for journal in journals:
        Journal.objects.filter(pk=journal).update(article_count=Article.objects.filter(journal=journal).count())


@receiver(post_save, sender=Article, dispatch_uid="zoo.articles")
def one_more(*, instance: Article, created: bool, **_: Any) -> None:
    if created:
        Journal.objects.filter(pk=instance.journal_id).update(ever=models.F("ever") + 1)  # type: ignore[attr-defined]
        count_again([instance.journal_id])  # type: ignore[attr-defined]


@receiver(before_commit, sender=Article, dispatch_uid="zoo.articles")
def came_or_went(*, keys: Collection[Any], referred_to: Mapping[str, Collection[Any]], **_: Any) -> None:
    there = Article.objects.filter(pk__in=keys).values_list("journal", flat=True)
    count_again({*referred_to.get("journal", ()), *there})


MODELS = (Writer, Journal, Article, Notice, Duet)
