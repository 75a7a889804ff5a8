"""The operators' page of audiences in the admin site: members, whose shares count, what was asked for and read. It changes nothing.

There with `edna.operations`, whose pages it stands beside. Shows names, numbers and reasons; never whom a request is about, no content, no
key.
"""

from __future__ import annotations

from typing import Any, Final

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from edna.audiences.models import AudienceOverview
from edna.audiences.overview import overviews

VIEW_AUDIENCES: Final = "edna_audiences.view_audiences"
#: Requests of an audience that the page shows; `edna_audiences requests` lists all.
_MOST_REQUESTS: Final = 50
#: Members likewise.
_MOST_MEMBERS: Final = 500

if apps.is_installed("edna.operations"):
    from edna.operations.admin.pages import PagesAdmin

    class AudiencesAdmin(PagesAdmin):
        permission = VIEW_AUDIENCES

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
            return self.show(request, "audiences.html", title="Audiences", audiences=audiences)

    admin.site.register(AudienceOverview, AudiencesAdmin)
