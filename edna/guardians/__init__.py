"""Guardians, as a site and as those who run them use them: ``INSTALLED_APPS += ["edna.guardians"]``.

What they compute is in `edna.custody.guardians`. For a site, `enroll` and what stands beside it is another way to hold a key:
`enrolments` for whoever has it, `way_back` for whoever has nothing left.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edna.guardians.enrolments import enroll, is_enrolled, veto, withdraw
    from edna.guardians.way_back import Answer, Progress, ask, confirm, look, recover

_ENROLMENTS = ("enroll", "is_enrolled", "veto", "withdraw")
__all__ = ["Answer", "Progress", "ask", "confirm", "enroll", "is_enrolled", "look", "recover", "veto", "withdraw"]


def __getattr__(name: str) -> Any:
    # Late: Django imports this package before models may be imported.
    if name not in __all__:
        raise AttributeError(f"module 'edna.guardians' has no attribute {name!r}")
    return getattr(import_module(f"edna.guardians.{'enrolments' if name in _ENROLMENTS else 'way_back'}"), name)
