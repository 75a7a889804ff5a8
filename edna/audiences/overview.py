"""What operators see of audiences: who is in them, whose shares count, what was asked for, and how often it was read.

Keeps: reads only, and takes nobody's key; says nothing of whom a request is about, which members alone see. An audience of which a row is
not this site's is told as what is wrong with it. Does not know pages or commands.
"""

from __future__ import annotations

from dataclasses import dataclass

from edna import inner_door, shards
from edna.audiences import holds, membership, store
from edna.audiences.holds import Request
from edna.audiences.membership import Person
from edna.errors import AudienceUnknown, EdnaError


@dataclass(frozen=True)
class Shares:
    """Those that count now: how many ``together`` open what is held, how often shares were handed on, how many who are there have one, and
    what is held."""

    together: int
    epoch: int
    members: int
    copies: int

    @property
    def is_usable(self) -> bool:
        """If not, nobody can read what is held, and disguises that declare it are refused."""
        return self.members >= self.together


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

    @property
    def held(self) -> int:
        return sum(each.copies for each in self.shares)

    @property
    def is_usable(self) -> bool:
        """Whether as many are left of it as have to act together, for whatever is shared."""
        return all(each.is_usable for each in self.shares)


def overviews() -> list[Overview]:
    """Of all audiences, by name."""
    numbers = _numbers()
    return [_overview(name, numbers[name]) for name in sorted(numbers)]


def overview(name: str) -> Overview:
    """
    Raises: AudienceUnknown
    """
    numbers = _numbers()
    if name not in numbers:
        raise AudienceUnknown(
            f'There is no audience "{name}" here{shards.in_words()}; manage.py edna_audiences list shows those that there are.'
        )
    return _overview(name, numbers[name])


def _numbers() -> dict[str, int]:
    """How often each has changed: one of which shares alone are left, too, for somebody has taken its updates away."""
    using = inner_door.database()
    left = {name: 0 for name, _ in store.epochs(using=using)}
    return left | {name: len(numbers) - 1 for name, numbers in store.numbers_of_updates(using=using).items()}


def _overview(name: str, changes: int) -> Overview:
    using = inner_door.database()
    try:
        held = store.copies_of_sharings(using=using)
        sharings = [store.sharing(name, each, using=using) for each in store.kept_togethers(name, using=using)]
        members, requests = tuple(membership.members(name)), tuple(holds.requests(name))
        there = {member.id for member in members}
        shares = tuple(
            Shares(each.threshold, each.epoch, len(there & set(each.members)), held.get(each.id, 0))
            for each in sharings
        )
    except EdnaError as error:
        return Overview(name, changes, problem=f"{type(error).__name__}: {error}")
    return Overview(name, changes, members, shares, requests)
