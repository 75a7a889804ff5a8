"""The operators' page of audiences in the admin site: members, whose shares count, what was asked for and read; and one that deletes.

There with `edna.operations`, whose pages it stands beside. Shows names, numbers and reasons; never whom a request is about, no content, no
key.
"""

from __future__ import annotations

from typing import Any, Final

from django.apps import apps
from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from edna import registry
from edna.audiences.membership import delete
from edna.audiences.models import AudienceOverview
from edna.audiences.overview import overview, overviews
from edna.errors import AudienceInUse, AudienceUnknown, EdnaError
from edna.management.base import sentence
from edna.words import count

VIEW_AUDIENCES: Final = "edna_audiences.view_audiences"
DELETE_AUDIENCES: Final = "edna_audiences.delete_audiences"
#: Requests of an audience that the page shows; `edna_audiences requests` lists all.
_MOST_REQUESTS: Final = 50
#: Members likewise.
_MOST_MEMBERS: Final = 500

if apps.is_installed("edna.operations"):
    from edna.operations.admin.pages import PagesAdmin
    from edna.operations.admin.permissions import may, operator_of

    class AudiencesAdmin(PagesAdmin):
        permission = VIEW_AUDIENCES
        of_one_database = frozenset({"changelist", "remove"})

        def pages(self) -> list[URLPattern]:
            return [*super().pages(), self.page("delete/<path:name>", self.delete_audience_view, "remove")]

        @method_decorator(require_safe)
        @method_decorator(never_cache)
        def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
            self.require(self.may_see(request))
            audiences = [
                {
                    "found": each,
                    "members": each.members[:_MOST_MEMBERS],
                    "requests": each.requests[::-1][:_MOST_REQUESTS],
                }
                for each in overviews()
            ]
            may_delete = may(request, DELETE_AUDIENCES)
            return self.show(request, "audiences.html", title="Audiences", audiences=audiences, may_delete=may_delete)

        @method_decorator(never_cache)
        def delete_audience_view(self, request: HttpRequest, name: str) -> HttpResponse:
            """Says what is lost, and does it once that is confirmed."""
            self.require(self.may_see(request) and may(request, DELETE_AUDIENCES))
            try:
                found = overview(name)
            except AudienceUnknown:
                raise Http404("There is no such audience.") from None
            in_use = bool(found.held)
            if request.method == "POST":
                try:
                    held = delete(name, operator=operator_of(request), lose_held=request.POST.get("lose_held") == "on")
                except EdnaError as error:
                    messages.error(request, sentence(error))
                    in_use = in_use or isinstance(error, AudienceInUse)
                else:
                    lost = f" Lost for its members: {count(held, 'copy', 'copies')}." if held else ""
                    messages.success(request, f"Deleted: {name}.{lost}")
                    return HttpResponseRedirect(f"{self.address_of_list()}{self.of_database()}")
            declaring = sorted(each.name for each in registry.disguises().values() if each.audience == name)
            return self.show(
                request,
                "delete_audience.html",
                title=f"Delete {name}",
                found=found,
                in_use=in_use,
                declaring=declaring,
                is_sent=True,  # about this one: it leads to no audience of that name elsewhere
            )

        def address_of_list(self) -> str:
            return reverse("admin:edna_audiences_audienceoverview_changelist", current_app=self.admin_site.name)

    admin.site.register(AudienceOverview, AudiencesAdmin)
