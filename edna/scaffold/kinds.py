"""What a table that leads to a person is for: a log, a token, a profile, a table between two others. By its name and its keys; a guess.

Reads model definitions, never rows. A wrong guess is a wrong comment, or a row that does not come back: the draft marks both.
"""

from __future__ import annotations

import enum
from typing import Any, Final

from django.contrib.contenttypes.models import ContentType
from django.db.models import CASCADE, DO_NOTHING, SET_DEFAULT, SET_NULL, CharField, ForeignKey, Model

from edna.coverage import Relation
from edna.histories import LOGS
from edna.rights import Models, grants, is_one_of, relations_through, words_of


class Kind(enum.Enum):
    RIGHTS = "rights"
    TOKEN = "token"  # noqa: S105 - a word for what tables are for
    SESSION = "session"
    FACTOR = "second factor"
    LOG = "log"
    THROUGH = "through table"
    PROFILE = "profile"
    PLAIN = "plain"


#: Whoever left should not find the door open on their return, nor anybody else.
NEVER_BACK: Final = frozenset({Kind.RIGHTS, Kind.TOKEN, Kind.SESSION})
_WORDS: Final = {
    Kind.TOKEN: {"token", "tokens", "apikey", "nonce"},
    Kind.SESSION: {"session", "sessions"},
    Kind.LOG: LOGS,
}
#: Half of a login, or a link in a mail: a token, where it has a column for one.
_HALVES: Final = {"grant", "grants", "confirmation", "verification", "activation"}
_CODES: Final = {"code", "key", "token", "secret"}
#: What somebody has, beside a password, to show who they are.
_FACTORS: Final = {"device", "authenticator"}


def kind_of(model: type[Model], *, principals: Models) -> Kind:
    if grants(model, principals):
        return Kind.RIGHTS
    words = _words(model)
    if model._meta.label == "admin.LogEntry":
        return Kind.LOG
    if words & _HALVES and _has_code(model):
        return Kind.TOKEN
    for kind, names in _WORDS.items():
        if words & names and not (kind is Kind.SESSION and _is_of_something(model, principals)):
            return Kind.FACTOR if kind is Kind.TOKEN and _is_of_a_factor(model) else kind
    if relations_through(model):
        return Kind.THROUGH
    if any(field.unique and field.related_model in principals for field in model._meta.local_concrete_fields):
        return Kind.PROFILE
    return Kind.PLAIN


def _words(model: type[Model]) -> set[str]:
    return set(words_of(model.__name__))


def _has_code(model: type[Model]) -> bool:
    return any(
        isinstance(field, CharField) and field.name.rpartition("_")[2] in _CODES
        for field in model._meta.local_concrete_fields
    )


def _is_of_a_factor(model: type[Model]) -> bool:
    """Whether it belongs to a device and to nothing else: a code to type in when the telephone is lost."""
    targets = [field.related_model for field in model._meta.local_concrete_fields if isinstance(field, ForeignKey)]
    return bool(targets) and all(isinstance(each, type) and _words(each) & _FACTORS for each in targets)


def _is_of_something(model: type[Model], principals: Models) -> bool:
    """Whether it is about more than who is logged in: a training session is held on a machine."""
    targets = [field.related_model for field in model._meta.local_concrete_fields if isinstance(field, ForeignKey)]
    return any(
        isinstance(each, type)
        and each is not ContentType
        and not is_one_of(each, principals)
        and not _words(each) & _WORDS[Kind.SESSION]
        for each in targets
    )


def on_delete_of(relation: Relation) -> str:
    """As it is written in the model."""
    on_delete: Any = relation.on_delete
    if relation.is_set_by_django and on_delete not in (SET_NULL, SET_DEFAULT):
        return "SET(...)"
    return str(getattr(on_delete, "__name__", type(on_delete).__name__))


def goes_along(relation: Relation) -> bool:
    """Whether Django, or the database, deletes the row with what it points at."""
    return relation.on_delete is CASCADE or on_delete_of(relation) == "DB_CASCADE"


def is_left_alone(relation: Relation) -> bool:
    """Whether nobody minds that it points at nothing: neither Django nor the database."""
    return relation.on_delete is DO_NOTHING and not relation.is_enforced
