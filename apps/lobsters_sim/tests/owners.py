"""Whose rows are whose, read off the models: what a test may count without knowing the disguises. And people who are not logged in,
for a session ends with its account, and does not come back."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db.models import ForeignKey
from django.test import Client
from django.utils import timezone

import edna
from apps.lobsters_sim.keys import identifier
from apps.lobsters_sim.models import User
from edna import inner_door

from .conftest import PASSWORD, Person

#: Every column that says whose a row is: model and field name.
OWNERS = [
    (model, field.name)
    for model in apps.get_app_config("lobsters_sim").get_models()
    for field in model._meta.concrete_fields
    if isinstance(field, ForeignKey) and field.related_model is User
]


def counts(user: User | int) -> dict[str, int]:
    """How many rows name the user, by table and column."""
    key = user if isinstance(user, int) else user.pk
    return {
        f"{model._meta.db_table}.{name}": model._base_manager.filter(**{name: key}).count() for model, name in OWNERS
    }


def somebody(username: str, **fields: Any) -> Person:
    user = User.objects.create_user(username, f"{username}@example.org", PASSWORD, **fields)
    registration = edna.register_principal(user, password=PASSWORD, identifier=identifier(username))
    # They were here today, and so they are when they have returned: edna keeps the day for the site's schedule.
    inner_door.note_activity(user, today=timezone.now().date())
    return Person(user, Client(), str(registration.recovery_code))
