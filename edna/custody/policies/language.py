"""Policies as people write them, as formulas, and as clauses: ``region = eu and role = restorer and build in (1.2, 1.3)``.

Keeps: docs/format.md, "Policy seals", the spellings. A policy becomes clauses (its disjunctive normal form) of which none says more than
another of them; never more than `MOST_CLAUSES`, also on the way there. A formula is not written out. Does not know: keys, who has which
attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

from edna.errors import PolicyMalformed

MOST_CLAUSES: Final = 64
#: That a formula names: each takes milliseconds to seal to.
MOST_CONDITIONS: Final = 64
_MOST_LETTERS: Final = 4096
_MOST_DEPTH: Final = 32
_WORD: Final = re.compile(r"\s*(?:(?P<sign>[=(),])|(?P<word>[A-Za-z0-9_.:/+-]+))")
_NAME: Final = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_VALUE: Final = re.compile(r"[A-Za-z0-9_.:/+-]{1,64}")
_KEPT: Final = frozenset({"and", "or", "in", "not"})

#: A name and a value, such as ("region", "eu").
Attribute = tuple[str, str]


def check_attribute(name: str, value: str) -> Attribute:
    """
    Raises: PolicyMalformed if no policy can name this attribute.
    """
    if not _NAME.fullmatch(name) or name in _KEPT:
        raise PolicyMalformed(
            f"{name[:64]!r} is no name of an attribute: small letters, digits, _ . and -, a letter first, and not "
            f"{', '.join(sorted(_KEPT))}."
        )
    if not _VALUE.fullmatch(value) or value in _KEPT:
        raise PolicyMalformed(f"{value[:64]!r} is no value of {name}: up to 64 letters, digits, and _ . : / + -.")
    return name, value


@dataclass(frozen=True, slots=True, order=True)
class Clause:
    """Attributes that a worker must have, all of them; in order, each once."""

    attributes: tuple[Attribute, ...]

    @classmethod
    def of(cls, attributes: Iterable[Attribute]) -> Self:
        return cls(tuple(sorted(set(attributes))))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The one spelling, as `str` gives it.

        Raises: PolicyMalformed if it is another.
        """
        made = cls.of(check_attribute(*each.split("=", 1)) for each in text.split("&") if "=" in each)
        if str(made) != text or not made.attributes:
            raise PolicyMalformed("This is not the spelling of a clause.")
        return made

    def __str__(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.attributes)

    def is_satisfied(self, attributes: Iterable[Attribute]) -> bool:
        """Whether somebody with these attributes may have the key of this clause."""
        return set(self.attributes) <= set(attributes)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a text says, as clauses in order: whoever has all of the attributes of one of them satisfies it."""

    clauses: tuple[Clause, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        Raises: PolicyMalformed, with the place, if it is no policy, or would need too many clauses.
        """
        return cls(
            tuple(Clause(each) for each in sorted(tuple(sorted(one)) for one in _normal(_Reader(text).policy())))
        )

    def is_satisfied(self, attributes: Iterable[Attribute]) -> bool:
        had = set(attributes)
        return any(clause.is_satisfied(had) for clause in self.clauses)

    def __str__(self) -> str:
        """One spelling for each meaning."""
        return "|".join(str(clause) for clause in self.clauses)

    @classmethod
    def of_spelling(cls, text: str) -> Self:
        """
        Raises: PolicyMalformed if it is not what `str` gives.
        """
        made = cls(tuple(Clause.parse(each) for each in text.split("|")))
        if list(made.clauses) != sorted(set(made.clauses)) or len(made.clauses) > MOST_CLAUSES:
            raise PolicyMalformed("This is not the spelling of a policy.")
        return made


@dataclass(frozen=True, slots=True)
class Formula:
    """What a text says, not written out: one attribute (``sign`` is "="), or parts of which all (``and``) or one (``or``) must hold."""

    sign: Literal["=", "and", "or"]
    parts: tuple[Formula, ...] = ()
    attribute: Attribute = ("", "")

    @classmethod
    def parse(cls, text: str) -> Formula:
        """What says the same in another order gives the same.

        Raises: PolicyMalformed, with the place, if it is no policy, or names too much.
        """
        made = _Reader(text).policy().ordered()
        if sum(1 for _ in made.conditions()) > MOST_CONDITIONS or len(str(made)) > _MOST_LETTERS:
            raise PolicyMalformed(
                f"A policy by attributes names at most {MOST_CONDITIONS} of them, in at most {_MOST_LETTERS} letters. Give those that "
                "belong together an attribute of their own."
            )
        return made

    @classmethod
    def of_spelling(cls, text: str) -> Formula:
        """
        Raises: PolicyMalformed if it is not what `str` gives.
        """
        made = cls.parse(text)
        if str(made) != text:
            raise PolicyMalformed("This is not the spelling of a formula.")
        return made

    def ordered(self) -> Formula:
        """In the order of spellings, nothing twice, and no part with the sign of the whole."""
        if self.sign == "=":
            return self
        flat: list[Formula] = []
        for part in (each.ordered() for each in self.parts):
            flat += part.parts if part.sign == self.sign else (part,)
        kept = sorted({*flat}, key=str)
        return kept[0] if len(kept) == 1 else Formula(self.sign, tuple(kept))

    def is_satisfied(self, attributes: Iterable[Attribute]) -> bool:
        had = set(attributes)
        if self.sign == "=":
            return self.attribute in had
        return (all if self.sign == "and" else any)(part.is_satisfied(had) for part in self.parts)

    def conditions(self) -> Iterator[Attribute]:
        """The attributes that it names, each as often as it does."""
        if self.sign == "=":
            yield self.attribute
        for part in self.parts:
            yield from part.conditions()

    def __str__(self) -> str:
        """In the language itself, with the brackets that it takes."""
        if self.sign == "=":
            return " = ".join(self.attribute)
        spelled = (f"({part})" if self.sign == "and" and part.sign == "or" else str(part) for part in self.parts)
        return f" {self.sign} ".join(spelled)


