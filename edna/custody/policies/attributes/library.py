"""The library in Go: circl's tkn20, ciphertext-policy attribute-based encryption that is secure against chosen ciphertexts.

Keeps: it is loaded at the first use, and by the process that uses it, for Go does not survive a fork. What it gives back lies in its own
memory, and is wiped and freed once it was copied. A policy is given to it as labels that no policy of ours can run out of. Does not know:
epochs, bags, whom a key is for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from edna.crypto.keys import Secret
from edna.custody.policies.language import Attribute, Formula
from edna.errors import AttributeParametersForged, ConfigurationError

#: Which functions `tkn20/main.go` has.
_VERSION: Final = 1
_DONE: Final = 0
_KEPT: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
HOW: Final = "manage.py edna_monitor library builds it, and takes Go"

#: The process that has loaded it, and the library.
_loaded: tuple[int, Any] | None = None


class LongSecret(Secret):
    """Of any length."""

    __slots__ = ("SIZE",)

    def __init__(self, raw: bytes) -> None:
        self.SIZE = len(raw)
        super().__init__(raw)


class AttributeMaster(LongSecret):
    """What a monitor makes all keys of attributes from. Redacts itself."""


class TknKey(LongSecret):
    """Who has it decrypts what its attributes satisfy. Redacts itself."""


def place() -> Path:
    """Where it is built, and looked for: in this Python's environment."""
    return Path(sys.prefix) / "lib" / "libedna_tkn20.so"


def require() -> None:
    """Without loading it.

    Raises: ConfigurationError if it was not built.
    """
    if not place().is_file():
        raise ConfigurationError(
            f"Policies by attributes take a library that is not here ({place()}): {HOW} (docs/policies.md, "
            '"Policies that the monitor does not know").'
        )


def _library() -> Any:
    """
    Raises: ConfigurationError if it is not there, is another release's, or was loaded before this process was forked.
    """
    global _loaded
    if _loaded is None:
        import ctypes

        require()
        try:
            opened = ctypes.CDLL(str(place()))
            version = opened.edna_version()
        except (OSError, AttributeError) as error:
            raise ConfigurationError(f"{place()} cannot be loaded ({type(error).__name__}): {HOW}.") from error
        if version != _VERSION:
            raise ConfigurationError(f"{place()} was built for another release of edna: {HOW}.")
        _loaded = os.getpid(), opened
    if _loaded[0] != os.getpid():
        raise ConfigurationError(
            "This process was forked from one that had used the library of policies by attributes, which does not survive that. Seal and "
            "open in the workers alone, and not before they are forked."
        )
    return _loaded[1]


def _asked(name: str, *given: Secret | bytes | int, outputs: int = 1) -> list[LongSecret]:
    """What a function gives back; nothing if it refuses.

    Raises: as `_library`; nothing once it has exposed a secret.
    """
    library = _library()
    import ctypes

    places = [(ctypes.c_void_p(), ctypes.c_size_t()) for _ in range(outputs)]
    arguments: list[Any] = []
    for each in given:
        if isinstance(each, int):
            arguments.append(ctypes.c_int(each))
        else:
            raw = each.expose() if isinstance(each, Secret) else each
            arguments += [raw, ctypes.c_size_t(len(raw))]
    for data, size in places:
        arguments += [ctypes.byref(data), ctypes.byref(size)]
    status = getattr(library, name)(*arguments)
    made = [LongSecret(ctypes.string_at(data, size.value)) for data, size in places] if status == _DONE else []
    for data, size in places:
        library.edna_free(data, size)
    return made


def label(attribute: Attribute, *, epoch: int) -> str:
    """Its name in the library, in one epoch: the number, _, name and value, where every sign but letters and digits, which are all that the
    library takes, is _ and two hexadecimal digits."""
    spelled = "".join(each if each in _KEPT else f"_{ord(each):02x}" for each in "=".join(attribute))
    return f"{epoch}_{spelled}"


def setup() -> tuple[bytes, AttributeMaster]:
    """New parameters, for everybody, and their master key."""
    public, master = _asked("edna_setup", outputs=2)
    return public.expose(), AttributeMaster(master.expose())


def key_of(master: AttributeMaster, *, epochs: Iterable[int], attributes: Iterable[Attribute]) -> TknKey:
    """The key of a worker with these attributes, in these epochs. Never the same twice: two keys do nothing together."""
    had = frozenset(attributes)
    labels = sorted(label(each, epoch=epoch) for epoch in {*epochs} for each in had)
    made = _asked("edna_key", master, "\n".join(labels).encode())
    if not made:
        raise ConfigurationError("The monitor's master key of attributes is none that this release reads.")
    return TknKey(made[0].expose())


def encrypt(message: Secret, *, parameters: bytes, epoch: int, formula: Formula) -> bytes:
    """To whoever has, in this epoch, the attributes that the formula asks for. The ciphertext says which policy it is.

    Raises: AttributeParametersForged if these are none.
    """
    count = sum(1 for _ in formula.conditions())
    made = _asked("edna_encrypt", parameters, _written(formula, epoch).encode(), count, message)
    if not made:
        raise AttributeParametersForged("The parameters of policies by attributes are none that this release seals by.")
    return made[0].expose()


def decrypt(ciphertext: bytes, *, key: TknKey) -> LongSecret | None:
    """None if the key does not satisfy the policy, or something was changed."""
    made = _asked("edna_decrypt", key, ciphertext)
    return made[0] if made else None


def _written(formula: Formula, epoch: int) -> str:
    if formula.sign == "=":
        return f"{label(formula.attribute, epoch=epoch)}:1"
    return f"({f' {formula.sign} '.join(_written(part, epoch) for part in formula.parts)})"
