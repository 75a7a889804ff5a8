"""The roster: which guardians there are, how to reach and recognise them, how many are needed, and when they
restart; a file, signed by the site.

Keeps: a roster that the site's key did not sign is none. Guardians are told apart by their keys, not by their addresses. Does not
know: shares, enrolments.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import nacl.signing
from nacl.exceptions import BadSignatureError

from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.guardians.schedule import GuardianSchedule
from edna.custody.guardians.sharing import check_threshold
from edna.errors import ConfigurationError, GuardianRefused, KeyMalformed

_VERSION: Final = 1
_SIGNED_AS: Final = b"edna guardians roster 1\n"


def to_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def from_base64(text: Any, *, size: int | None = None) -> bytes:
    """
    Raises: GuardianRefused if it is not base 64, or of another size.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except (TypeError, ValueError) as error:
        raise GuardianRefused("What should be base 64 is not.") from error
    if size is not None and len(raw) != size:
        raise GuardianRefused(f"{size} bytes are expected here, and there are {len(raw)}.")
    return raw


def signed(message: bytes, *, purpose: bytes, key: nacl.signing.SigningKey) -> bytes:
    """Return the Ed25519 signature of a message for one purpose."""
    return bytes(key.sign(purpose + message).signature)


def check_signature(signature: bytes, message: bytes, *, purpose: bytes, key: bytes, whose: str) -> None:
    """
    Raises: GuardianRefused if that key did not sign the message for that purpose.
    """
    try:
        nacl.signing.VerifyKey(key).verify(purpose + message, signature)
    except (BadSignatureError, ValueError, TypeError) as error:
        raise GuardianRefused(f"The signature of {whose} is wrong.") from error


@dataclass(frozen=True, slots=True)
class Member:
    """A guardian as others know it. `certificate` is the one its TLS shows, as PEM; "" for one that the machine trusts anyway."""

    number: int
    address: str
    verify_key: bytes
    public_key: PublicKey
    certificate: str = ""


@dataclass(frozen=True, slots=True)
class Roster:
    """`site` is what people call the site, "" if it has no name.

    Raises: ConfigurationError if the numbers are not 1, 2, 3 ..., or the threshold or the schedule is impossible.
    """

    members: Sequence[Member]
    threshold: int
    site_key: bytes
    schedule: GuardianSchedule | None = None
    site: str = ""

    def __post_init__(self) -> None:
        check_threshold(count=len(self.members), threshold=self.threshold)
        if [each.number for each in self.members] != list(range(1, len(self.members) + 1)):
            raise ConfigurationError("Guardians are numbered 1, 2, 3 ... in a roster, in this order.")
        if len({each.verify_key for each in self.members}) != len(self.members):
            raise ConfigurationError("Two guardians of the roster have one key: each needs its own.")
        plan = self.schedule
        if plan is not None and (plan.count, plan.threshold) != (self.count, self.threshold):
            raise ConfigurationError("The schedule is for other numbers of guardians than the roster.")

    @property
    def count(self) -> int:
        return len(self.members)

    def member(self, number: int) -> Member:
        """
        Raises: GuardianRefused if there is none of that number.
        """
        if not 1 <= number <= self.count:
            raise GuardianRefused(f"There is no guardian {number} in the roster.")
        return self.members[number - 1]

    def signed(self, key: nacl.signing.SigningKey) -> str:
        """Return the file: the roster, and the site's signature.

        Raises: ConfigurationError if the key is not the site's.
        """
        if bytes(key.verify_key) != self.site_key:
            raise ConfigurationError("This is not the key of the site that the roster names.")
        text = json.dumps(self._as_dict(), sort_keys=True)
        signature = to_base64(signed(text.encode(), purpose=_SIGNED_AS, key=key))
        return json.dumps({"roster": text, "signature": signature}, indent=1) + "\n"

    @classmethod
    def parse(cls, text: str, *, site_key: bytes) -> Self:
        """
        Raises: GuardianRefused if the site's key did not sign it; ConfigurationError if it makes no sense.
        """
        try:
            file = json.loads(text)
            content, signature = file["roster"], from_base64(file["signature"])
            check_signature(signature, content.encode(), purpose=_SIGNED_AS, key=site_key, whose="the site")
            return cls._of_dict(json.loads(content), site_key)
        except (ValueError, KeyError, TypeError, AttributeError, KeyMalformed) as error:
            raise GuardianRefused("This file is no roster of guardians.") from error

    @classmethod
    def _of_dict(cls, said: Mapping[str, Any], site_key: bytes) -> Self:
        if said["version"] != _VERSION:
            raise GuardianRefused(f"This release reads rosters of version {_VERSION}.")
        members = [
            Member(
                number=number,
                address=each["address"],
                verify_key=from_base64(each["verify_key"], size=32),
                public_key=PublicKey(from_base64(each["public_key"], size=32)),
                certificate=each["certificate"],
            )
            for number, each in enumerate(said["guardians"], start=1)
        ]
        times = said["schedule"]
        schedule = times and GuardianSchedule(
            len(members), said["threshold"], times["attack_seconds"], times["restart_seconds"]
        )
        return cls(members, said["threshold"], site_key, schedule, said["site"])

    def _as_dict(self) -> Mapping[str, Any]:
        times = self.schedule
        return {
            "version": _VERSION,
            "site": self.site,
            "threshold": self.threshold,
            "guardians": [
                {
                    "address": each.address,
                    "verify_key": to_base64(each.verify_key),
                    "public_key": to_base64(bytes(each.public_key)),
                    "certificate": each.certificate,
                }
                for each in self.members
            ],
            "schedule": times and {"attack_seconds": times.attack_seconds, "restart_seconds": times.restart_seconds},
        }


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes a guardian itself: the key it signs with, and the one that shares are sealed to. Redacts itself."""

    number: int
    signing_key: nacl.signing.SigningKey
    secret_key: SecretKey

    @classmethod
    def new(cls, number: int) -> Self:
        return cls(number, nacl.signing.SigningKey.generate(), SecretKey.generate())

    def __repr__(self) -> str:
        return f"<Identity of guardian {self.number} redacted>"

    def member(self, address: str, *, certificate: str = "") -> Member:
        """This guardian as a roster names it."""
        return Member(self.number, address, bytes(self.signing_key.verify_key), self.secret_key.public_key, certificate)
