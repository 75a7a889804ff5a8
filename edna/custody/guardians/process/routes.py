"""What each address of a guardian takes and answers: JSON objects, read strictly.

Keeps: what was said is of its kind and its size before a guardian hears of it. Does not know: sockets, orders,
nor what guardians do (`guardian`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from edna.custody.guardians.evaluation import Partial
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.orders import CHALLENGE_BYTES, signed_status
from edna.custody.guardians.process.store import Enrolment
from edna.custody.guardians.refresh import ROUND_BYTES, Deal, Receiver, Taken, epoch_of, number_of, points_of
from edna.custody.guardians.repair import Mask, Sum
from edna.custody.guardians.roster import from_base64, to_base64
from edna.custody.guardians.tickets import TOKEN_BYTES, VETO_BYTES
from edna.errors import GuardianRefused

_ID_BYTES: Final = 16
_MOST_LETTERS: Final = 500

Said = Mapping[str, Any]


class Routes:
    """What each path does with a guardian: takes what was said, returns what to answer."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self.open: Mapping[str, Callable[[Said], Said]] = {
            "/ticket": self._ticket,
            "/waits": self._waits,
            "/confirm": self._confirm,
            "/veto": self._veto,
            "/evaluate": self._evaluate,
        }
        self.ordered: Mapping[str, Callable[[Said], Said]] = {
            "/status": self._status,
            "/enrol": self._enrol,
            "/forget": self._forget,
            "/enrolments": self._enrolments,
            "/receive": lambda said: guardian.receive(_binary(said, "round", ROUND_BYTES)).as_dict(),
            "/deal": self._deal,
            "/take": self._take,
            "/taken": self._taken,
            "/commit": self._commit,
            "/drop": self._drop,
            "/mask": self._mask,
            "/help": self._help,
            "/repair": self._repair,
        }

    def _status(self, said: Said) -> Said:
        challenge = _binary(said, "challenge", CHALLENGE_BYTES)
        return signed_status(self._guardian.status(), challenge=challenge, key=self._guardian.identity.signing_key)

    def _ticket(self, said: Said) -> Said:
        self._guardian.open_ticket(_binary(said, "enrolment", _ID_BYTES), _binary(said, "token", TOKEN_BYTES))
        return {}

    def _waits(self, said: Said) -> Said:
        return self._guardian.state(_binary(said, "token", TOKEN_BYTES))

    def _confirm(self, said: Said) -> Said:
        enrolment = _binary(said, "enrolment", _ID_BYTES) if "enrolment" in said else None
        self._guardian.confirm(_binary(said, "token", TOKEN_BYTES), _text(said, "code"), enrolment=enrolment)
        return {}

    def _veto(self, said: Said) -> Said:
        return {"vetoed": self._guardian.veto(_binary(said, "enrolment", _ID_BYTES), _binary(said, "veto", 32))}

    def _evaluate(self, said: Said) -> Said:
        partials = self._guardian.evaluate(_binary(said, "token", TOKEN_BYTES), _binary(said, "point", 32))
        return {"partials": [_told(each) for each in partials]}

    def _enrol(self, said: Said) -> Said:
        enrolment = self._enrolment(said)
        commitments = points_of(_binary(said, "commitments"))
        self._guardian.enrol(enrolment, sealed_share=_binary(said, "share", 80), commitments=commitments)
        return {}

    def _enrolment(self, said: Said) -> Enrolment:
        vetoes = _binary(said, "vetoes", VETO_BYTES * self._guardian.roster.count)
        account = _text(said, "account") if "account" in said else ""
        return Enrolment(_binary(said, "enrolment", _ID_BYTES), _text(said, "contact"), vetoes, account=account)

    def _forget(self, said: Said) -> Said:
        self._guardian.forget(_binary(said, "enrolment", _ID_BYTES))
        return {}

    def _enrolments(self, said: Said) -> Said:
        after = _binary(said, "after")
        page = self._guardian.enrolments(after=after, most=min(_whole(said, "most"), 1000))
        return {"enrolments": [{"enrolment": to_base64(id_), "epoch": epoch} for id_, epoch in page]}

    def _deal(self, said: Said) -> Said:
        enrolments = [from_base64(each, size=_ID_BYTES) for each in _list(said, "enrolments")]
        receivers = [Receiver.of_dict(each) for each in _list(said, "receivers")]
        return {"deals": [each.as_dict() for each in self._guardian.deal(_round(said), enrolments, receivers)]}

    def _take(self, said: Said) -> Said:
        deals = [Deal.of_dict(each) for each in _list(said, "deals")]
        return self._guardian.take(_round(said), deals).as_dict()

    def _taken(self, said: Said) -> Said:
        receipt, undecided = self._guardian.taken(_binary(said, "enrolment", _ID_BYTES))
        return {"taken": receipt and receipt.as_dict(), "undecided": undecided}

    def _commit(self, said: Said) -> Said:
        return {"refreshed": self._guardian.commit([Taken.of_dict(each) for each in _list(said, "receipts")])}

    def _drop(self, said: Said) -> Said:
        self._guardian.drop(_binary(said, "enrolment", _ID_BYTES), epoch=epoch_of(said.get("epoch")))
        return {}

    def _mask(self, said: Said) -> Said:
        mask = self._guardian.mask(
            _round(said),
            _binary(said, "enrolment", _ID_BYTES),
            epoch=epoch_of(said.get("epoch")),
            repaired=number_of(said.get("repaired")),
            helpers=[Receiver.of_dict(each) for each in _list(said, "helpers")],
        )
        return mask.as_dict()

    def _help(self, said: Said) -> Said:
        masks = [Mask.of_dict(each) for each in _list(said, "masks")]
        receiver = Receiver.of_dict(_dict(said, "receiver"))
        helped = self._guardian.help_repair(_round(said), masks, receiver=receiver)
        kept = self._guardian.known(helped.enrolment)
        vetoes = to_base64(kept.vetoes)
        return {"sum": helped.as_dict(), "contact": kept.contact, "vetoes": vetoes, "account": kept.account}

    def _repair(self, said: Said) -> Said:
        masks = [Mask.of_dict(each) for each in _list(said, "masks")]
        sums = [Sum.of_dict(each) for each in _list(said, "sums")]
        kept = self._enrolment(said)
        self._guardian.repair(_round(said), masks, sums, enrolment=kept)
        return {}


