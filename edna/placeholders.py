"""Placeholders: what stands in a column while the real value is sealed.

A placeholder is a function of the field, a random source and, only where it says so, the original value. It is drawn
once per row. Generated text respects the field's ``max_length``; nothing generated is derived from the original unless
the developer chose ``truncated_date``, ``derived`` or ``call``, which then decide what stays readable.
"""

from __future__ import annotations

import datetime
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import router
from django.db.models import Field, ForeignKey, Model
from django.utils import timezone

from edna import conf, shards
from edna.errors import SpecError

#: 32 letters of 5 bits each: two of them never meet. Nor do those of 26 (128 bits).
_UNIQUE_LENGTH = 32
_ENOUGH = 26

#: A letter for each byte, each letter for as many bytes.
_LETTERS = b"abcdefghijklmnopqrstuvwxyz234567" * 8


def _listed(text: str) -> list[str]:
    return text.split()


#: Of names to be read: some thirty of each, no word that could be an insult, and none that says anything of anybody.
_QUALITIES = _listed(
    "amber azure brisk bronze calm clear copper cosy early gentle golden grey hazel ivory late lofty "
    "misty mossy olive pale plain proud quick quiet russet silver slender snowy steady sunny tidy velvet"
)
_BIRDS = _listed(
    "avocet bunting crane curlew dipper dunlin eider finch grebe heron ibis jackdaw kestrel kite knot lapwing "
    "linnet magpie martin merlin nuthatch osprey petrel pipit plover redstart robin siskin swift tern wagtail wren"
)

source = secrets.SystemRandom()


@dataclass(frozen=True, slots=True)
class Placeholder:
    """``make(field, original)`` returns a Python value for the field. ``unique``: two draws never meet, where there is ``room`` for so many
    characters; ``fixed``: all are the same; ``once``: so are all of one step, for which it is asked once. ``person`` names columns of the
    person's own row, or of one beside it: then ``original`` is a pair, with their values by name behind it."""

    name: str
    make: Callable[[Field[Any, Any], Any], Any]
    unique: bool = False
    reads_original: bool = False
    fixed: bool = False
    once: bool = False
    room: int = _ENOUGH
    person: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"placeholders.{self.name}()"

    @property
    def is_same_for_all(self) -> bool:
        """Whether it is asked once for all rows of a step."""
        return self.fixed or self.once


def constant(value: Any) -> Placeholder:
    return Placeholder("constant", lambda field, original: value, fixed=True)


def null() -> Placeholder:
    return Placeholder("null", lambda field, original: None, fixed=True)


def blank() -> Placeholder:
    return Placeholder("blank", lambda field, original: "", fixed=True)


def random_string(*, length: int = _UNIQUE_LENGTH, prefix: str = "") -> Placeholder:
    """Letters and digits after the prefix, all together at most the field's ``max_length``; unique from 26 characters (128 bits) on."""

    def make(field: Field[Any, Any], original: Any) -> str:
        room = getattr(field, "max_length", None) or len(prefix) + length
        return (prefix + _letters(min(length, max(0, room - len(prefix)))))[:room]

    return Placeholder("random_string", make, unique=length >= _ENOUGH, room=_ENOUGH + len(prefix))


def random_name(*, words: Sequence[str] = (), prefix: str = "", letters: int = 12) -> Placeholder:
    """A name to be read: ``quiet-heron-k3j5x7q2mabc``, or one of ``words`` in the place of the first two.

    The letters make it unique, from 12 (60 bits) on: of sites with a million names each, one in two million has two that are the same. With
    ``letters=0`` there are none, and names meet.
    """

    def make(field: Field[Any, Any], original: Any) -> str:
        name = source.choice(words) if words else f"{source.choice(_QUALITIES)}-{source.choice(_BIRDS)}"
        tail = f"-{_letters(letters)}" if letters else ""
        # What is too long loses of its words: the letters tell names apart.
        room = getattr(field, "max_length", None) or len(prefix) + len(name) + len(tail)
        return ((prefix + name)[: max(0, room - len(tail))] + tail)[-room:]

    return Placeholder("random_name", make, unique=letters >= 12, room=letters + 1)


