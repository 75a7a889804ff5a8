"""Whether pages can name pseudoprincipals: URL patterns, and what models call their own address, tried with such a key.

Which parts of a URL are keys of users is guessed: by their names, by the model of the view, and by the words around them. No view is
called, and nothing is asked of a database.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from django.core.checks import CheckMessage, Warning
from django.db import connections
from django.db.models import IntegerField, Model
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver
from django.utils.connection import ConnectionDoesNotExist

from edna import conf, coverage
from edna.checks.settings import homes_of
from edna.companions import companions_of
from edna.coverage import same_table
from edna.errors import EdnaError
from edna.key_ranges import key_range
from edna.placeholders import as_placeholder
from edna.spec import Pseudoprincipal

#: What somebody's key is, as a rule.
_ORDINARY: Final = 7
_LISTED: Final = 4
#: How those who write URLs call users, whatever the model is called.
_USERS: Final = {"user", "member", "author", "account", "person", "people", "profile"}


class _Part(NamedTuple):
    """One variable of a URL pattern: its name, and what it matches."""

    name: str
    regex: str
    #: The whole way to the pattern, and how it is called in messages.
    route: str
    shown: str
    #: The model of the view behind it, if that says one.
    model: type[Model] | None


def check_urls(pairs: Iterable[tuple[type[Pseudoprincipal], type[Model]]]) -> Iterator[CheckMessage]:
    """Of each generator's principals and companions, whether a pseudoprincipal's key fits where an ordinary one does."""
    models: dict[type[Model], tuple[set[str], type[Pseudoprincipal]]] = {}
    for generator, principal in pairs:
        models.setdefault(principal, (_USERS | _words(principal), generator))
        with contextlib.suppress(EdnaError, AttributeError):  # edna.E318
            for companion in companions_of(generator, principal):
                models.setdefault(companion.model, (_words(companion.model), generator))
    parts: list[_Part] | None = None
    for model, (words, generator) in models.items():
        key = _sample(model)
        if key is not None:
            parts = list(_parts()) if parts is None else parts
            yield from _check(model, key, words, generator, parts)


def _check(
    model: type[Model], key: int, words: set[str], generator: type[Pseudoprincipal], parts: list[_Part]
) -> Iterator[CheckMessage]:
    closed = [
        part.shown
        for part in parts
        if _means(part, model, words) and _takes(part.regex, _ORDINARY) and not _takes(part.regex, key)
    ]
    if _has_address(model, _ORDINARY, generator) and not _has_address(model, key, generator):
        closed.insert(0, f"{model.__name__}.get_absolute_url()")
    if not closed:
        return
    listed = ", ".join(closed[:_LISTED]) + (f" and {len(closed) - _LISTED} more" if len(closed) > _LISTED else "")
    cannot = 'set EDNA["PSEUDOPRINCIPAL_KEYS"] = "random"' if key < 0 else f"let it match {len(str(key))} digits"
    yield Warning(
        f"Keys of {model._meta.label} fit there, but not that of a pseudoprincipal, such as {key}: {listed}. A page that links "
        "there answers with an error (NoReverseMatch).",
        hint=f"If you cannot edit the pattern, {cannot}. Otherwise let it match a sign (docs/decisions/0001), or link to no "
        "pseudoprincipal (edna.is_pseudoprincipal) and silence this check.",
        obj=model,
        id="edna.W321",
    )


def _sample(model: type[Model]) -> int | None:
    """A primary key as pseudoprincipals may have it, and that is no ordinary one."""
    key = model._meta.pk
    with contextlib.suppress(EdnaError, ConnectionDoesNotExist):  # edna.E002, edna.E050, edna.E314
        if conf.pseudoprincipal_keys() != "sequence":
            while key is not None and key.remote_field is not None:
                key = key.target_field  # type: ignore[attr-defined]  # a one-to-one relation for a key
            if isinstance(key, IntegerField):
                found = key_range(key, connections[homes_of(model)[0]])
                return found.lowest if found.lowest < 0 else found.highest
    return None


def _words(model: type[Model]) -> set[str]:
    """How a URL may call rows of the model: by its name, or by that of a column that refers to it."""
    return {str(model._meta.model_name), *(relation.field.name for relation in coverage.relations_to(model))}


def _means(part: _Part, model: type[Model], words: set[str]) -> bool:
    name = part.name.lower()
    if name in words or re.sub(r"_?(id|pk|key)$", "", name) in words:
        return True
    if name not in ("pk", "id", ""):
        return False
    if part.model is not None:
        return same_table(part.model, model)
    return any(word in words or word.rstrip("s") in words for word in re.findall("[a-z]+", part.route.lower()))


def _takes(regex: str, key: int) -> bool:
    return re.fullmatch(regex, str(key)) is not None


# The project's patterns


def _parts() -> Iterator[_Part]:
    try:
        yield from _parts_below(get_resolver(), "", ())
    except Exception:  # no URLs, or some that do not load: Django's own checks say so
        return


def _parts_below(resolver: URLResolver, before: str, namespaces: tuple[str, ...]) -> Iterator[_Part]:
    for each in resolver.url_patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            spaces = (*namespaces, each.namespace) if each.namespace else namespaces
            yield from (_Part(name, regex, route, route, None) for name, regex in _variables(each.pattern))
            yield from _parts_below(each, route, spaces)
        elif isinstance(each, URLPattern):
            shown = f"{route} ({':'.join((*namespaces, each.name))})" if each.name else route
            model = _model_of(each.callback)
            yield from (_Part(name, regex, route, shown, model) for name, regex in _variables(each.pattern))


def _variables(pattern: Any) -> Iterator[tuple[str, str]]:
    """Names of a pattern's variables, "" if it has none, and the regular expressions that they match."""
    if pattern.converters:
        yield from ((name, converter.regex) for name, converter in pattern.converters.items())
    elif hasattr(pattern, "_regex"):
        yield from _groups(str(pattern._regex))


