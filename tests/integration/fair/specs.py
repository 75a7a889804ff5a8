"""What traders can disguise."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Remove, placeholders

from .models import Ledger, Line, Pennant, Remark, Stall, Trader, Visit, Ware


class Nobody(edna.Pseudoprincipal):
    model = Trader
    values = {"name": placeholders.random_string()}
    companions = {Stall: {"colour": "grey"}, Ledger: None, Pennant: None}


class Mask(Disguise):
    """Wares stay, and are nobody's."""

    name = "fair.mask"
    transformations = [Decorrelate(Ware, owner="maker")]


class Travel(Disguise):
    """What somebody has left at the stalls and in the ledgers of others goes; the account stays."""

    name = "fair.travel"
    transformations = [
        Remove(Visit, owner="visitor"),
        Remove(Line, owner="writer"),
        Remove(Remark, owner="visit__visitor"),
    ]


class Clear(Disguise):
    """What stands beside a trader goes, with what others have left there."""

    name = "fair.clear"
    transformations = [
        Remove(Stall, owner="trader"),
        Remove(Ledger, owner="trader"),
        Remove(Pennant, owner="trader"),
        Remove(Visit, owner="stall__trader"),
        Remove(Line, owner="ledger__trader"),
        Remove(Remark, owner="visit__stall__trader"),
    ]


ALL = (Nobody, Mask, Travel, Clear)
