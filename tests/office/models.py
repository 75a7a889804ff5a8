"""Rows that are two or three people's at once: by a column, over another table, in columns that may be empty, over a table in between."""

from __future__ import annotations

from django.db import models


class Person(models.Model):
    """A principal."""

    name = models.CharField(max_length=40)

    class Meta:
        app_label = "office"


class Order(models.Model):
    customer = models.ForeignKey(Person, models.CASCADE)

    class Meta:
        app_label = "office"


class Note(models.Model):
    """Of whoever has written it, about a customer."""

    order = models.ForeignKey(Order, models.CASCADE)
    author = models.ForeignKey(Person, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "office"


class Ticket(models.Model):
    """Nobody's, if those whom it names go."""

    customer = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="tickets")
    assignee = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="assigned")
    text = models.TextField()

    class Meta:
        app_label = "office"


class Entry(models.Model):
    """What somebody of the staff did with an order."""

    user = models.ForeignKey(Person, models.CASCADE)
    order = models.ForeignKey(Order, models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "office"


class Message(models.Model):
    sender = models.ForeignKey(Person, models.CASCADE, related_name="sent")
    recipient = models.ForeignKey(Person, models.CASCADE, related_name="received")
    text = models.TextField()

    class Meta:
        app_label = "office"


class Paper(models.Model):
    """Three people's."""

    first = models.ForeignKey(Person, models.CASCADE, related_name="papers_first")
    second = models.ForeignKey(Person, models.CASCADE, related_name="papers_second")
    third = models.ForeignKey(Person, models.CASCADE, related_name="papers_third")
    text = models.TextField()

    class Meta:
        app_label = "office"


class Draft(models.Model):
    """Three people's, or nobody's."""

    first = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="drafts_first")
    second = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="drafts_second")
    third = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="drafts_third")
    text = models.TextField()

    class Meta:
        app_label = "office"


class Report(models.Model):
    """As many people's as have written it."""

    authors = models.ManyToManyField(Person, related_name="reports")
    text = models.TextField()

    class Meta:
        app_label = "office"


MODELS = (Person, Order, Note, Ticket, Entry, Message, Paper, Draft, Report)
