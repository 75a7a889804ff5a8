"""Who is in an audience: made, joined, left, on a site whose members send their keys with each request.

A name names nobody: of several databases, in which there may be an audience of it each, what is done here is done in the one at work.
Keeps: an update and what goes with it are stored in one transaction; until it commits, the former key is the audience's. Of two members
who do something at once, the second waits for the first, or does it again after it. Does not know holds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from edna import inner_door, shards
from edna.audiences import history, store
from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.audiences import together as shared
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.together import Sharing
from edna.custody.audiences.updates import Card, Member, Update
from edna.errors import (
    AudienceChanged,
    AudienceExists,
    AudienceInUse,
    AudienceRefused,
    AudienceTooSmall,
    AudienceUnknown,
    ConfigurationError,
    NotInAudience,
)
from edna.words import count

#: How often something is done again because another member was quicker.
ATTEMPTS: Final = 5


@dataclass(frozen=True, repr=False)
class NewMember:
    """``secret_key`` is what somebody keeps, and sends with each request; ``card``, no secret, is what takes them in."""

    secret_key: SecretKey
    card: str


@dataclass(frozen=True)
class Person:
    """A member, and whether they have a share in what is opened together, if anything is: who came later gets one by `hand_on`."""

    id: bytes
    name: str
    has_share: bool


def new_member() -> NewMember:
    """A key, made for somebody who is to come. Stored nowhere."""
    member = Member.new()
    return NewMember(member.secret_key, bytes(member.card).hex())


def card_of(secret_key: SecretKey | str) -> str:
    """The card that goes with a member's key."""
    return bytes(_member(secret_key).card).hex()


def create(name: str, secret_key: SecretKey | str, people: Mapping[str, str], *, together: int | None = 2) -> None:
    """Make an audience of these people, by name with their cards; whose key it is must be one of them. ``together`` of them open what is
    held for it; with None nothing is held for it, and it is for what your own code seals (`public_key`). Called again by a member, with
    another number, it shares a further secret among those who are there.

    Raises:
        AudienceExists: there is one of that name, and the key is of nobody in it; or some of its rows are left.
        AudienceRefused: somebody is named twice, or is no card, the key is of none of them, or there are too many.
        ConfigurationError: ``together`` is less than 2, or more than there are.
        DatabaseBusy: as all here that change something; nothing was changed.
    """
    member, using = _member(secret_key), inner_door.database()
    cards = {called: _card(text) for called, text in people.items()}

    def work() -> None:
        store.hold(name, using=using)
        if store.is_there(name, using=using):
            _share_more(name, member, together, using=using)
            return
        if store.kept_togethers(name, using=using):
            raise AudienceExists(
                f'Of an audience "{name}" shares are here, and nobody is in it: somebody has taken its updates away. Nothing was changed. '
                "Restore them from a backup; or delete what is left (edna_audiences delete), which loses what is held for it."
            )
        if member.card not in cards.values():
            raise AudienceRefused("Whoever makes an audience is in it. Nothing was changed.")
        if together is not None:
            _check_together(together, len(cards))
        others = [card for card in cards.values() if card != member.card]
        audience = _append(name, Audience(), Audience.create(member, others), using=using)
        called = {card.member: called for called, card in cards.items()}
        store.add_names(name, called, using=using)
        history.note_change(name, audience, by=called[member.id])
        if together is not None:
            history.note_shares(name, together, _share(name, audience, together, using=using), by=called[member.id])

    inner_door.in_one_transaction(work, using=using)


def _share_more(name: str, member: Member, together: int | None, *, using: str) -> None:
    audience = store.audience(name, using=using)
    if member.id not in audience.cards:
        raise AudienceExists(
            f'There is an audience "{name}" already, and this key is of nobody in it. Nothing was changed. Take another name, or let a '
            "member of it take people in."
        )
    if together is None:
        raise AudienceRefused(f'There is an audience "{name}" already. Nothing was changed.')
    _check_together(together, len(audience.cards))
    if together in store.kept_togethers(name, using=using):
        raise AudienceRefused(f'There is an audience "{name}" of which {together} act together. Nothing was changed.')
    sharing = _share(name, audience, together, using=using)
    history.note_shares(name, together, sharing, by=called_of(name, member, using=using))


def _check_size(people: int) -> None:
    if people > shared.MOST_MEMBERS:
        raise AudienceRefused(
            f"An audience of which some act together has at most {shared.MOST_MEMBERS} members, and this would be {people}. Nothing was "
            "changed. One for which nothing is held (together=None) takes more."
        )


def _check_together(together: int, people: int) -> None:
    _check_size(people)
    if not 2 <= together <= people:
        raise ConfigurationError(
            f"An audience of {people} has no {together} who act together: that takes 2 or more, and as many in it. Nothing was changed."
        )


def _share(name: str, audience: Audience, together: int, *, using: str) -> Sharing:
    keys = {member: card.public_key for member, card in audience.cards.items()}
    sharing, deal = shared.begin(keys, threshold=together)
    store.put_shares(name, together, sharing, [deal], using=using)
    return sharing


def join(name: str, secret_key: SecretKey | str, called: str, card: str) -> bytes:
    """A member takes somebody in; return their id.

    Raises: AudienceUnknown, NotInAudience, AudienceRefused.
    """
    coming = _card(card)

    def act(audience: Audience, member: Member) -> Update:
        # One more would be one too many to hand shares on to, and who goes would keep theirs.
        if store.kept_togethers(name, using=inner_door.database()):
            _check_size(len(audience.cards) + 1)
        return audience.join(member, [coming])

    _change(name, secret_key, act, {coming.member: called})
    return coming.member


