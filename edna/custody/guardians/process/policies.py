"""What a guardian asks for before it helps: each decides by itself, by a policy of its own. A site's own are subclasses of `Policy`.

Keeps: a policy sees ids, times and what it noted itself, no share and no point. Does not know: sockets, shares.
"""

from __future__ import annotations

import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from edna.crypto.keys import fingerprint
from edna.errors import TicketRefused

#: Told to a person: few letters, none of which looks like another.
_LETTERS: Final = "ACDEFGHJKLMNPQRTUVWXYZ2346789"
_CODE_LETTERS: Final = 12

Tell = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """A ticket as a policy sees it. `name` tells it apart for people: the person's page shows it as well. `whose` says which key, of which
    account, at which site."""

    name: str
    contact: str = field(repr=False)
    opened: int
    notes: Mapping[str, Any] = field(repr=False)
    whose: str = field(default="your key", repr=False)

    @property
    def asked(self) -> str:
        """How a message to the owner begins."""
        return f"Somebody asks a guardian to help them to {self.whose}: request {self.name}."


class Policy(ABC):
    """``tell(contact, text)`` reaches the person: by mail, by default."""

    #: Whether a request is over after some days.
    ends: ClassVar[bool] = True

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    @abstractmethod
    def opened(self, request: Request) -> Mapping[str, Any]:
        """Somebody asks for help; tell the owner. Returns what to note about this ticket."""

    def buried(self, request: Request) -> Mapping[str, Any]:
        """There were so many requests that the owner is told of no more today; tell them that. Returns what to note about all of them."""
        self.tell(request.contact, f"{_many(request)} If it is not you, veto it on the site.")
        return {}

    @abstractmethod
    def check(self, request: Request, *, now: int) -> None:
        """
        Raises: TicketRefused if the guardian does not help yet: what has to happen before.
        """

    def waits_for_code(self, request: Request) -> bool:
        return False

    def confirmed(self, request: Request, code: str) -> Mapping[str, Any]:
        """The person gives a code. Returns what to note from now on.

        Raises: TicketRefused if it is not the right one.
        """
        raise TicketRefused("This guardian asks for no code.")


class _Code(Policy):
    """Knows a request as the owner's by a code."""

    def check(self, request: Request, *, now: int) -> None:
        if not request.notes.get("confirmed"):
            raise TicketRefused("This guardian waits for its code.")

    def waits_for_code(self, request: Request) -> bool:
        return not request.notes.get("confirmed")

    def confirmed(self, request: Request, code: str) -> Mapping[str, Any]:
        if not hmac.compare_digest(code_hash(as_printed(code)), request.notes.get("code", "")):
            raise TicketRefused("This is not the code of this request.")
        return {"confirmed": True}

    @staticmethod
    def new_code() -> str:
        letters = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LETTERS))
        return "-".join(letters[start : start + 4] for start in range(0, _CODE_LETTERS, 4))


class MailedCode(_Code):
    """Helps whoever has the code that the owner's address got."""

    def opened(self, request: Request) -> Mapping[str, Any]:
        code = self.new_code()
        self.tell(
            request.contact,
            f"{request.asked} If it is you, and your page shows the same request, give the code {code} there. If it is not, do "
            "nothing, and veto it on the site.",
        )
        return {"code": code_hash(code)}

    def buried(self, request: Request) -> Mapping[str, Any]:
        code = self.new_code()
        self.tell(
            request.contact,
            f"{_many(request)} If one of them is yours, give the code {code} on your page: it is good for one request, until "
            "tomorrow. If none is, do nothing, and veto them on the site.",
        )
        return {"code": code_hash(code)}


class Waiting(MailedCode):
    """Helps after some time in which the owner, who is told, can veto. Who gives the code of the message is known to be the owner, and
    waits as well: the requests of others do not get in their way then."""

    def __init__(self, tell: Tell, *, wait_seconds: int) -> None:
        super().__init__(tell)
        self.wait_seconds = wait_seconds

    def opened(self, request: Request) -> Mapping[str, Any]:
        code, hours = self.new_code(), max(1, self.wait_seconds // 3600)
        wait = f"wait {hours} hour{'s' * (hours > 1)}" if self.wait_seconds else "you need not wait"
        self.tell(
            request.contact,
            f"{request.asked} If it is you, {wait}; with the code {code} on your page nobody else's requests get in your "
            "way. If it is not, veto it on the site, or tell this guardian.",
        )
        return {"code": code_hash(code)}

    def check(self, request: Request, *, now: int) -> None:
        left = request.opened + self.wait_seconds - now
        if left > 0:
            raise TicketRefused("This guardian waits, so that the owner can veto.", retry_after_seconds=left)

    def waits_for_code(self, request: Request) -> bool:
        return False


class CounterCode(_Code):
    """Helps whoever has shown at the guardian's counter who they are: staff there run ``edna_guardian code``, and
    hand over what it prints."""

    def opened(self, request: Request) -> Mapping[str, Any]:
        self.tell(
            request.contact,
            f"{request.asked} If it is you, come to its counter with something that shows who you are. If it is not, veto it on the "
            "site.",
        )
        return {}

    def issued(self) -> tuple[str, Mapping[str, Any]]:
        """A code for a ticket, and what to note with it."""
        code = self.new_code()
        return code, {"code": code_hash(code)}


class Standing(CounterCode):
    """As at a counter; and what was allowed once stays so, until a veto: for a server, which starts when it likes."""

    ends = False


def _many(request: Request) -> str:
    return f"There were so many requests for help to {request.whose} that this guardian tells you of no more today."


def as_printed(code: str) -> str:
    """A code that somebody has typed: white space and small letters do not matter."""
    return "".join(code.split()).upper()


def code_hash(code: str) -> str:
    """What is kept of a code."""
    return fingerprint(code.replace("-", "").encode(), purpose=b"edna.guard.code1").hex()