def random_email(*, domain: str = "anonymous.invalid") -> Placeholder:
    """An address that can never be delivered: ``.invalid`` is reserved (RFC 2606, section 2)."""

    def make(field: Field[Any, Any], original: Any) -> str:
        size = min(_UNIQUE_LENGTH, (getattr(field, "max_length", None) or 254) - len(domain) - 1)
        return _letters(size) + "@" + domain

    return Placeholder("random_email", make, unique=True)


def random_number(*, minimum: int, maximum: int) -> Placeholder:
    return Placeholder("random_number", lambda field, original: source.randint(minimum, maximum))


def random_choice() -> Placeholder:
    """One of the field's ``choices``."""

    def make(field: Field[Any, Any], original: Any) -> Any:
        return source.choice([value for value, _ in field.flatchoices])

    return Placeholder("random_choice", make)


def truncated_date(*, to: str) -> Placeholder:
    """The original date or time, cut down to its ``"year"``, ``"month"`` or ``"day"``: the rest of it stays readable."""
    if to not in ("year", "month", "day"):
        raise ValueError(f'truncated_date(to={to!r}): choose "year", "month" or "day".')

    def make(field: Field[Any, Any], original: Any) -> Any:
        if original is None:
            return None
        parts: dict[str, int] = {"day": 1} if to == "month" else {"month": 1, "day": 1} if to == "year" else {}
        if isinstance(original, datetime.datetime):
            parts |= {"hour": 0, "minute": 0, "second": 0, "microsecond": 0}
        return original.replace(**parts)

    return Placeholder("truncated_date", make, reads_original=True)


def now() -> Placeholder:
    return Placeholder("now", lambda field, original: timezone.now())


def unusable_password() -> Placeholder:
    """Django's marker for an account that nobody can log in to."""
    return Placeholder("unusable_password", lambda field, original: UNUSABLE_PASSWORD_PREFIX + _letters(40))


def call(function: Callable[[], Any], *, unique: bool = False) -> Placeholder:
    """Whatever ``function()`` returns, once per row."""
    return Placeholder("call", lambda field, original: function(), unique=unique)


def derived(function: Callable[..., Any], *, unique: bool = False, person: Sequence[str] = ()) -> Placeholder:
    """Whatever ``function(original)`` returns, once per row: what it keeps of the original stays readable.

    With ``person``, names of columns of the person's own row, or of one beside it (``"profile__nickname"``), ``function(original, person)``
    gets their values, in a dictionary: to take a name out of a text; None where there is no such row. In a `Modify` only. Of rows that
    belong to a pseudoprincipal, and of whoever is disguised without their key, the person is that pseudoprincipal.
    """

    def make(field: Field[Any, Any], original: Any) -> Any:
        return function(*original) if person else function(original)

    return Placeholder("derived", make, unique=unique, reads_original=True, person=tuple(person))


def _letters(count: int) -> str:
    """``count`` random letters and digits of base32, 5 bits each, from one call to the system's generator."""
    return os.urandom(count).translate(_LETTERS).decode("ascii")


def row(model: type[Model], /, **lookups: Any) -> Placeholder:
    """For a foreign key: the one row of ``model`` with these values, such as the user who stands for everybody who has left. Looked up when
    a disguise is applied, once for each step.

    Raises:
        SpecError: when it is applied, and there is no such row, or several.
    """

    def make(field: Field[Any, Any], original: Any) -> Any:
        name = field.target_field.attname if isinstance(field, ForeignKey) else "pk"
        using = (conf.databases() and shards.at_work.get()) or router.db_for_write(model)
        found = model._base_manager.using(using).filter(**lookups).values_list(name, flat=True)[:2]
        if len(found) == 1:
            return found[0]
        raise SpecError(
            f"placeholders.row({model.__name__}) finds {'several rows' if found else 'no row'} by {', '.join(lookups)}; there "
            "must be just one. Nothing was changed."
        )

    return Placeholder("row", make, once=True)


def as_placeholder(value: Any) -> Placeholder:
    return value if isinstance(value, Placeholder) else constant(value)
