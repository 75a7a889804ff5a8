"""The operator's pages in Django's own admin site: disguises, jobs, storage and health, the audit trail.

They are there as soon as `edna.operations` and the admin are installed. A project with an admin site of its own calls `install(site)`
in one of its ``admin`` modules. The pages show counts and names of disguises; nothing here can reveal, and no page has content, a
locator or a receipt. Each page and action asks for its own permission (`edna.operations.admin.permissions`).
"""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import AdminSite
from django.urls import URLPattern

from edna.operations.admin import permissions, selection
from edna.operations.admin.disguises import DisguisesAdmin
from edna.operations.admin.health import HealthAdmin
from edna.operations.admin.jobs import JobsAdmin
from edna.operations.admin.trail import TrailAdmin
from edna.operations.models import AuditEntry, DisguiseCatalogue, Job, SiteHealth

__all__ = ["install"]


class _CatalogueAdmin(DisguisesAdmin):
    def get_urls(self) -> list[URLPattern]:
        # The site asks for this when all applications have registered their pages.
        selection.add_to(self.admin_site)
        return super().get_urls()


def install(site: AdminSite) -> None:
    """Put edna's pages into an admin site, and the action "Apply a disguise" into its lists of users."""
    for model, page in (
        (DisguiseCatalogue, _CatalogueAdmin),
        (Job, JobsAdmin),
        (SiteHealth, HealthAdmin),
        (AuditEntry, TrailAdmin),
    ):
        if not site.is_registered(model):
            site.register(model, page)


permissions.connect()
install(admin.site)
