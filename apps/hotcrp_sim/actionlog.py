"""The conference's log of what people did, with their addresses, as review sites keep one.

Not written while somebody acts under disguise: an entry with a name, an address or a time beside it would undo the disguise.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone

from .models import ActionLog, ContactInfo, Paper


def note(
    request: HttpRequest, action: str, *, paper: Paper | int | None = None, about: ContactInfo | None = None
) -> None:
    ActionLog.objects.create(
        contact=request.user,
        dest_contact=about,
        paper_id=paper.pk if isinstance(paper, Paper) else paper,
        timestamp=timezone.now(),
        ipaddr=(request.META.get("REMOTE_ADDR") or "")[:39] or None,
        action=action,
    )
