"""What the bureau's disguises take away."""

from __future__ import annotations

from edna import Disguise, Remove

from .models import Clerk, Letter


class Leave(Disguise):
    name = "bureau.leave"
    transformations = [Remove(Letter, owner="clerk"), Remove(Clerk, returning={"is_superuser": False})]


ALL = (Leave,)
