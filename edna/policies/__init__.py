"""Policies, as a site uses them: ``INSTALLED_APPS += ["edna.policies"]``, ``EDNA["POLICIES"]`` and ``EDNA["MONITOR"]``.

What is computed is in `edna.custody.policies`. A process attests at the first need; `attest` does so at its start.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edna.policies.worker import attest, forget

__all__ = ["attest", "forget"]


def __getattr__(name: str) -> Any:
    # Late: Django imports this package before models may be imported.
    if name not in __all__:
        raise AttributeError(f"module 'edna.policies' has no attribute {name!r}")
    return getattr(import_module("edna.policies.worker"), name)
