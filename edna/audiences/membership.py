"""Who is in an audience: made, joined, left, on a site whose members send their keys with each request.

Keeps: an update and what goes with it are stored in one transaction; until it commits, the former key is the audience's. Of two members
who do something at once, the second does it again after the first. Does not know holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from django.db import transaction

from edna import inner_door
from edna.audiences import history, store
from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.audiences import together as shared
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.updates import Card, Member, Update
from edna.errors import AudienceChanged, AudienceRefused

#: How often something is done again because another member was quicker.
ATTEMPTS: Final = 5


@dataclass(frozen=True, repr=False)
class NewMember:
    """``secret_key`` is what somebody keeps, and sends with each request; ``card``, no secret, is what takes them in."""

    secret_key: SecretKey
    card: str


@dataclass(frozen=True)
class Person:
    """A member, and whether they have a share in what is opened together: who came later gets one by `hand_on`."""

    id: bytes
    name: str
    has_share: bool


def new_member() -> NewMember:
    """A key, made for somebody who is to come. Stored nowhere."""
    member = Member.new()
    return NewMember(member.secret_key, bytes(member.card).hex())


def create(name: str, secret_key: SecretKey | str, people: Mapping[str, str], *, together: int = 2) -> None:
    """Make an audience of these people, by name with their cards; whose key it is must be one of them. ``together`` of them open what is
    held for it. Called again with another number, it shares a further secret among those who are there.

    Raises:
        AudienceRefused: somebody is named twice, or is no card, or the key is of none of them.
        ConfigurationError: ``together`` is less than 2, or more than there are.
        NotInAudience
    """
    member, using = _member(secret_key), inner_door.database()
    with transaction.atomic(using=using):
        if store.is_there(name, using=using):
            _share_more(name, member, together, using=using)
            return
        cards = {called: _card(text) for called, text in people.items()}
        if member.card not in cards.values():
            raise AudienceRefused("Whoever makes an audience is in it. Nothing was changed.")
        others = [card for card in cards.values() if card != member.card]
        audience = _append(name, Audience(), Audience.create(member, others), using=using)
        called = {card.member: called for called, card in cards.items()}
        store.add_names(name, called, using=using)
        _share(name, audience, together, using=using)
        history.note_change(name, 0, by=called[member.id])
        history.note_shares(name, together, 0, by=called[member.id])


def _share_more(name: str, member: Member, together: int, *, using: str) -> None:
    audience = store.audience(name, using=using)
    audience.require(member.id)
    if together in store.kept_togethers(name, using=using):
        raise AudienceRefused(f'There is an audience "{name}" of which {together} act together. Nothing was changed.')
    _share(name, audience, together, using=using)
    history.note_shares(name, together, 0, by=called_of(name, member, using=using))


def _share(name: str, audience: Audience, together: int, *, using: str) -> None:
    keys = {member: card.public_key for member, card in audience.cards.items()}
    sharing, deal = shared.begin(keys, threshold=together)
    store.put_shares(name, together, sharing, [deal], using=using)


def join(name: str, secret_key: SecretKey | str, called: str, card: str) -> bytes:
    """A member takes somebody in; return their id.

    Raises: AudienceUnknown, NotInAudience, AudienceRefused.
    """
    coming = _card(card)
    _change(name, secret_key, lambda audience, member: audience.join(member, [coming]), {coming.member: called})
    return coming.member


def leave(name: str, secret_key: SecretKey | str, gone: bytes) -> None:
    """A member takes another one out: they open nothing that is sealed to the audience from then on, and have no share once the others have
    handed theirs on.

    Raises: AudienceUnknown, NotInAudience, AudienceRefused.
    """
    leave_many(name, secret_key, [gone])


def leave_many(name: str, secret_key: SecretKey | str, gone: Collection[bytes]) -> None:
    """Several at once, for less than one after the other.

    Raises: as `leave`.
    """
    _change(name, secret_key, lambda audience, member: audience.leave_many(member, gone), {})


def members(name: str) -> list[Person]:
    """Who is in it, in the order in which they came.

    Raises: AudienceUnknown
    """
    using = inner_door.database()
    audience, called = store.audience(name, using=using), store.names(name, using=using)
    togethers = store.kept_togethers(name, using=using)
    sharing = [set(store.sharing(name, each, using=using).members) for each in togethers]
    return [
        Person(member, called.get(member, ""), all(member in each for each in sharing)) for member in audience.cards
    ]


def public_key(name: str) -> PublicKey:
    """What is sealed to it opens for every member, each alone.

    Raises: AudienceUnknown
    """
    return store.audience(name, using=inner_door.database()).public_key


def secret_keys(name: str, secret_key: SecretKey | str) -> list[SecretKey]:
    """For a member: what opens what is sealed to the audience's key, and to those of before, newest first.

    Raises: AudienceUnknown, NotInAudience, WrapRefused.
    """
    return store.audience(name, using=inner_door.database()).secrets(_member(secret_key))


def own(name: str, secret_key: SecretKey | str, *, using: str) -> tuple[Audience, Member]:
    """
    Raises: AudienceUnknown, NotInAudience.
    """
    audience, member = store.audience(name, using=using), _member(secret_key)
    audience.require(member.id)
    return audience, member


def called_of(name: str, member: Member, *, using: str) -> str:
    """What the audit trail calls them."""
    return store.names(name, using=using).get(member.id, "")


def _change(
    name: str, secret_key: SecretKey | str, act: Callable[[Audience, Member], Update], called: Mapping[bytes, str]
) -> None:
    using = inner_door.database()
    for attempt in range(ATTEMPTS):
        try:
            with transaction.atomic(using=using):
                audience, member = own(name, secret_key, using=using)
                update = act(audience, member)
                _append(name, audience, update, using=using)
                store.add_names(name, called, using=using)
                store.tag_anew(name, using=using)
                history.note_change(name, update.sequence, by=called_of(name, member, using=using))
                return
        except AudienceChanged:
            if attempt == ATTEMPTS - 1:
                raise


def _append(name: str, audience: Audience, update: Update, *, using: str) -> Audience:
    after = audience.follow(bytes(update))
    store.add_update(name, update.sequence, bytes(update), using=using)
    return after


def _member(secret_key: SecretKey | str) -> Member:
    return Member(SecretKey.parse(secret_key) if isinstance(secret_key, str) else secret_key)


def _card(text: str) -> Card:
    try:
        raw = bytes.fromhex(text)
    except ValueError as error:
        raise AudienceRefused("This is no card of a member; copy it again.") from error
    return Card.parse(raw)
