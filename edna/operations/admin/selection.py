"""The action "Apply a disguise" in the lists of users, whoever wrote their pages.

It is added to the page objects of one admin site when that site's addresses are made: by then all of them are registered. Nothing of
their classes is changed, and a list whose `actions` are None stays without any.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from edna import conf, registry, shards
from edna.operations.admin import catalogue
from edna.operations.admin.forms import CHOSEN, MOST_CHOSEN, ParamsForm, chosen_field
from edna.operations.admin.permissions import applicable, may_for_good
from edna.operations.jobs import preview
from edna.operations.models import DisguiseCatalogue


def add_to(site: AdminSite) -> None:
    """Add the action to every list of principals of this site. Calling it again changes nothing."""
    principals = [model._meta.concrete_model for model in registry.principal_models()]
    for model, page in site._registry.items():
        tables = {
            model._meta.concrete_model,
            *(parent._meta.concrete_model for parent in model._meta.get_parent_list()),
        }
        if tables.isdisjoint(principals) or page.actions is None or apply_disguise in page.actions:
            continue
        page.actions = [*page.actions, apply_disguise]
        page.has_edna_apply_disguise_permission = _permission_for(model)  # type: ignore[attr-defined]


def _permission_for(model: Any) -> Any:
    def has_permission(request: HttpRequest) -> bool:
        return bool(_names(request, model))

    return has_permission


def _names(request: HttpRequest, model: Any) -> list[str]:
    allowed = set(applicable(request))
    return [name for name in catalogue.names_for(model) if name in allowed]


def apply_disguise(page: ModelAdmin[Any], request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    if (several := conf.databases()) and queryset.db not in several:
        messages.error(
            request,
            f"This list is of the database {queryset.db!r}, which is not one of people: {shards.listed(several)}.",
        )
        return None
    with shards.at(queryset.db):
        return _choose(page, request, queryset)


def _choose(page: ModelAdmin[Any], request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    number = queryset.count()
    if number > MOST_CHOSEN:
        messages.error(
            request,
            f"You have chosen {number:,} people; at most {MOST_CHOSEN:,} can be chosen at once. Choose fewer, or apply the disguise "
            "to everybody, from its own page.",
        )
        return None
    principals = list(queryset.select_related(None).only("pk"))
    forms: list[tuple[catalogue.CatalogueEntry, ParamsForm]] = []
    for name in _names(request, queryset.model):
        entry = catalogue.entry(name)
        forms.append((entry, ParamsForm(entry=entry, auto_id=f"id_{len(forms)}_%s")))
    pages: Any = page.admin_site.get_model_admin(DisguiseCatalogue)
    shown: HttpResponse = pages.show(
        request,
        "choose.html",
        title="Apply a disguise",
        chosen=preview.choose(catalogue.entry(forms[0][0].name).principal_model, principals),  # type: ignore[arg-type]
        keys=chosen_field(principals),
        whom=CHOSEN,
        forms=forms,
        may_for_good=may_for_good(request),
        back=request.get_full_path(),
    )
    return shown


apply_disguise.short_description = "Apply a disguise…"  # type: ignore[attr-defined]
apply_disguise.allowed_permissions = ("edna_apply_disguise",)  # type: ignore[attr-defined]
