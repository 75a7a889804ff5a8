"""Nine habitats, each with a kind of principal of its own."""

from __future__ import annotations

from django.db.models import Model

from . import council, court, guild, hamlet, lending, press, shop, studio, town

#: In an order in which the tables can be made. Neither proxies nor what is swapped out.
MODELS: tuple[type[Model], ...] = (
    *town.MODELS,
    *court.MODELS,
    *lending.MODELS,
    *studio.MODELS,
    *shop.MODELS,
    *hamlet.MODELS,
    *guild.MODELS,
    *press.MODELS,
    *council.MODELS,
)
