"""edna: disguise a person's data, and reveal it again.

The public names. What is not listed here is not public.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edna import errors, placeholders, registry, signals
    from edna.api import (
        Erasure,
        FinishedFiles,
        Held,
        HistoryEntry,
        Outcome,
        Plan,
        PublicKey,
        Reason,
        Receipt,
        RecoveryCode,
        Registration,
        Revealed,
        SecretKey,
        Session,
        Unlocked,
        Waiting,
        change_password,
        disguise,
        disguise_all,
        erase,
        export,
        export_files,
        export_sealed,
        finish_files,
        history,
        is_pseudoprincipal,
        is_registered,
        new_recovery_code,
        plan,
        plan_all,
        plan_erasure,
        plan_erasures,
        principal,
        register_principal,
        register_principals,
        replay,
        reveal,
        rotate,
        session,
        speak_as,
        speaks_for,
        unlock,
        unregistered,
        waiting,
    )
    from edna.recordmigrations import record_migration
    from edna.records.sealedrecord import SealedRecord
    from edna.registry import on_reveal, register, unregister
    from edna.schedules import Notice, schedule
    from edna.shards import on
    from edna.spec import (
        ALL,
        ALL_LEFT,
        ANY_LEFT,
        AS_IT_WAS,
        NOTHING,
        Decorrelate,
        Disguise,
        Keep,
        Modify,
        Param,
        Pseudoprincipal,
        Remove,
    )
    from edna.value_owners import about, by_element, by_value

_HOMES = {
    "edna.api": (
        "Erasure FinishedFiles Held HistoryEntry Outcome OwnFile Plan PublicKey Reason Receipt RecoveryCode Registration Revealed "
        "SecretKey Session Unlocked Waiting change_password disguise disguise_all erase export export_files export_sealed "
        "finish_files history is_pseudoprincipal is_registered new_recovery_code plan plan_all plan_erasure plan_erasures principal "
        "register_principal register_principals replay reveal rotate session speak_as speaks_for unlock unregistered waiting"
    ),
    "edna.recordmigrations": "record_migration",
    "edna.records.sealedrecord": "SealedRecord",
    "edna.registry": "on_reveal register unregister",
    "edna.schedules": "Notice schedule",
    "edna.shards": "on",
    "edna.spec": "ALL ALL_LEFT ANY_LEFT AS_IT_WAS NOTHING Decorrelate Disguise Keep Modify Param Pseudoprincipal Remove",
    "edna.value_owners": "about by_element by_value",
}
_NAMES = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = ("errors", "placeholders", "registry", "signals")

__all__ = [
    "ALL",
    "ALL_LEFT",
    "ANY_LEFT",
    "AS_IT_WAS",
    "NOTHING",
    "Decorrelate",
    "Disguise",
    "Erasure",
    "FinishedFiles",
    "Held",
    "HistoryEntry",
    "Keep",
    "Modify",
    "Notice",
    "Outcome",
    "Param",
    "Plan",
    "Pseudoprincipal",
    "PublicKey",
    "Reason",
    "Receipt",
    "RecoveryCode",
    "Registration",
    "Remove",
    "Revealed",
    "SealedRecord",
    "SecretKey",
    "Session",
    "Unlocked",
    "Waiting",
    "about",
    "by_element",
    "by_value",
    "change_password",
    "disguise",
    "disguise_all",
    "erase",
    "errors",
    "export",
    "export_files",
    "export_sealed",
    "finish_files",
    "history",
    "is_pseudoprincipal",
    "is_registered",
    "new_recovery_code",
    "on",
    "on_reveal",
    "placeholders",
    "plan",
    "plan_all",
    "plan_erasure",
    "plan_erasures",
    "principal",
    "record_migration",
    "register",
    "register_principal",
    "register_principals",
    "registry",
    "replay",
    "reveal",
    "rotate",
    "schedule",
    "session",
    "signals",
    "speak_as",
    "speaks_for",
    "unlock",
    "unregister",
    "unregistered",
    "waiting",
]


def __getattr__(name: str) -> Any:
    # Late: Django imports this package before its models may be imported, and `edna.crypto` works without Django.
    if name in _NAMES:
        found = getattr(import_module(_NAMES[name]), name)
    elif name in _MODULES:
        found = import_module(f"edna.{name}")
    else:
        raise AttributeError(f"module 'edna' has no attribute {name!r}")
    globals()[name] = found
    return found
