"""What edna's pages in the admin site have in common: one permission each, no editing, and the site's own frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from edna import conf, shards
from edna.operations.admin.permissions import may

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(ModelAdmin):
    """Nothing is added, changed or deleted here, by nobody; and the site's history gets no entry."""

    permission: ClassVar[str]

    def may_see(self, request: HttpRequest) -> bool:
        return may(request, self.permission)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.may_see(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_see(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        # Django looks for the row first, and so would tell everybody of the staff which there are.
        if not self.may_see(request):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)


def chosen_database(request: HttpRequest) -> str | None:
    """Which of several databases a page is about; the first, unless its address says another one. None where there is one.

    What is sent has to say it: a page in another tab must not decide where something is done.

    Raises:
        Http404: it is none of them.
    """
    several = conf.databases()
    if not several:
        return None
    named = request.POST.get("database") if request.method == "POST" else request.GET.get("database", several[0])
    if named not in several:
        raise Http404("No database of people has this name.")
    return named


class PagesAdmin(ReadOnlyAdmin):
    """Pages of our own at the addresses where the site would list rows of a model."""

    #: The names of those that are about one of several databases. The others go over all.
    of_one_database: ClassVar[frozenset[str]] = frozenset()

    def get_urls(self) -> list[URLPattern]:
        return self.pages()

    def pages(self) -> list[URLPattern]:
        return [self.page("", self.changelist_view, "changelist")]

    def page(self, route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
        meta = self.model._meta
        if name in self.of_one_database:
            view = _in_chosen_database(view)
        return path(route, self.admin_site.admin_view(view), name=f"{meta.app_label}_{meta.model_name}_{name}")

    def address(self, name: str, *args: Any) -> str:
        """Of one of edna's pages in this admin site."""
        return reverse(f"admin:edna_operations_{name}", args=args, current_app=self.admin_site.name)

    def show(
        self, request: HttpRequest, template: str, *, title: str, status: int = 200, **context: Any
    ) -> HttpResponse:
        request.current_app = self.admin_site.name
        frame = {**self.admin_site.each_context(request), "opts": self.model._meta, "title": title}
        if several := conf.databases():
            alias = shards.at_work.get()
            frame |= {"database": alias, "databases": several, "is_sent": request.method == "POST"}
            frame["of_database"] = self.of_database()
        return TemplateResponse(request, f"edna/admin/{template}", {**frame, **context}, status=status)

    @staticmethod
    def of_database() -> str:
        """What an address of a page about the same one of several databases ends with; nothing where there is one."""
        alias = shards.at_work.get() if conf.databases() else None
        return f"?{urlencode({'database': alias})}" if alias else ""

    @staticmethod
    def require(allowed: bool) -> None:
        if not allowed:
            raise PermissionDenied

    def address_of_index(self) -> str:
        return reverse("admin:index", current_app=self.admin_site.name)


def _in_chosen_database(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def placed(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        alias = chosen_database(request)
        if alias is None:
            return view(request, *args, **kwargs)
        with shards.at(alias):
            return view(request, *args, **kwargs)

    return placed
