"""What the zoo's principals can disguise, habitat by habitat. Registered by the `zoo` fixture only."""

from __future__ import annotations

from . import council, court, guild, hamlet, lending, press, shop, studio, town

ALL = (*town.ALL, *court.ALL, *lending.ALL, *studio.ALL, *shop.ALL, *hamlet.ALL, *guild.ALL, *press.ALL, *council.ALL)
