"""The applications of this site: where each is mounted, who its principals are, and with whom to try it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db.models import Model


@dataclass(frozen=True)
class Account:
    """Somebody in the seeded data."""

    login: str
    role: str


@dataclass(frozen=True)
class Application:
    """``key`` is its folder in the addresses, and what ``manage.py demo`` calls it."""

    key: str
    name: str
    principal: str
    line: str
    password: str
    #: The command that fills it, and how little is enough to look around.
    seed: str
    scale: Mapping[str, Any]
    accounts: tuple[Account, ...]

    @property
    def path(self) -> str:
        return f"/{self.key}/"

    @property
    def package(self) -> str:
        """Where its code is."""
        return apps.get_app_config(self.principal.split(".")[0]).name

    @property
    def model(self) -> type[Model]:
        """The principal model: rows of it, and of no other, are logged in on the application's pages."""
        return apps.get_model(self.principal)


ALL = (
    Application(
        key="lobsters",
        name="Lobsters",
        principal="lobsters_sim.User",
        line="People share links, discuss and vote. Whoever leaves takes their name along: threads and scores stay as they are.",
        password="crustacean-demo",
        seed="lobsters_seed",
        scale={"scale": 0.02},
        accounts=(Account("bea", "a member with some of everything"), Account("mod", "a moderator")),
    ),
    Application(
        key="hotcrp",
        name="HotCRP",
        principal="hotcrp_sim.ContactInfo",
        line="A conference reviews its papers. A reviewer who leaves, leaves reviews that name nobody and that authors still read.",
        password="conference-demo",
        seed="hotcrp_seed",
        scale={"users": 150, "pc": 20, "papers": 40},
        accounts=(
            Account("bea@example.org", "an author"),
            Account("rae@example.org", "a reviewer"),
            Account("chair@example.org", "the chair"),
        ),
    ),
    Application(
        key="websubmit",
        name="WebSubmit",
        principal="websubmit.User",
        line="Students hand in homework. The staff take the names off the answers, and their authors can still edit them.",
        password="homework-demo",
        seed="websubmit_seed",
        scale={"users": 200, "lectures": 6, "questions": 4},
        accounts=(Account("bea@example.org", "a student"), Account("staff@example.org", "staff, and the admin site")),
    ),
)


def by_key(key: str) -> Application | None:
    return next((application for application in ALL if application.key == key), None)


def of_path(path: str) -> Application | None:
    """The application that answers requests for ``path``, as the request says it, without the mount point of the site."""
    return by_key(path.split("/", 2)[1]) if path.startswith("/") else None
