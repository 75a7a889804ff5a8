"""Every page that a site has for its people, as its resolver knows them: a page that nobody has thought of is among them.

Those for programs, and the operators' own (``admin/``), are no pages for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

SITES = ("websubmit", "lobsters", "hotcrp")
#: For programs: what scripts and Prometheus ask.
FOR_PROGRAMS = ("api/", "metrics")


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
        return self.namespace.removesuffix("-privacy")

    @property
    def is_ednas(self) -> bool:
        return self.namespace.endswith("-privacy")

    def __str__(self) -> str:
        return f"{self.namespace}:{self.name}"


def of_the_sites() -> list[Page]:
    return [page for page in _below(get_resolver().url_patterns) if page.site in SITES]


def _below(patterns: list[Any], route: str = "", namespace: str = "") -> Iterator[Page]:
    for each in patterns:
        address = route + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _below(each.url_patterns, address, each.namespace or namespace)
        elif isinstance(each, URLPattern) and not any(part in address for part in FOR_PROGRAMS):
            takes = tuple(each.pattern.converters)
            yield Page(namespace, each.name or "", takes, getattr(each.callback, "view_class", each.callback))
