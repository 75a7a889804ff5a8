"""How the placeholder principals of the schemas are filled. Disguises are written beside the tests that apply them."""

from __future__ import annotations

import edna
from edna import placeholders

from .models import Actor, Citizen, Keeper, Painter, Player


class AnonymousKeeper(edna.Pseudoprincipal):
    model = Keeper
    values = {"name": placeholders.random_string()}


class AnonymousCitizen(edna.Pseudoprincipal):
    model = Citizen
    values = {"email": placeholders.random_email(), "passport": placeholders.random_string()}


class AnonymousPlayer(edna.Pseudoprincipal):
    model = Player
    values = {"name": placeholders.random_string()}


class AnonymousActor(edna.Pseudoprincipal):
    model = Actor
    values = {"name": placeholders.random_string()}


class AnonymousPainter(edna.Pseudoprincipal):
    model = Painter
    values = {"name": placeholders.random_string()}


ALL = (AnonymousKeeper, AnonymousCitizen, AnonymousPlayer, AnonymousActor, AnonymousPainter)
