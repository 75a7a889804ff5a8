"""Enrolments that guardians may know and nobody keeps: noted before any guardian hears of one, until it is kept, or forgotten by all.

Keeps: a kill between two steps of an enrolment, and a guardian that is down when it is to forget, leave a note, by which the next
`edna_guardian refresh` has guardians forget; of who keeps an enrolment and who has it forgotten only one succeeds. In a caller's
transaction a note is as durable as that. Does not know whose an enrolment is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import nacl.utils

from edna import conf, inner_door, registry, shards
from edna.custody import by_guardians
from edna.custody.guardians import quorum
from edna.custody.guardians.envelope import Envelope
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Roster
from edna.errors import EnvelopeRefused
from edna.guardians import store
from edna.guardians.site import Site, configured

_BEGUN: Final = "begun"
_FORGET: Final = "forget"


@dataclass(frozen=True, slots=True)
class Note:
    """Of an enrolment. The tag finds it, and tells nothing."""

    envelope: Envelope
    tag: bytes

    @property
    def enrolment(self) -> bytes:
        return self.envelope.head.enrolment


def begin(envelope: Envelope, *, using: str) -> Note:
    """Before guardians hear of an enrolment."""
    return _add(_BEGUN, envelope, using=using)


def keep(note: Note, *, using: str) -> None:
    """In the transaction that keeps what was begun.

    Raises: EnvelopeRefused if guardians were told meanwhile to forget it.
    """
    if not any(store.take(place, note.tag, using=using) for place in _places(_BEGUN)):
        raise EnvelopeRefused(
            "The guardians were told to forget this enrolment while it was made: edna_guardian refresh took it for one that was left. "
            "Nothing was changed; enroll again."
        )


def give_up(envelopes: Iterable[Envelope], *, using: str) -> list[Note]:
    """In the transaction in which they are kept no longer: guardians are to forget these."""
    return [_add(_FORGET, envelope, using=using) for envelope in envelopes]


def abandon(note: Note, *, using: str) -> list[Note]:
    """What was begun came to nothing."""
    return [note] if _to_forget(note, using=using) else []


def forget(site: Site, notes: Sequence[Note], *, using: str) -> Mapping[int, str]:
    """Have the guardians destroy their shares. What those said who have not heard it: they will be told again by `finish`."""
    deaf: dict[int, str] = {}
    for note in notes:
        left = quorum.forget(note.envelope, roster=site.roster, transport=site.transport)
        if not left:
            _drop(note, using=using)
        deaf |= left
    return deaf


def finish(site: Site, *, using: str) -> tuple[int, int]:
    """Have guardians forget all that was left, by a kill or by guardians that were down. How many were forgotten, and how many are left."""
    for note in _noted(_BEGUN, using=using):
        _to_forget(note, using=using)
    waiting = _noted(_FORGET, using=using)
    kept = _kept(using=using) if waiting else set()
    done = 0
    for note in waiting:
        # A browser that has sent the same one twice has kept it.
        if note.enrolment in kept:
            _drop(note, using=using)
        elif not forget(site, [note], using=using):
            done += 1
    return done, len(_noted(_FORGET, using=using))


def finish_of(roster: Roster, transport: HttpTransport) -> tuple[int, int]:
    """As `finish`, if these are the guardians of this site."""
    if not conf.has_guardians() or configured().roster.site_key != roster.site_key:
        return 0, 0
    done, left = 0, 0
    for alias in registry.databases():
        with shards.at(alias):
            done_there, left_there = finish(Site(roster, transport, {}), using=alias)
        done, left = done + done_there, left + left_there
    return done, left


def _add(what: str, envelope: Envelope, *, using: str) -> Note:
    note = Note(envelope, nacl.utils.random(by_guardians.TAG_BYTES))
    (place,) = by_guardians.note_places(what, peppers=[inner_door.sealing_key()])
    salt = bytes(by_guardians.SALT_BYTES)
    sealed = by_guardians.seal(salt, bytes(envelope), place=place, pepper=inner_door.sealing_key())
    store.add(place, note.tag, sealed, using=using)
    return note


def _to_forget(note: Note, *, using: str) -> bool:
    """From now on nobody can keep it; False if somebody has, or has given it up before."""
    (place,) = by_guardians.note_places(_FORGET, peppers=[inner_door.sealing_key()])
    salt = bytes(by_guardians.SALT_BYTES)
    sealed = by_guardians.seal(salt, bytes(note.envelope), place=place, pepper=inner_door.sealing_key())
    return any(store.move_row(begun, note.tag, to=place, sealed=sealed, using=using) for begun in _places(_BEGUN))


def _drop(note: Note, *, using: str) -> None:
    for place in _places(_FORGET):
        store.take(place, note.tag, using=using)


def _noted(what: str, *, using: str) -> list[Note]:
    found = []
    for place, tag, sealed in store.tags_at(_places(what), using=using):
        opened = by_guardians.open_sealed(sealed, place=place, peppers=conf.mac_keys())
        if opened is not None:
            found.append(Note(Envelope.parse(opened[1]), tag))
    return found


def _kept(*, using: str) -> set[bytes]:
    """The enrolments that are somebody's way back."""
    notes = {*_places(_BEGUN), *_places(_FORGET)}
    kept = set()
    for page in store.everything(using=using):
        for place, sealed in page:
            opened = by_guardians.open_sealed(sealed, place=place, peppers=conf.mac_keys())
            if place not in notes and opened is not None:
                kept.add(Envelope.parse(opened[1]).head.enrolment)
    return kept


def _places(what: str) -> list[bytes]:
    return by_guardians.note_places(what, peppers=conf.mac_keys())
