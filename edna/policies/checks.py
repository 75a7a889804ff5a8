"""Checks of policies: that each can be read, that disguises name those that there are, and that the monitor's list has their clauses,
or that there is what it takes to seal by attributes. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from edna import conf, registry
from edna.checks import TAG
from edna.custody.policies.attributes import library
from edna.custody.policies.language import Formula, Policy
from edna.errors import EdnaError
from edna.policies.worker import worker


def connect() -> None:
    """Make the check known to Django. Calling it again changes nothing."""
    register(check_policies, TAG)


def check_policies(**_: object) -> list[CheckMessage]:
    try:
        if not isinstance(getattr(settings, "EDNA", {}), Mapping):
            return []
        policies = conf.policies()
        conf.monitor()
    except EdnaError:
        return []  # edna.E002 says so
    return [
        Error(
            f"{problem} Until then no disguise with this policy can be applied, and no bag with its seal opens.",
            hint='A policy is written as in EDNA["POLICIES"] = {"restore": "region = eu and role = restorer"}. After each change of one, '
            'say edna_monitor policies and edna_monitor clauses on the monitor, and put its new list where EDNA["MONITOR"]["CLAUSES"] '
            "says, for all processes.",
            obj="settings.EDNA",
            id="edna.E066",
        )
        for problem in _problems(policies)
    ]


def _problems(policies: Mapping[str, str]) -> Iterator[str]:
    named = {found.policy for found in registry.disguises().values() if found.policy is not None}
    for name in sorted(named - set(policies)):
        yield f'A disguise names the policy {name!r}, which EDNA["POLICIES"] does not have.'
    if not policies:
        return
    parsed, by_attributes = [], conf.policies_by_attributes()
    for name, text in policies.items():
        try:
            if name in by_attributes:
                Formula.parse(text)
            else:
                parsed.append(Policy.parse(text))
        except EdnaError as error:
            yield f'EDNA["POLICIES"]["{name}"]: {error}'
    try:
        clauses = worker.clauses()
        for policy in parsed:
            clauses.of_policy(policy)
        if by_attributes:
            worker.parameters()
            # Not loaded: whoever checks may fork workers.
            library.require()
    except EdnaError as error:
        yield str(error)
