"""The audit trail in the site's own list: to be read, filtered and searched, and nothing else."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from edna import conf
from edna.operations.admin.pages import ReadOnlyAdmin, chosen_database
from edna.operations.admin.permissions import VIEW_TRAIL
from edna.operations.models import AuditEntry


class _DatabaseFilter(admin.SimpleListFilter):
    """Of several databases each has a trail. Not there where there is one."""

    title = "database"
    parameter_name = "database"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(alias, alias) for alias in conf.databases()]

    def choices(self, changelist: Any) -> Any:
        _all, *each = super().choices(changelist)
        shown = self.value() or conf.databases()[0]
        for choice in each:
            yield {**choice, "selected": choice["display"] == shown}

    def queryset(self, request: HttpRequest, queryset: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        return queryset  # `TrailAdmin.get_queryset` has seen to it, for the other filters as well


class TrailAdmin(ReadOnlyAdmin):
    permission = VIEW_TRAIL

    list_display = ("hour", "who", "what", "in_words")
    list_display_links = None
    list_filter = (_DatabaseFilter, "action", "disguise")
    search_fields = ("operator", "disguise")
    search_help_text = "Search for an operator or a disguise"
    ordering = ("-id",)
    list_per_page = 50
    #: Counting all entries once more for "17 of 20,000" is not worth it.
    show_full_result_count = False
    actions = None

    fields = readonly_fields = list_display

    @admin.display(description="Hour", ordering="id")
    def hour(self, entry: AuditEntry) -> str:
        """Short: the list has a filter beside it."""
        local = entry.logged_at if timezone.is_naive(entry.logged_at) else timezone.localtime(entry.logged_at)
        return f"{local:%Y-%m-%d %H}:00"

    @admin.display(description="Operator", empty_value="not named: a schedule, or code", ordering="operator")
    def who(self, entry: AuditEntry) -> str | None:
        return entry.operator or None

    @admin.display(description="Did what", ordering="action")
    def what(self, entry: AuditEntry) -> str:
        return f"{entry.action} {entry.disguise}".strip()

    @admin.display(description="Details")
    def in_words(self, entry: AuditEntry) -> str:
        details = ", ".join(f"{name} {value}" for name, value in sorted(entry.details.items()) if name != "job")
        job = str(entry.details.get("job", ""))
        if not job.isdecimal():
            return details
        address = reverse("admin:edna_operations_job_job", args=[job], current_app=self.admin_site.name)
        return format_html('{} <a href="{}">job …{}</a>', details, address, job[-4:])

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        return super().get_queryset(request).using(chosen_database(request))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        alias = chosen_database(request)
        title = f"Audit trail: {alias}" if alias else "Audit trail"  # a telephone shows the filter behind the list
        return super().changelist_view(request, {"title": title, **(extra_context or {})})