def _told(partial: Partial) -> Said:
    return {
        "epoch": partial.place.epoch,
        "point": to_base64(partial.point),
        "public_share": to_base64(partial.public_share),
        "challenge": to_base64(partial.challenge),
        "response": to_base64(partial.response),
        "commitments": to_base64(b"".join(partial.commitments)),
    }


def _binary(said: Said, name: str, size: int | None = None) -> bytes:
    return from_base64(said.get(name), size=size)


def _round(said: Said) -> bytes:
    return _binary(said, "round", ROUND_BYTES)


def _text(said: Said, name: str) -> str:
    text = said.get(name)
    if not isinstance(text, str) or len(text) > _MOST_LETTERS:
        raise GuardianRefused(f"{name} is a text of at most {_MOST_LETTERS} letters.")
    return text


def _whole(said: Said, name: str) -> int:
    number = said.get(name)
    if type(number) is not int or number < 0:
        raise GuardianRefused(f"{name} is a whole number.")
    return number


def _list(said: Said, name: str) -> list[Any]:
    items = said.get(name)
    if not isinstance(items, list):
        raise GuardianRefused(f"{name} is a list.")
    return items


def _dict(said: Said, name: str) -> Said:
    items = said.get(name)
    if not isinstance(items, dict):
        raise GuardianRefused(f"{name} is an object.")
    return items
