"""What people may do to their own data by themselves: the disguises that say so (`Disguise.self_service`), for their kind of account.

Pages and the HTTP interface ask here, so that neither lets anybody do what the other does not. Of several databases the person's is at
work for `Disguise.is_offered`. Knows specifications; reads no rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edna import conf, registry, shards
from edna.errors import PrincipalError, SpecError
from edna.spec import Disguise


@dataclass(frozen=True)
class Offer:
    """One of them, as pages tell it."""

    name: str
    title: str
    description: str
    params: Mapping[str, Any]
    #: Whether the person's key is to be opened for it, if the specification says; None leaves it to them.
    asks_for_key: bool | None
    #: Whether the server keeps no list by which the key finds it.
    only_by_receipt: bool


def offers_for(user: Any) -> list[Offer]:
    """In the order of their names; nothing for who is in no database of people."""
    if not conf.databases():
        return _offers_for(user)
    try:
        using = registry.home_of(user)[2]
    except PrincipalError:
        return []
    with shards.at(using):
        return _offers_for(user)


def _offers_for(user: Any) -> list[Offer]:
    return [_offer(disguise) for disguise in registry.disguises().values() if _is_for(disguise, user)]


def offer(name: str, *, title: str = "", params: Mapping[str, Any] | None = None) -> Offer:
    """One that a site's own page makes: with values that the person has chosen there, say."""
    disguise = registry.get(name)
    return dataclasses.replace(_offer(disguise), title=title or disguise.called(), params=dict(params or {}))


def _is_for(disguise: type[Disguise], user: Any) -> bool:
    try:
        is_theirs = isinstance(user, registry.principal_model_for(disguise))
    except SpecError:
        return False  # the checks say so
    # Last: it may ask the database.
    return is_theirs and disguise.is_offered()


def _offer(disguise: type[Disguise]) -> Offer:
    return Offer(
        disguise.name,
        disguise.called(),
        disguise.described(),
        disguise.self_service if isinstance(disguise.self_service, Mapping) else {},
        disguise.asks_for_key,
        (disguise.locators or conf.locator_mode()) == "client",
    )