def _groups(regex: str) -> Iterator[tuple[str, str]]:
    """The groups of a regular expression that Django takes for variables, up to their closing parentheses."""
    for opening in re.finditer(r"(?<!\\)\((?:\?P<(\w+)>|(?!\?))", regex):
        depth, in_class, end = 1, False, opening.end()
        while end < len(regex) and depth:
            letter = regex[end]
            if letter == "\\":
                end += 1
            elif letter in "[]":
                in_class = letter == "["
            elif not in_class:
                depth += {"(": 1, ")": -1}.get(letter, 0)
            end += 1
        with contextlib.suppress(re.error):
            re.compile(inner := regex[opening.end() : end - 1])
            yield opening[1] or "", inner


def _model_of(view: Any) -> type[Model] | None:
    cls = getattr(view, "view_class", None) or getattr(view, "cls", None)
    found = getattr(cls, "model", None) or getattr(getattr(cls, "queryset", None), "model", None)
    return found if isinstance(found, type) and issubclass(found, Model) else None


# What a model calls its own address


def _has_address(model: type[Model], key: int, generator: type[Pseudoprincipal]) -> bool:
    """False only if there is no URL for it; whatever else may be wrong without a row in the database does not count."""
    if not hasattr(model, "get_absolute_url"):
        return True
    with _no_database():
        try:
            _unsaved(model, key, generator).get_absolute_url()  # type: ignore[attr-defined]  # looked for above
        except NoReverseMatch:
            return False
        except Exception:
            return True
    return True


def _unsaved(model: type[Model], key: int, generator: type[Pseudoprincipal]) -> Model:
    row = model(pk=key)
    for name, value in generator.values.items() if same_table(generator.model, model) else ():
        placeholder = as_placeholder(value)
        if placeholder.name not in ("call", "derived", "row"):
            field: Any = model._meta.get_field(name)
            setattr(row, field.attname, placeholder.make(field, None))
    return row


@contextlib.contextmanager
def _no_database() -> Iterator[None]:
    """Whoever asks a database in this block fails: checks run where there may be none."""

    def refuse() -> None:
        raise RuntimeError("A check asks nothing of a database.")

    kept = list(connections.all())
    for connection in kept:
        connection.ensure_connection = refuse  # type: ignore[method-assign]  # of this object alone, and taken off below
    try:
        yield
    finally:
        for connection in kept:
            del connection.ensure_connection
