"""What guests, and what hosts can disguise."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove

from .models import Guest, Host, Letter, Meal, Stay


class AnonymousGuest(edna.Pseudoprincipal):
    model = Guest
    values = {"name": "somebody"}


class AnonymousHost(edna.Pseudoprincipal):
    model = Host
    values = {"name": "somebody", "is_active": False}


class Depart(Disguise):
    name = "inn.depart"
    asks_for_key = True
    transformations = [Remove(Guest), Remove(Stay, owner="guest"), Decorrelate(Letter, owner="guest")]


class Retire(Disguise):
    """The stays remain, and name somebody else."""

    name = "inn.retire"
    asks_for_key = True
    transformations = [
        Remove(Host),
        Remove(Meal, owner="cook"),
        Decorrelate(Stay, owner="host", group_by=edna.ALL),
        Decorrelate(Letter, owner="host"),
    ]


class HideGuests(Disguise):
    name = "inn.hide-guests"
    applies_to = "staff"
    transformations = [Decorrelate(Stay, owner="guest"), Decorrelate(Letter, owner="guest")]


class HideHosts(Disguise):
    name = "inn.hide-hosts"
    applies_to = "staff"
    transformations = [
        Decorrelate(Meal, owner="cook"),
        Decorrelate(Stay, owner="host"),
        Decorrelate(Letter, owner="host"),
    ]


class ForgetStays(Disguise):
    """Rows that name guests and hosts who are not asked."""

    name = "inn.forget-stays"
    asks_for_key = True
    transformations = [Remove(Stay, owner="guest")]


class Hush(Disguise):
    name = "inn.hush"
    asks_for_key = True
    transformations = [Modify(Stay, owner="guest", set={"text": "[hushed]", "host": None})]


class Unfriend(Disguise):
    name = "inn.unfriend"
    asks_for_key = True
    transformations = [Modify(Stay, owner="guest", set={"friend": None})]


ALL = (AnonymousGuest, AnonymousHost, Depart, Retire, HideGuests, HideHosts, ForgetStays, Hush, Unfriend)
