"""The shop: a principal that can be swapped, what points at it with every `on_delete`, deferred and conditional constraints."""

from __future__ import annotations

from typing import Any, Final

from django.db import connection, models

#: A customer without a key, to whom things fall that have none.
HOUSE: Final = 1


class StockCustomer(models.Model):
    """Swapped out in favour of `Customer`: no table, and nothing refers to it."""

    name = models.CharField(max_length=60)

    class Meta:
        app_label = "zoo"
        swappable = "ZOO_CUSTOMER_MODEL"


class Customer(models.Model):
    username = models.CharField(max_length=60, unique=True)
    name = models.CharField(max_length=60, default="")
    notes = models.TextField(default="")

    class Meta:
        app_label = "zoo"


def house() -> int:
    return HOUSE


class Purchase(models.Model):
    customer = models.ForeignKey("zoo.Customer", models.CASCADE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Quote(models.Model):
    customer = models.ForeignKey(Customer, models.SET_NULL, null=True)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Favour(models.Model):
    """May be nobody's, and Django deletes it with its customer nevertheless."""

    customer = models.ForeignKey(Customer, models.CASCADE, null=True)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Voucher(models.Model):
    customer = models.ForeignKey(Customer, models.SET_DEFAULT, default=HOUSE)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Complaint(models.Model):
    customer = models.ForeignKey(Customer, models.SET(house))
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Invoice(models.Model):
    customer = models.ForeignKey(Customer, models.PROTECT)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Contract(models.Model):
    customer = models.ForeignKey(Customer, models.RESTRICT)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Visit(models.Model):
    """No constraint: it may point at nothing."""

    customer = models.ForeignKey(Customer, models.DO_NOTHING, db_constraint=False)
    text = models.TextField()

    class Meta:
        app_label = "zoo"


class Parcel(models.Model):
    customer = models.ForeignKey(Customer, models.CASCADE)
    weight = models.IntegerField(default=1)
    label = models.CharField(max_length=60, null=True)
    sent = models.BooleanField(default=False)

    class Meta:
        app_label = "zoo"
        constraints = (
            models.CheckConstraint(condition=models.Q(weight__gt=0), name="zoo_weight"),
            models.UniqueConstraint(fields=["label"], condition=models.Q(sent=True), name="zoo_label_of_sent"),
        )


def _deferred() -> dict[str, Any]:
    """Where the database has constraints that are checked at the end; an ordinary one elsewhere."""
    return {"deferrable": models.Deferrable.DEFERRED} if connection.vendor == "postgresql" else {}


class Slot(models.Model):
    customer = models.ForeignKey(Customer, models.CASCADE)
    number = models.IntegerField()
    text = models.TextField()

    class Meta:
        app_label = "zoo"
        constraints = (models.UniqueConstraint(fields=["customer", "number"], name="zoo_one_slot", **_deferred()),)


MODELS = (Customer, Purchase, Quote, Favour, Voucher, Complaint, Invoice, Contract, Visit, Parcel, Slot)
