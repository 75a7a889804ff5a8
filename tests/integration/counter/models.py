"""Customers, and rows that name them by value."""

from __future__ import annotations

from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models.base import ModelBase
from django.db.models.functions import Lower


class Table(models.Model):
    class Meta:
        abstract = True
        app_label = "counter"


class Customer(Table):
    """A principal."""

    email = models.EmailField(unique=True)
    nickname = models.CharField(max_length=40, default="")


class Regular(Customer):
    """A proxy has a content type of its own."""

    class Meta(Table.Meta):
        proxy = True


class Address(Table):
    """A customer may have several."""

    customer = models.ForeignKey(Customer, models.CASCADE)
    email = models.EmailField(unique=True)


class Ticket(Table):
    submitter_email = models.CharField(max_length=300, null=True, db_index=True)
    nickname = models.CharField(max_length=40, default="")
    assigned_to = models.ForeignKey(Customer, models.SET_NULL, null=True)
    text = models.TextField(default="")

    class Meta(Table.Meta):
        indexes = [models.Index(Lower("submitter_email"), name="counter_ticket_lower")]


class Answer(Table):
    """Whose ticket it is, is said by value."""

    ticket = models.ForeignKey(Ticket, models.CASCADE)
    text = models.TextField(default="")


class Visit(Table):
    """A customer's number in a plain column; 0 is nobody."""

    customer_number = models.BigIntegerField(default=0, db_index=True)


class Entry(Table):
    """About anything, as the admin's history is: no generic key, and the number is text."""

    content_type = models.ForeignKey(ContentType, models.CASCADE, null=True)
    object_id = models.CharField(max_length=60, null=True)
    text = models.TextField(default="")


class EntryNote(Table):
    """Says of an entry what it is about, and of itself who was there, in a document."""

    entry = models.ForeignKey(Entry, models.CASCADE)
    slots = models.JSONField(default=dict)
    text = models.TextField(default="")


class Remark(Table):
    """About two things."""

    subject_type = models.ForeignKey(ContentType, models.CASCADE, related_name="+")
    subject_number = models.PositiveIntegerField()
    subject = GenericForeignKey("subject_type", "subject_number")
    context_type = models.ForeignKey(ContentType, models.CASCADE, related_name="+")
    context_number = models.PositiveIntegerField()
    context = GenericForeignKey("context_type", "context_number")


class Board(Table):
    """Names several people at once: in lists, in a document, in a text."""

    owner = models.ForeignKey(Customer, models.SET_NULL, null=True)
    watchers = models.JSONField(default=list)
    people = models.JSONField(default=dict)
    cc = models.TextField(default="")


#: In an order in which the tables can be made.
MODELS: tuple[ModelBase, ...] = (Customer, Address, Ticket, Answer, Visit, Entry, EntryNote, Remark, Board)
PRINCIPALS = ("counter.customer",)