#: Clauses on the way: sets of attributes.
_Normal = list[frozenset[Attribute]]


def _normal(formula: Formula) -> _Normal:
    """
    Raises: PolicyMalformed if it is too many.
    """
    if formula.sign == "=":
        return [frozenset({formula.attribute})]
    read, *others = (_normal(part) for part in formula.parts)
    for other in others:
        # Both have at most MOST_CLAUSES.
        read = _fewest(
            [*read, *other] if formula.sign == "or" else [one | another for one in read for another in other]
        )
    return read


class _Reader:
    """Reads one text, from left to right, as it is written. ``or`` binds less than ``and``.

    Raises: PolicyMalformed, with the place, if it is no policy.
    """

    def __init__(self, text: str) -> None:
        if len(text) > _MOST_LETTERS:
            raise PolicyMalformed(f"A policy has at most {_MOST_LETTERS} letters.")
        self._words: list[tuple[int, str]] = []
        position = 0
        while text[position:].strip():
            found = _WORD.match(text, position)
            if found is None:
                at = position + len(text[position:]) - len(text[position:].lstrip())
                raise PolicyMalformed(f"A policy cannot have {text[at]!r}, which is its letter {at + 1}.")
            self._words.append((found.start(found.lastgroup or 0) + 1, found["sign"] or found["word"]))
            position = found.end()
        self._next, self._depth = 0, 0

    def policy(self) -> Formula:
        read = self._alternatives()
        if self._peek():
            raise self._unexpected("and, or, or the end")
        return read

    def _alternatives(self) -> Formula:
        parts = [self._conjunction()]
        while self._peek() == "or":
            self._take()
            parts.append(self._conjunction())
        return _joined("or", parts)

    def _conjunction(self) -> Formula:
        parts = [self._condition()]
        while self._peek() == "and":
            self._take()
            parts.append(self._condition())
        return _joined("and", parts)

    def _condition(self) -> Formula:
        if self._peek() == "not":
            raise PolicyMalformed(
                f"A policy says what a worker has, and cannot say not (letter {self._place()}): name the values that are allowed."
            )
        if self._peek() == "(":
            self._take()
            self._depth += 1
            if self._depth > _MOST_DEPTH:
                raise PolicyMalformed(f"A policy has at most {_MOST_DEPTH} brackets in each other.")
            read = self._alternatives()
            self._expect(")")
            self._depth -= 1
            return read
        name = self._word("the name of an attribute")
        if self._peek() == "in":
            self._take()
            self._expect("(")
            values = [self._word("a value")]
            while self._peek() == ",":
                self._take()
                values.append(self._word("a value"))
            self._expect(")")
        else:
            self._expect("=")
            values = [self._word("a value")]
        return _joined("or", [Formula("=", attribute=check_attribute(name, value)) for value in values])

    def _peek(self) -> str:
        return self._words[self._next][1] if self._next < len(self._words) else ""

    def _place(self) -> int:
        return self._words[self._next][0] if self._next < len(self._words) else 0

    def _take(self) -> str:
        self._next += 1
        return self._words[self._next - 1][1]

    def _word(self, what: str) -> str:
        if self._peek() in ("", "=", "(", ")", ",", "and", "or", "in"):
            raise self._unexpected(what)
        return self._take()

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            raise self._unexpected(sign)
        self._take()

    def _unexpected(self, wanted: str) -> PolicyMalformed:
        if not self._peek():
            return PolicyMalformed(f"The policy ends where {wanted} is expected.")
        return PolicyMalformed(
            f"The policy has {self._peek()!r} at letter {self._place()}, where {wanted} is expected."
        )


def _joined(sign: Literal["and", "or"], parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else Formula(sign, tuple(parts))


def _fewest(clauses: Sequence[frozenset[Attribute]]) -> _Normal:
    """Without those that say more than another: whoever satisfies them satisfies that one.

    Raises: PolicyMalformed if these are too many.
    """
    kept: _Normal = []
    for clause in sorted(set(clauses), key=len):
        if not any(one <= clause for one in kept):
            kept.append(clause)
            if len(kept) > MOST_CLAUSES:
                raise PolicyMalformed(
                    f"This policy needs more than {MOST_CLAUSES} clauses, written out with or between them. Name fewer values, or give "
                    "those that belong together an attribute of their own."
                )
    return kept