def leave(name: str, secret_key: SecretKey | str, gone: bytes | str) -> None:
    """A member takes another one out, by the id that `members` says, or its hexadecimal digits: they open nothing that is sealed to the
    audience from then on, and have no share once the others have handed theirs on.

    Nobody is kept in who is to go. Where fewer are left with a share than have to act together, disguises that declare the audience are
    refused from then on (`is_usable`).

    Raises: AudienceUnknown, NotInAudience, AudienceRefused.
    """
    leave_many(name, secret_key, [gone])


def leave_many(name: str, secret_key: SecretKey | str, gone: Collection[bytes | str]) -> None:
    """Several at once, for less than one after the other.

    Raises: as `leave`.
    """
    going = [_id(each) for each in gone]
    _change(name, secret_key, lambda audience, member: audience.leave_many(member, going), {})


def is_usable(name: str, *, together: int = 2) -> bool:
    """Whether there is such an audience, and as many are left in it who have a share as have to act together. If not, what is held for it
    nobody can read, and a disguise that declares it is refused.

    Raises: AudienceForged
    """
    try:
        store.usable_sharing(name, together, using=inner_door.database())
    except (AudienceUnknown, AudienceTooSmall):
        return False
    return True


def delete(name: str, *, operator: str = "", lose_held: bool = False) -> int:
    """Delete an audience, with its members, its shares and what was asked for; return how many copies were held. It takes no key: who may
    do it, your code says. With ``lose_held``, nobody but the person ever reads what was held. What your own code has sealed to the
    audience's key opens for nobody any more. The audit trail notes it.

    Raises:
        AudienceUnknown
        AudienceInUse: something is held for it, or may be, and ``lose_held`` is not said.
        AudienceForged: a row of its shares is not this site's: what is held for it cannot be told.
    """
    using = inner_door.database()

    def work() -> int:
        store.hold(name, using=using)
        togethers = store.kept_togethers(name, using=using)
        if not togethers and not store.is_there(name, using=using):
            raise AudienceUnknown(f'There is no audience "{name}" here{shards.in_words()}. Nothing was changed.')
        held, unclear = store.held_for(name, using=using)
        if (held or unclear) and not lose_held:
            raise AudienceInUse(_in_use(name, held, unclear))
        store.delete(name, using=using)
        history.note_deletion(name, togethers, held, by=operator)
        return held

    return inner_door.in_one_transaction(work, using=using)


def _in_use(name: str, held: int, unclear: int) -> str:
    said = []
    if held:
        said.append(
            f'{held} {"copy is" if held == 1 else "copies are"} held for the audience "{name}", and nobody but the person could read what '
            "they open once it is deleted. To have others in its place, take them in, and hand the shares on."
        )
    if unclear:
        said.append(
            f'Of {count(unclear, "copy", "copies")} nobody can tell whether it is held for the audience "{name}": past edna, shares were '
            "taken away or copies changed. manage.py edna_verify names rows that were changed; restore what is missing from a backup."
        )
    return " ".join([*said, "Nothing was changed. Say lose_held=True, or --lose-held, if that is meant."])


def members(name: str) -> list[Person]:
    """Who is in it, in the order in which they came.

    Raises: AudienceUnknown
    """
    using = inner_door.database()
    audience, called = store.audience(name, using=using), store.names(name, using=using)
    togethers = store.kept_togethers(name, using=using)
    sharing = [set(store.sharing(name, each, using=using).members) for each in togethers]
    return [
        Person(member, called.get(member, ""), bool(sharing) and all(member in each for each in sharing))
        for member in audience.cards
    ]


def is_there(name: str) -> bool:
    """Whether there is an audience of that name."""
    return store.is_there(name, using=inner_door.database())


def member(name: str, secret_key: SecretKey | str) -> Person:
    """Who of it has this key.

    Raises: AudienceUnknown, NotInAudience.
    """
    own_id = _member(secret_key).id
    for person in members(name):
        if person.id == own_id:
            return person
    raise NotInAudience(f'This key is of nobody who is in the audience "{name}"{shards.in_words()}.')


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

    def work() -> None:
        store.hold(name, using=using)
        audience, member = own(name, secret_key, using=using)
        after = _append(name, audience, act(audience, member), using=using)
        store.add_names(name, called, using=using)
        store.tag_anew(name, using=using)
        store.note_gone(name, after.cards, using=using)
        history.note_change(name, after, by=called_of(name, member, using=using))

    for attempt in range(ATTEMPTS):
        try:
            inner_door.in_one_transaction(work, using=using)
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


def _id(said: bytes | str) -> bytes:
    if isinstance(said, bytes):
        return said
    try:
        return bytes.fromhex(said)
    except ValueError as error:
        raise AudienceRefused(
            f"{said!r} is no id of a member. Nothing was changed. edna.audiences.members says the id of each, and edna_audiences members "
            "prints it."
        ) from error


def _card(text: str) -> Card:
    try:
        raw = bytes.fromhex(text)
    except ValueError as error:
        raise AudienceRefused("This is no card of a member; copy it again.") from error
    return Card.parse(raw)
