"""The record of processing (Art. 30 GDPR), as far as settings and specifications tell; the rest is for people to say.

What only people know comes as ``facts``: texts by the names in `FACTS`. What is not given stays in brackets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from edna import conf
from edna.auditing.treatment import Becomes, Treatment, principals

#: By name: what to say, where nobody has said it.
FACTS: Final = {
    "controller": "[name and address of who answers for the site, and of the data protection officer]",
    "legal_basis": "[the article on which the sealed copy is kept, such as 6(1)(f), and what was weighed]",
    "others": "[who else receives data of the site: hosting, mail, support; and that they hear of an erasure (Art. 19)]",
    "third_countries": "[where the database and its backups are]",
    "backups": "[after how many days copies made before a disguise are overwritten]",
    "operators": "[who may apply disguises and see the audit trail]",
    "last_drill": "[the day on which a backup was restored, and the ledger applied]",
}
_MEASURES: Final = (
    "What is taken away is sealed to a key of the person (X25519, XChaCha20-Poly1305), and proved by a key of the server that is not in "
    "the database. Passwords open keys by Argon2id. Bags are padded, and no table says whose a bag is."
)


@dataclass(frozen=True)
class Field:
    """One line of the record. ``open``: somebody has to fill it in."""

    title: str
    text: str
    open: bool = False


def record(treatments: list[Treatment], facts: Mapping[str, str]) -> list[Field]:
    return [
        _fact("Who answers for it", "controller", facts),
        Field("Purposes", _purposes(treatments)),
        _fact("Legal basis", "legal_basis", facts),
        Field("Whom it is about", _whom()),
        Field("Kinds of data", _kinds(treatments)),
        Field("Who receives the sealed copy", "Nobody. The person alone opens it."),
        _fact("Who receives other data", "others", facts),
        _fact("Third countries", "third_countries", facts),
        Field("Until when: sealed copies", _retention()),
        _fact("Until when: backups", "backups", facts),
        Field("Measures (Art. 32)", _MEASURES),
        Field("After a restored backup", _ledger()),
        _fact("Who operates it", "operators", facts),
        Field("What operators did", _trail()),
        _fact("Last drill", "last_drill", facts),
    ]


def _fact(title: str, name: str, facts: Mapping[str, str]) -> Field:
    text = facts.get(name, "").strip()
    return Field(title, text or FACTS[name], open=not text)


def _purposes(treatments: list[Treatment]) -> str:
    said = [f"{treatment.disguise.name}: {treatment.disguise.described()}" for treatment in treatments]
    return "\n".join(text.rstrip(" :") for text in said) or "No disguise is registered."


def _whom() -> str:
    names = ", ".join(f"{model._meta.verbose_name_plural} ({model._meta.label})" for model in principals())
    return f"{names}; of rows with several owners, the others, too."


def _kinds(treatments: list[Treatment]) -> str:
    """What is taken into sealed copies, by kind, and the tables that it is of."""
    kinds: dict[str, set[str]] = {}
    for treatment in treatments:
        for table in treatment.touched:
            for column in table.columns.values():
                if column.looks and column.becomes is not Becomes.KEPT:
                    kinds.setdefault(column.looks.value, set()).add(table.label)
    return "\n".join(f"{kind}: {', '.join(sorted(labels))}" for kind, labels in sorted(kinds.items())) or "none"


def _retention() -> str:
    days = conf.retention_days()
    if days is None:
        return 'Without an end: EDNA["RETENTION_DAYS"] is not set.'
    if not conf.has_operations():
        return f"{days} days are set, but nothing erases what has expired: edna.operations is not installed."
    return f"{days} days after the disguise, rounded up to the first of a month; then edna_expire erases them for good."


def _ledger() -> str:
    if conf.has_operations() and conf.ledger():
        return "The erasure ledger is kept: edna_ledger reapply disguises again who had left."
    return "No erasure ledger is kept: whoever has left since is in plain sight in a restored backup."


def _trail() -> str:
    return (
        "The audit trail says it."
        if conf.has_operations()
        else "Nothing: edna.operations, which keeps a trail, is not installed."
    )
