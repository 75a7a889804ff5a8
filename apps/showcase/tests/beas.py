"""Three people who are called Bea, one in each application: their numbers, addresses and passwords are the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

import edna
from apps.showcase import applications
from apps.showcase.tests.tables import dump

NUMBER, EMAIL, PASSWORD = 7, "bea@example.org", "a long walk home"
DISGUISES = {
    "websubmit": "websubmit.delete-account",
    "lobsters": "lobsters.delete-account",
    "hotcrp": "hotcrp.remove-account",
}
MEMBERS_ONLY = {"websubmit": "account", "lobsters": "account", "hotcrp": "account"}
KEYS = list(DISGUISES)
PAIRS = [(one, other) for one in KEYS for other in KEYS if one != other]


@dataclass
class Bea:
    """One of the three who are called so."""

    application: applications.Application
    user: Any
    identifier: str
    registration: edna.Registration

    @property
    def backend(self) -> str:
        return {
            "websubmit": "django.contrib.auth.backends.ModelBackend",
            "lobsters": "apps.lobsters_sim.auth.LobstersBackend",
            "hotcrp": "apps.hotcrp_sim.auth.HotcrpBackend",
        }[self.application.key]

    @property
    def code(self) -> str:
        return str(self.registration.recovery_code)

    def browser(self) -> Client:
        """Logged in with the form of the application."""
        names = {"websubmit": ("username", EMAIL), "lobsters": ("username", "bea"), "hotcrp": ("email", EMAIL)}
        name, value = names[self.application.key]
        client = Client()
        response = client.post(url(self.application.key, "login"), {name: value, "password": PASSWORD})
        assert response.status_code == 302, text_of(response)
        return client

    def unlock(self) -> edna.Unlocked:
        return edna.unlock(identifier=self.identifier, password=PASSWORD)

    def leave(self) -> edna.Receipt:
        return edna.disguise(DISGUISES[self.application.key], self.user)

    def is_here(self) -> bool:
        return type(self.user)._base_manager.filter(pk=NUMBER).exists()


def url(key: str, name: str) -> str:
    return reverse(f"{key}:{name}")


def privacy(key: str, name: str) -> str:
    """The address of one of edna's pages for the people of this application."""
    return reverse(f"{key}-privacy:{name}", args=[DISGUISES[key]] if name == "apply" else [])


def text_of(response: Any) -> str:
    return " ".join(strip_tags(response.content.decode()).split())


def somebody(key: str, user: Model, identifier: str) -> Bea:
    application = applications.by_key(key)
    assert application is not None
    made = edna.register_principal(user, identifier=identifier, password=PASSWORD)
    return Bea(application, user, identifier, made)


def rows(labels: set[str]) -> dict[str, list[Any]]:
    """What the tables of these applications hold, as the database has it; but when people logged in last."""
    return {
        table: found
        for application in applications.ALL
        if application.key in labels
        for table, found in dump(application.model._meta.app_label).items()
    }
