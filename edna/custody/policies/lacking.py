"""What policies ask for and no certificate gives: a slip of the pen in a policy, or a certificate that is missing.

Keeps: asks nobody, and says nothing of a worker. A certificate may still come, or a worker may bring one along: this is what those say that
a monitor has. Does not know stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from edna.custody.policies.certificates import Certifiers
from edna.custody.policies.language import Attribute, Formula, Policy


@dataclass(frozen=True, slots=True)
class Lack:
    """An attribute that a policy names. ``is_satisfied``: somebody may satisfy the policy without it. ``given`` are the values of that name
    that certificates have; ``nobody_may``: no certifier is trusted for the name."""

    policy: str
    attribute: Attribute
    is_satisfied: bool
    given: tuple[str, ...]
    nobody_may: bool

    def __str__(self) -> str:
        name, value = self.attribute
        if self.nobody_may:
            said = f"no certifier is trusted for {name}"
        elif self.given:
            near = get_close_matches(value, self.given, n=1)
            meant = f"; is {near[0]} meant?" if near else ""
            said = f"no certificate that is valid gives it, but {name} = {', '.join(self.given[:10])}{meant}"
        else:
            said = f"no certificate that is valid gives any {name}"
        rest = "" if self.is_satisfied else " Until one does, nobody satisfies this policy."
        return f"{self.policy} names {name} = {value}, and {said}.{rest}"


def lacking(
    policies: Mapping[str, Policy | Formula], *, given: frozenset[Attribute], certifiers: Certifiers
) -> Iterator[Lack]:
    """``given`` is all that valid certificates say of anything."""
    for policy, read in policies.items():
        named = (
            read.conditions()
            if isinstance(read, Formula)
            else (pair for each in read.clauses for pair in each.attributes)
        )
        is_satisfied = read.is_satisfied(given)
        for attribute in sorted({*named} - given):
            values = tuple(sorted(value for name, value in given if name == attribute[0]))
            yield Lack(policy, attribute, is_satisfied, values, not certifiers.may_certify(attribute[0]))
