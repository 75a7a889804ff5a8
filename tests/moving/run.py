"""What the processes of a moving site do: `python -m tests.moving.run before|after|check FILE`, each with a database of its own.

`before` disguises in every way and packs; `after` unpacks elsewhere, reveals in part, and packs again; `check` unpacks that, in whichever
database, and must bring back every row as its models see it.
"""

from __future__ import annotations

import datetime
import json
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

import edna  # noqa: E402
from edna.operations.exports import transfer  # noqa: E402
from tests.moving.models import Holder, Piece  # noqa: E402
from tests.moving.specs import ALL  # noqa: E402
from tests.moving.truth import VALUES  # noqa: E402

NAMES = ("gone", "veiled", "layers", "blank", "stays")


def rows() -> dict[str, list[str]]:
    """Every row as its model has it."""
    return {
        model._meta.label: sorted(repr([_plain(value) for value in row]) for row in model.objects.values_list())
        for model in (Holder, Piece)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return bytes(value) if isinstance(value, memoryview) else value


def empty() -> None:
    for cls in ALL:
        edna.register(cls)
    call_command("migrate", run_syncdb=True, verbosity=0)
    call_command("flush", interactive=False, verbosity=0)


def pack(place: Path, people: Any) -> None:
    for old in place.glob("*"):
        old.unlink()
    transfer.export(str(place / "edna.export"))
    # Django's JSON keeps milliseconds only.
    call_command("dumpdata", "moving", format="xml", output=str(place / "site.xml"))
    (place / "people.json").write_text(json.dumps(people))


def unpack(place: Path) -> Any:
    empty()
    call_command("loaddata", str(place / "site.xml"), verbosity=0)
    transfer.load(str(place / "edna.export"))
    return json.loads((place / "people.json").read_text())


def before(place: Path) -> None:
    empty()
    holders = {name: Holder.objects.create(name=name) for name in NAMES}
    for number, holder in enumerate([*holders.values()] * 3):
        values = {name: value for name, value in VALUES.items() if name not in ("id", "owner", "before")}
        changed = {
            "integer": number,
            "flag": bool(number % 2),
            "decimal": Decimal(number) / 8,
            "whole": Decimal(number) if number % 2 else Decimal(number) + Decimal("0.10"),
            "moment": VALUES["moment"] + datetime.timedelta(days=number, microseconds=number),
            "span": datetime.timedelta(microseconds=-number),
            "uid": uuid.uuid4(),
            "json": [{"only": None}, {"b": number, "aa": [0.1]}, "text", number, []][number % 5],
            "before": Piece.objects.filter(owner=holder).first(),
        }
        Piece.objects.create(owner=holder, **values | changed)
    keys = {name: edna.register_principal(holder).secret_key for name, holder in holders.items()}
    moderated = Piece.objects.filter(owner=holders["gone"]).first()
    original, moderated.text, moderated.whole = moderated.text, "[moderated]", Decimal("9.50")
    former = Piece.objects.get(pk=moderated.pk).whole
    moderated.save()
    expected = rows()
    Piece.objects.filter(pk=moderated.pk).update(text=original, whole=former)

    receipts: dict[str, list[str]] = {name: [] for name in NAMES}

    def disguise(name: str, how: str, *, with_key: bool = False) -> None:
        with edna.unlock(secret_key=keys[name]) as unlocked:
            given = unlocked if with_key else None
            receipts[name].append(str(edna.disguise(f"moving.{how}", holders[name], unlocked=given)))

    disguise("gone", "go")
    for _ in range(2):
        disguise("veiled", "veil")
    disguise("layers", "blank")
    disguise("layers", "veil")
    disguise("layers", "go", with_key=True)
    disguise("blank", "blank")
    edna.replay(Piece, where={"uid": moderated.uid}, set={"text": "[moderated]", "whole": Decimal("9.50")})
    people = {
        name: {"secret_key": keys[name].expose_text(), "receipts": receipts[name], "vendor": connection.vendor}
        for name in NAMES
    }
    pack(place, {"people": people, "expected": expected})


def after(place: Path) -> None:
    """One receipt of several, the first: what is moved into other bags, or held, is sealed again as this database has it."""
    document = unpack(place)
    for name in ("veiled", "layers"):
        reveal(document["people"][name], [document["people"][name]["receipts"].pop(0)])
    squatter = Holder.objects.create(name="gone")
    assert reveal(document["people"]["gone"], document["people"]["gone"]["receipts"]) == [False]
    squatter.delete()
    pack(place, document)


def check(place: Path) -> None:
    document = unpack(place)
    for _ in range(2):
        for person in document["people"].values():
            with edna.unlock(secret_key=person["secret_key"]) as unlocked:
                left = [str(entry.receipt) for entry in edna.history(unlocked)]
            reveal(person, left)
    found = rows()
    for label, expected in document["expected"].items():
        pairs = [pair for pair in zip(found[label], expected, strict=False) if pair[0] != pair[1]]
        assert found[label] == expected, [_difference(*pair) for pair in pairs][:3]
    from edna.models import Bag

    assert not Bag.objects.exists()


def _difference(one: str, other: str) -> tuple[str, str]:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return one[max(0, at - 60) : at + 40], other[max(0, at - 60) : at + 40]


def reveal(person: Any, receipts: list[str]) -> list[bool]:
    complete = []
    for receipt in receipts:
        with edna.unlock(secret_key=person["secret_key"]) as unlocked:
            assert unlocked.damaged == []
            complete.append(edna.reveal(receipt, unlocked).complete)
    return complete


if __name__ == "__main__":
    assert settings.configured
    {"before": before, "after": after, "check": check}[sys.argv[1]](Path(sys.argv[2]))
