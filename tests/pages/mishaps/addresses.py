"""Every page that a site has for its people, as its resolver knows them: a page that nobody has thought of is among them.

Those for programs, and the operators' own (``admin/``), are no pages for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

SITES = ("websubmit", "lobsters", "hotcrp")
#: The README's own project, which has Django's user model (`tests/pages/bare`).
BARE = "bare"
#: For programs: what scripts, Prometheus and a browser ask by themselves.
FOR_PROGRAMS = ("api/", "metrics", "favicon.ico")


@dataclass(frozen=True)
class Page:
    #: Of edna's pages, "websubmit-privacy" say.
    namespace: str
    name: str
    #: What its address takes, by its names.
    takes: tuple[str, ...]
    view: Any

    @property
    def site(self) -> str:
        return BARE if self.namespace in ("", "edna") else self.namespace.removesuffix("-privacy")

    @property
    def is_ednas(self) -> bool:
        return self.namespace == "edna" or self.namespace.endswith("-privacy")

    @property
    def is_the_same_everywhere(self) -> bool:
        """One of edna's that this site has not made otherwise, and that every site has."""
        return bool(self.view.__module__.startswith("edna.pages"))

    def __str__(self) -> str:
        return f"{self.namespace}:{self.name}" if self.namespace else self.name


def pages_of(*sites: str) -> list[Page]:
    return [page for page in _below(get_resolver().url_patterns) if page.site in sites]


def _below(patterns: list[Any], route: str = "", namespace: str = "") -> Iterator[Page]:
    for each in patterns:
        address = route + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _below(each.url_patterns, address, each.namespace or namespace)
        elif isinstance(each, URLPattern) and not any(part in address for part in FOR_PROGRAMS):
            takes = tuple(each.pattern.converters)
            yield Page(namespace, each.name or "", takes, getattr(each.callback, "view_class", each.callback))
