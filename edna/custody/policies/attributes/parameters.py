"""What it takes to seal to policies by attributes: parameters that a monitor signs, for one epoch; and what it keeps them with.

Keeps: docs/format.md, "Policy seals". The file has a key besides, the veil, which hides from whoever has the database alone which policy a
seal is for: it is for processes that seal. Does not know: what is sealed, who gets which key.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

import nacl.signing

from edna.crypto.keys import Secret
from edna.custody.policies.attributes import library
from edna.custody.policies.language import Attribute
from edna.custody.policies.signing import from_base64, signed_text, to_base64, verified
from edna.errors import AttributeParametersForged

_VERSION: Final = 1
_PARAMETERS: Final = b"edna policies attributes 1\n"


class Veil(Secret):
    """What hides the policies of seals. Redacts itself."""


class AttributeKey(library.LongSecret):
    """A worker's: the veil, and its key of circl's. Redacts itself."""

    def veil(self) -> Veil:
        return Veil(self.expose()[: Veil.SIZE])

    def key(self) -> library.TknKey:
        return library.TknKey(self.expose()[Veil.SIZE :])

    @classmethod
    def make(
        cls, master: library.AttributeMaster, veil: Veil, *, epochs: Iterable[int], attributes: Iterable[Attribute]
    ) -> Self:
        """
        Raises: ConfigurationError if the library is missing.
        """
        return cls(veil.expose() + library.key_of(master, epochs=epochs, attributes=attributes).expose())


@dataclass(frozen=True, slots=True)
class Parameters:
    """``former`` are the epochs before this one whose seals still open."""

    epoch: int
    former: tuple[int, ...]
    public: bytes = field(repr=False)
    veil: Veil

    def signed(self, key: nacl.signing.SigningKey) -> str:
        """Return the file. It is for processes that seal, and for nobody else."""
        said = {
            "version": _VERSION,
            "epoch": self.epoch,
            "former": list(self.former),
            "parameters": to_base64(self.public),
            "veil": to_base64(self.veil.expose()),
        }
        return signed_text(said, purpose=_PARAMETERS, key=key)

    @classmethod
    def parse(cls, text: str, *, monitor: bytes) -> Self:
        """
        Raises: AttributeParametersForged if the monitor with this key has not signed them as they are.
        """
        read = cls._read(text, monitor)
        if read is None:
            raise AttributeParametersForged(
                "The parameters of policies by attributes are none that this monitor has signed, or that this release reads."
            )
        return read

    @classmethod
    def _read(cls, text: str, monitor: bytes) -> Self | None:
        """Never raises: its variables are a key."""
        said = verified(text, purpose=_PARAMETERS, signer=monitor)
        try:
            if said is None or said["version"] != _VERSION:
                return None
            epoch, former = said["epoch"], tuple(said["former"])
            public, veil = from_base64(said["parameters"]), from_base64(said["veil"], size=Veil.SIZE)
        except (KeyError, TypeError):
            return None
        if any(type(each) is not int or each < 0 for each in (epoch, *former)) or public is None or veil is None:
            return None
        return cls(epoch, former, public, Veil(veil))
