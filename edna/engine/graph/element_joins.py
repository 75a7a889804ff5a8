"""Where a list or a document of a row names somebody: the condition of a join to the principals' table, and what stands in a document.

Invariant: no row that names somebody is left out. One that does not may be found, where their value stands at another place of the
document, or within another element of a text: what stands where is read afterwards (`elements`). No index serves it but PostgreSQL's (GIN).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from django.db.models import BooleanField, Expression, JSONField
from django.db.models.functions import Lower, StrIndex
from django.db.models.lookups import GreaterThan

from edna import json_keys
from edna.json_keys import BETWEEN, EACH
from edna.value_owners import ByElement, is_text

_WRITTEN_IN_SEVERAL_WAYS: Final = r'[^ -~]|["\\/]'


def contains(element: ByElement, own: Any, theirs: Any) -> Any:
    """That the row's column has the principal's value somewhere."""
    if isinstance(own.target, JSONField):
        return _HasElement(element, own, theirs)
    sides = (Lower(own), Lower(theirs)) if element.ignore_case else (own, theirs)
    return GreaterThan(StrIndex(*sides), 0)


def elements(document: Any, element: ByElement, column: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What stands in a document where somebody may be named, each with its place, as `json_keys.places` says it."""
    text = is_text(column)
    for place in json_keys.places(document, element.place[1:], is_text=text):
        found = json_keys.read(document, BETWEEN.join((element.column, *place)))
        try:
            value = found if text or found is None else json.loads(found, parse_int=str)
        except (ValueError, RecursionError):
            continue
        yield place, "" if value is None else value


class _HasElement(Expression):
    conditional = True

    def __init__(self, element: ByElement, own: Any, theirs: Any) -> None:
        super().__init__(output_field=BooleanField())
        self.element, self.own, self.theirs = element, own, theirs

    def get_source_expressions(self) -> list[Any]:
        return [self.own, self.theirs]

    def set_source_expressions(self, expressions: Any) -> None:
        self.own, self.theirs = expressions

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        raise NotImplementedError(f"No condition for a document of {connection.vendor}.")

    def as_sqlite(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        own, theirs = self._sides(compiler)
        same = "LOWER(atom) = LOWER({0})" if self.element.ignore_case else "atom = {0}"
        return f"EXISTS(SELECT 1 FROM JSON_TREE({own}) WHERE {same.format(theirs)})", []  # noqa: S608  (names of columns)

    def as_mysql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        own, theirs = self._sides(compiler)
        text = is_text(self.theirs.target)
        value = f"JSON_QUOTE({theirs})" if text else f"CAST({theirs} AS CHAR)"
        path = "$" + "".join("[*]" if part == EACH else f'."{part}"' for part in self.element.place[1:])
        if self.element.ignore_case:
            own, value, path = f"LOWER({own})", f"LOWER({value})", path.lower()
        found = f"JSON_CONTAINS(JSON_EXTRACT({own}, %s), {value})"
        # MariaDB compares escapes as they are written: whom such a text names is read from each document.
        return (f"({found} OR {theirs} RLIKE %s)", [path, _WRITTEN_IN_SEVERAL_WAYS]) if text else (found, [path])

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        own, theirs = self._sides(compiler)
        params: list[Any] = []
        names = [part.lower() if self.element.ignore_case else part for part in self.element.place[1:]]
        if self.element.ignore_case:
            own, theirs = f"LOWER({own}::text)::jsonb", f"LOWER({theirs}::text)"
        wanted = f"to_jsonb({theirs})"
        for name in reversed(names):
            if name == EACH:
                wanted = f"jsonb_build_array({wanted})"
            else:
                wanted = f"jsonb_build_object(%s::text, {wanted})"
                params.insert(0, name)
        return f"{own} @> {wanted}", params

    def _sides(self, compiler: Any) -> tuple[str, str]:
        (own, none), (theirs, nothing) = compiler.compile(self.own), compiler.compile(self.theirs)
        assert not [*none, *nothing], "columns have no parameters"
        return own, theirs
