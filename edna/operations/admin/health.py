"""How edna is doing on this site: runners, workers, key pool, storage by the month in which it expires, files, recurring tasks, checks.

Numbers of bags, bytes and tasks; of no principal.
"""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from edna import conf
from edna.operations import audit
from edna.operations.admin import words
from edna.operations.admin.pages import PagesAdmin
from edna.operations.admin.permissions import VIEW_HEALTH
from edna.operations.upkeep import health
from edna.operations.upkeep.figures import Bucket, KeyPool
from edna.operations.upkeep.health import Line

_NAMES: Final = {
    "server_key": "Server key",
    "runners": "Runners and workers",
    "jobs": "Jobs",
    "schedules": "Schedules",
    "upkeep": "Upkeep",
    "storage": "Storage",
    "holds": "Legal holds",
    "files": "Files",
    "key_pool": "Key pool",
    "checks": "System checks",
    "ledger": "Erasure ledger",
    "policies": "Policies: this process",
    "worker_policies": "Policies: workers",
    "audiences": "Audiences",
}
#: Entries of the audit trail that this page verifies at most; `edna.operations.audit.verify` takes them all.
_MOST_VERIFIED: Final = 20_000


class HealthAdmin(PagesAdmin):
    permission = VIEW_HEALTH
    of_one_database = frozenset({"changelist"})

    @method_decorator(require_safe)
    @method_decorator(never_cache)
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        self.require(self.may_see(request))
        found = health.health()
        return self.show(
            request,
            "health.html",
            title="Storage and health",
            health=found,
            lines=[(_name(line), line) for line in found.lines],
            pool=_pool(found.pool),
            full=max((bucket.bytes for bucket in found.storage), default=0),
            buckets=[_bucket(bucket) for bucket in found.storage],
            all_bags=f"{sum(bucket.bags for bucket in found.storage):,}",
            all_bytes=words.size(sum(bucket.bytes for bucket in found.storage)),
            retention_days=conf.retention_days(),
            recurring=sorted(found.recurring.items()),
            trail=_trail(),
        )


def _name(line: Line) -> str:
    return _NAMES.get(line.name, line.name.replace("_", " ").capitalize())


def _pool(pool: KeyPool) -> list[tuple[str, str]]:
    speed = pool.refills_per_second
    return [
        ("Keys ready", f"{pool.depth:,} of {pool.size:,}"),
        ("Refilled at", f"{pool.low_water:,} left"),
        ("Refill rate", "not refilled yet" if speed is None else words.rate(speed)),
        ("Taken", f"{pool.taken:,}"),
        ("Made while somebody waited", f"{pool.inline:,}"),
    ]


def _bucket(bucket: Bucket) -> dict[str, Any]:
    return {
        "until": bucket.expires_on,
        "bags": f"{bucket.bags:,}",
        "bytes": bucket.bytes,
        "size": words.size(bucket.bytes),
        "held": bucket.held,
    }


def _trail() -> dict[str, Any]:
    newest = audit.entries(most=1)
    number = newest[0].id if newest else 0
    # A page is not to read a million entries; what verifies them all is said there.
    broken = audit.verify() if number <= _MOST_VERIFIED else None
    return {"entries": number, "number": f"{number:,}", "broken": broken, "skipped": broken is None}
