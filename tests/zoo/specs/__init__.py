"""What the zoo's principals can disguise, habitat by habitat. Registered by the `zoo` fixture only."""

from __future__ import annotations

from . import court, library, shop, studio, town

ALL = (*town.ALL, *court.ALL, *library.ALL, *studio.ALL, *shop.ALL)
