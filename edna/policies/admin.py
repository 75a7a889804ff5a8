"""The operators' page of policies in the admin site: each with its clauses, and what the process that serves the page is attested as.

There with `edna.operations`, whose pages it stands beside. Reads only; attests if that was not done, as the health page does. Shows names
and values of attributes and times; no key, no certificate.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from edna import conf, policy_seals, registry
from edna.custody.policies.language import Clause, Formula, Policy
from edna.errors import EdnaError
from edna.policies.models import PolicyOverview
from edna.policies.worker import worker

VIEW_POLICIES: Final = "edna_policies.view_policies"
#: Clauses of a policy that the page writes out.
_MOST_CLAUSES: Final = 12

if apps.is_installed("edna.operations"):
    from edna.operations.admin.pages import PagesAdmin

    class PoliciesAdmin(PagesAdmin):
        permission = VIEW_POLICIES

        @method_decorator(require_safe)
        @method_decorator(never_cache)
        def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
            self.require(self.may_see(request))
            stands = policy_seals.standing()
            return self.show(
                request,
                "policies.html",
                title="Policies",
                stands=stands,
                process=_process(stands) if stands else [],
                policies=list(_policies(conf.policies(), stands)),
                monitor=_monitor() if conf.policies() else {},
            )

    admin.site.register(PolicyOverview, PoliciesAdmin)


def _process(stands: policy_seals.Standing) -> list[tuple[str, str]]:
    epochs = ", ".join(map(str, stands.epochs))
    return [
        ("Attested as", stands.attested_as or "nothing"),
        ("By", stands.evidence or "nothing"),
        ("Last attested", _time(stands.attested_at) or "not since it started"),
        ("Its credential ends", _time(stands.expires_at) or "it has none"),
        ("Opens seals of epochs", epochs or "none"),
        ("Seals that it has opened", f"{stands.opened:,}"),
        ("Seals that it could not open", f"{stands.refused:,}"),
    ]


def _time(at: int) -> str:
    return f"{datetime.datetime.fromtimestamp(at, datetime.UTC):%Y-%m-%d %H:%M} UTC" if at else ""


def _policies(policies: Mapping[str, str], stands: policy_seals.Standing | None) -> Iterator[dict[str, Any]]:
    by_attributes = conf.policies_by_attributes()
    for name, text in policies.items():
        try:
            if name in by_attributes:
                clauses, problem = [str(Formula.parse(text))], ""
            else:
                clauses, problem = [_in_words(each) for each in Policy.parse(text).clauses], ""
        except EdnaError as error:
            clauses, problem = [], str(error)
        yield {
            "name": name,
            "text": text,
            "clauses": clauses[:_MOST_CLAUSES],
            "by_attributes": name in by_attributes,
            "more": max(0, len(clauses) - _MOST_CLAUSES),
            "problem": problem,
            "satisfied": stands is not None and not stands.problem and name not in stands.lacks,
            "disguises": sorted(found.name for found in registry.disguises().values() if found.policy == name),
        }


def _in_words(clause: Clause) -> str:
    return str(clause).replace("&", " and ").replace("=", " = ")


def _monitor() -> dict[str, Any]:
    """What this process seals by."""
    try:
        clauses, said = worker.clauses(), conf.monitor() or {}
    except EdnaError as error:
        return {"problem": str(error)}
    former = ", ".join(map(str, clauses.former)) or "none"
    return {"address": str(said["ADDRESS"]), "epoch": clauses.epoch, "former": former, "clauses": len(clauses.keys)}
