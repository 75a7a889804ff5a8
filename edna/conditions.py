"""Conditions of steps, seen from a table that refers to their rows: carried along the relation, compared, and written as code.

Knows no model and asks no database. What may mean something else is never taken to mean the same: a condition with an expression
other than `F` and `Param` is not carried along, and two are the same only if they say the same with the same lookups and values.
"""

from __future__ import annotations

from typing import Any, Final

from django.db.models import F, Q

from edna.spec import Param

_OPERATORS: Final = {Q.AND: " & ", Q.OR: " | ", Q.XOR: " ^ "}


def along(where: Q | None, path: str) -> Q | None:
    """The condition for rows that refer by ``path`` to those that ``where`` means; None if there is none, or it cannot be written."""
    if not isinstance(where, Q):  # `edna.E102` speaks about what is something else
        return None
    children: list[Any] = []
    for child in _parts(where):
        if isinstance(child, Q):
            moved: Any = along(child, path)
        elif isinstance(child, tuple):
            moved = _lookup_along(*child, path=path)
        else:
            moved = None  # an expression: Exists(...), say
        if moved is None:
            return None
        children.append(moved)
    carried = Q(*children, _connector=where.connector)
    return ~carried if where.negated else carried


def _lookup_along(lookup: str, value: Any, *, path: str) -> tuple[str, Any] | None:
    if isinstance(value, F) and type(value) is F:
        value = F(f"{path}__{value.name}")
    elif hasattr(value, "resolve_expression") and not isinstance(value, Param):
        return None
    return f"{path}__{lookup}", value


def leaves_nothing_out(where: Q | None, *, of: Q | None) -> bool:
    """Whether a step with the condition ``where`` takes all rows that ``of`` means; without ``of``, all rows there are."""
    return where is None or (of is not None and _canonical(where) == _canonical(of))


def written(where: Q) -> str:
    """The condition as code."""
    children = _parts(where)
    if where.connector == Q.AND and all(isinstance(child, tuple) for child in children):
        text = f"Q({', '.join(map(_written_lookup, children))})"
    else:
        parts = [written(child) if isinstance(child, Q) else f"Q({_written_lookup(child)})" for child in children]
        text = f"({_OPERATORS[where.connector].join(parts)})"
    return f"~{text}" if where.negated else text


def columns(where: Q) -> list[str]:
    """What it looks at: ``["is_staff", "rank__gt"]``."""
    found = {
        name
        for child in where.children
        for name in (columns(child) if isinstance(child, Q) else [child[0]] if isinstance(child, tuple) else [])
    }
    return sorted(found)


def fixed_columns(where: Q) -> set[str]:
    """Those of which every row that it means has one value: that of a literal or a parameter. ``{"kind", "order__kind"}``."""
    if where.negated or (where.connector != Q.AND and len(where.children) > 1):
        return set()
    found: set[str] = set()
    for child in _parts(where):
        if isinstance(child, Q):
            found |= fixed_columns(child)
        elif isinstance(child, tuple) and (isinstance(child[1], Param) or not hasattr(child[1], "resolve_expression")):
            found.add(child[0].removesuffix("__exact"))
    return found


def _written_lookup(child: tuple[str, Any]) -> str:
    lookup, value = child
    return f'{lookup}=F("{value.name}")' if isinstance(value, F) else f"{lookup}={value!r}"


def _parts(where: Q) -> list[Any]:
    """Lookups with their values, conditions, or expressions."""
    return list(where.children)


def _canonical(node: Any) -> str:
    """Equal for conditions that differ in the order, the nesting and the spelling of ``exact`` alone."""
    if isinstance(node, tuple):
        lookup, value = node
        return f"{lookup.removesuffix('__exact')}={type(value).__name__}:{value!r}"
    if not isinstance(node, Q):
        return repr(node)
    parts: list[str] = []
    for child in _parts(node):
        while isinstance(child, Q) and len(child.children) == 1 and not child.negated:
            (child,) = _parts(child)
        nested = isinstance(child, Q) and child.connector == node.connector and not child.negated
        parts += map(_canonical, _parts(child)) if nested else [_canonical(child)]
    if len(parts) == 1 and not node.negated:
        return parts[0]
    return f"{'not ' * node.negated}{node.connector}({', '.join(sorted(parts))})"
