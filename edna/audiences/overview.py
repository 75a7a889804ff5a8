"""What operators see of audiences: who is in them, whose shares count, what was asked for, and how often it was read.

Keeps: reads only, and takes nobody's key; says nothing of whom a request is about, which members alone see. An audience of which a row is
not this site's is told as what is wrong with it. Does not know pages or commands.
"""

from __future__ import annotations

from dataclasses import dataclass

from edna import inner_door
from edna.audiences import holds, membership, store
from edna.audiences.holds import Request
from edna.audiences.membership import Person
from edna.errors import AudienceUnknown, EdnaError


@dataclass(frozen=True)
class Shares:
    """Those that count now: how many ``together`` open what is held, how often shares were handed on, who has one, and what is held."""

    together: int
    epoch: int
    members: int
    copies: int


@dataclass(frozen=True)
class Overview:
    """``changes`` is how often it has changed since it was made; ``problem`` says why nothing else can be told."""

    name: str
    changes: int
    members: tuple[Person, ...] = ()
    shares: tuple[Shares, ...] = ()
    requests: tuple[Request, ...] = ()
    problem: str = ""

    @property
    def uses(self) -> int:
        return sum(each.uses for each in self.requests)


def overviews() -> list[Overview]:
    """Of all audiences, by name."""
    using = inner_door.database()
    return [_overview(name, len(numbers) - 1) for name, numbers in store.numbers_of_updates(using=using).items()]


def overview(name: str) -> Overview:
    """
    Raises: AudienceUnknown
    """
    numbers = store.numbers_of_updates(using=inner_door.database()).get(name)
    if numbers is None:
        raise AudienceUnknown(
            f'There is no audience "{name}" here; manage.py edna_audiences list shows those that there are.'
        )
    return _overview(name, len(numbers) - 1)


def _overview(name: str, changes: int) -> Overview:
    using = inner_door.database()
    try:
        held = store.copies_of_sharings(using=using)
        sharings = [store.sharing(name, each, using=using) for each in store.kept_togethers(name, using=using)]
        shares = tuple(Shares(each.threshold, each.epoch, len(each.members), held.get(each.id, 0)) for each in sharings)
        members, requests = tuple(membership.members(name)), tuple(holds.requests(name))
    except EdnaError as error:
        return Overview(name, changes, problem=f"{type(error).__name__}: {error}")
    return Overview(name, changes, members, shares, requests)
