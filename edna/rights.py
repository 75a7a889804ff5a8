"""Which tables give people rights: groups and permissions, Django's or a site's own. By what they lead to, and by their names; a guess.

Reads model definitions, never rows. A wrong guess is a warning, which `edna.AS_IT_WAS` answers, or a row that does not come back.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db.models import ForeignKey, ManyToManyField, Model

from edna.coverage import same_table

Models = Collection[type[Model]]

#: What somebody is in who may do more than others, or what they are there; in the singular.
_RIGHTS: Final = {
    *("group", "team", "role", "permission", "privilege", "staff", "admin", "administrator", "moderator", "maintainer"),
    *("manager", "operator", "owner", "officer", "superuser"),
}
#: Of which somebody is a part who may do more than others: `is_user_office`.
_BODIES: Final = {"office", "personnel"}
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def words_of(name: str) -> list[str]:
    """Of a class's or a column's name, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]


def names_a_right(name: str) -> bool:
    """Whether a column says by its name that somebody is one of them: `is_owner`, `is_facility_manager`."""
    first, *words = words_of(name)
    return first == "is" and bool(words) and words[-1] in _RIGHTS | _BODIES


def grants(model: type[Model], principals: Models) -> bool:
    """Rows that tie a principal to one of Django's groups or permissions, or to what looks like a site's own."""
    return grants_of_django(model, principals) or bool(looks_like_rights(model, principals))


def grants_of_django(model: type[Model], principals: Models) -> bool:
    related = _targets(model)
    return any(is_one_of(each, principals) for each in related) and any(each in (Group, Permission) for each in related)


def looks_like_rights(model: type[Model], principals: Models) -> list[str]:
    """Of a many-to-many relation between people, or their profiles, and something else: which of its names say so."""
    relations = relations_through(model)
    targets = _targets(model)
    if not relations or not any(is_one_of(each, principals) or _is_a_profile(each, principals) for each in targets):
        return []
    names = [each.__name__ for each in targets if not is_one_of(each, principals)]
    for relation in relations:
        said: Any = relation.remote_field.related_name
        names += [relation.name, *([said] if isinstance(said, str) else [])]
    return [name for name in dict.fromkeys(names) if any(_singular(word) in _RIGHTS for word in words_of(name))]


def relations_through(model: type[Model]) -> list[ManyToManyField[Any, Any]]:
    """The many-to-many relations whose table it is, hidden or by name."""
    return [
        field
        for each in apps.get_models()
        for field in each._meta.local_many_to_many
        if isinstance(field, ManyToManyField) and field.remote_field.through is model
    ]


def _targets(model: type[Model]) -> list[type[Model]]:
    related = [field.related_model for field in model._meta.local_fields if isinstance(field, ForeignKey)]
    return [each for each in related if isinstance(each, type)]


def is_one_of(model: type[Model], principals: Models) -> bool:
    return any(same_table(model, who) for who in principals)


def _is_a_profile(model: type[Model], principals: Models) -> bool:
    return any(
        field.unique and isinstance(field.related_model, type) and is_one_of(field.related_model, principals)
        for field in model._meta.local_concrete_fields
    )


def _singular(word: str) -> str:
    return word if word in _RIGHTS else word.removesuffix("s")
