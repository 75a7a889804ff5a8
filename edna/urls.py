"""``path("privacy/", include("edna.urls"))``: the pages for people (`edna.pages`), the metrics, and ``api/1/`` for scripts.

A site with one user model needs no more than that. One with several kinds of accounts makes `Pages` for each, and includes their ``urls``.
"""

from collections.abc import Mapping
from typing import Any

from django.urls import include, path
from django.views.generic import View

from edna import views
from edna.pages import urls
from edna.pages.people import People

app_name = "edna"


class Pages(People):
    """The pages for one kind of account: ``path("members/privacy/", Pages(name="members", user_model="club.Member").urls)``."""

    #: By the name of an address: views instead of edna's own; None leaves the page of how one makes a key (``make-key``) to the site.
    views: Mapping[str, type[View] | None] = {}

    @property
    def urls(self) -> tuple[list[Any], str, str]:
        """For ``path``, as those of an admin site."""
        return self.patterns(), app_name, self.name

    def patterns(self) -> list[Any]:
        return [
            path("metrics", views.metrics, name="metrics"),
            path("api/1/", include("edna.api_http.urls")),
            *(path("api/1/", include(module)) for module in urls.http_beside),
            *filter(None, urls.patterns(self._path)),
        ]

    def _path(self, route: str, view: type[View], name: str) -> Any:
        chosen = self.views.get(name, view)
        return path(route, chosen.as_view(pages=self), name=name) if chosen is not None else None


urlpatterns = Pages().patterns()
