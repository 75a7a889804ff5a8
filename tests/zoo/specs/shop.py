"""Every `on_delete`, and constraints with conditions."""

from __future__ import annotations

from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Keep, Modify, Param, Remove, placeholders
from tests.zoo.models.shop import (
    Complaint,
    Contract,
    Customer,
    Favour,
    Invoice,
    Parcel,
    Purchase,
    Quote,
    Slot,
    Visit,
    Voucher,
)


class AnonymousCustomer(edna.Pseudoprincipal):
    model = Customer
    values = {"username": placeholders.random_string()}


class Erase(Disguise):
    """Everything of a customer. Quotes lose their customer by themselves; visits go on naming whom they named."""

    name = "zoo.shop-erase"
    transformations = [
        Remove(Customer),
        Remove(Purchase, owner="customer"),
        Decorrelate(Voucher, owner="customer"),
        Decorrelate(Complaint, owner="customer", group_by=edna.ALL),
        Remove(Invoice, owner="customer"),
        Remove(Contract, owner="customer"),
        Remove(Favour, owner="customer"),
        Keep(Visit, "customer"),
        Remove(Parcel, owner="customer"),
        Remove(Slot, owner="customer"),
    ]


class Close(Disguise):
    """Everything of a customer; quotes and favours stay, of nobody."""

    name = "zoo.shop-close"
    transformations = [
        *(step for step in Erase.transformations if isinstance(step, Remove | Keep)),
        Remove(Voucher, owner="customer"),
        Remove(Complaint, owner="customer"),
        Modify(Quote, owner="customer", set={"customer": None, "text": "[of a former customer]"}),
        Modify(Favour, owner="customer", set={"customer": placeholders.null()}),
    ]


class HandOver(Disguise):
    """Quotes and favours are nobody's."""

    name = "zoo.shop-hand-over"
    applies_to = "staff"
    transformations = [Modify(model, owner="customer", set={"customer": None}) for model in (Quote, Favour)]


class Detach(Disguise):
    """Whatever points at a customer points at somebody else."""

    name = "zoo.shop-detach"
    applies_to = "staff"
    transformations = [
        Decorrelate(model, owner="customer")
        for model in (Purchase, Quote, Favour, Voucher, Complaint, Invoice, Contract, Visit, Parcel, Slot)
    ]


class Clean(Disguise):
    """By a condition."""

    name = "zoo.shop-clean"
    params = {"weight": int}
    transformations = [
        Remove(Parcel, owner="customer", where=Q(weight__gte=Param("weight"))),
        Remove(Visit, owner="customer"),
        Modify(Slot, owner="customer", set={"text": "[clean]"}, where=Q(number__lt=Param("weight"))),
    ]


class Forget(Disguise):
    """Names and labels, of everybody."""

    name = "zoo.shop-forget"
    applies_to = "staff"
    transformations = [
        Modify(Customer, set={"username": placeholders.random_string(), "name": "", "notes": "[forgotten]"}),
        Modify(Parcel, owner="customer", set={"label": placeholders.null(), "weight": 1}),
        Modify(Quote, owner="customer", set={"text": "[forgotten]"}),
    ]


class Rename(Disguise):
    """A unique column, which somebody else may take meanwhile."""

    name = "zoo.shop-rename"
    applies_to = "staff"
    transformations = [Modify(Customer, set={"username": placeholders.random_string()})]


class Hush(Disguise):
    """One column of each table."""

    name = "zoo.shop-hush"
    applies_to = "staff"
    transformations = [
        Modify(Quote, owner="customer", set={"text": "[hushed]"}),
        Modify(Slot, owner="customer", set={"text": placeholders.random_string()}),
    ]


class Discard(Disguise):
    name = "zoo.shop-discard"
    transformations = [Remove(Visit, owner="customer"), Decorrelate(Contract, owner="customer")]


class Shrug(Disguise):
    """Whatever others have made of a quote meanwhile stands, and a contract that somebody has deleted is not waited for."""

    name = "zoo.shop-shrug"
    transformations = [
        Modify(Quote, owner="customer", set={"text": "[shrugged]"}),
        Modify(Slot, owner="customer", set={"text": "[shrugged]"}),
        Decorrelate(Contract, owner="customer"),
    ]
    accepts = {"zoo.Quote": ["changed", "row_missing"], "zoo.Contract": ["row_missing"]}


class RestoreReferences(Disguise):
    """What is attached to a pseudoprincipal goes to the owner (the default)."""

    name = "zoo.shop-restore-references"
    transformations = [Decorrelate(Purchase, owner="customer", group_by=edna.ALL)]


class DeleteReferences(Disguise):
    """What is attached to a pseudoprincipal is deleted."""

    name = "zoo.shop-delete-references"
    transformations = [Decorrelate(Purchase, owner="customer", group_by=edna.ALL)]
    references = {"zoo.Purchase.customer": "delete", "zoo.Invoice.customer": "delete"}


class RetainReferences(Disguise):
    """What is attached to a pseudoprincipal stays where it is."""

    name = "zoo.shop-retain-references"
    transformations = [Decorrelate(Purchase, owner="customer", group_by=edna.ALL)]
    references = {"zoo.Purchase.customer": "retain", "zoo.Invoice.customer": "retain"}


ALL = (
    AnonymousCustomer,
    Erase,
    Close,
    HandOver,
    Detach,
    Clean,
    Forget,
    Rename,
    Hush,
    Discard,
    Shrug,
    RestoreReferences,
    DeleteReferences,
    RetainReferences,
)
