"""What happens on the site: `write` by the code of then, `check` by the code of today, each in a process of its own.

`write` fills the site, notes every row and file as they are to be in the end, disguises, and stores the database as SQL with everybody's
keys. `check` has that in its database and must bring everything back, to the byte. Kept to what every release with a fixture can do.
"""

from __future__ import annotations

import base64
import datetime
import importlib
import itertools
import json
import shutil
import sqlite3
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.files.base import ContentFile  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

import edna  # noqa: E402
from tests.upgrades.club.models import Message, Note, Vote  # noqa: E402

TABLES = ("auth_user", "club_note", "club_message", "club_vote")
NAMES = ("ann", "ben", "cyd", "dan")
PASSWORD = "password of "

#: Where a version of something that is stored is said, as far as a release has it.
FORMATS = {
    "container": ("edna.crypto.sealing", "VERSION"),
    "suite": ("edna.crypto.sealing", "SUITE"),
    "stanza": ("edna.crypto.sealing", "STANZA_X25519"),
    "stanza of a succession": ("edna.crypto.sealing", "STANZA_SUCCESSION"),
    "stanza of the hybrid kind": ("edna.crypto.sealing", "STANZA_HYBRID"),
    "slot": ("edna.custody.base", "VERSION"),
    "salt of password slots": ("edna.custody.password", "SALT"),
    "locator item": ("edna.records.locator", "SEALED_LOCATOR_BYTES"),
    "locator item of the hybrid kind": ("edna.records.locator", "HYBRID_LOCATOR_BYTES"),
    "receipt": ("edna.records.locator", "_PREFIX"),
    "log of updates": ("edna.engine.forwarding.replay_log", "_VERSION"),
    "ledger": ("edna.records.ledgernote", "_VERSION"),
    "export": ("edna.operations.exports.bundle", "FORMAT"),
}


def formats() -> dict[str, Any]:
    """The versions that this code writes."""
    found = {}
    for name, (module, constant) in FORMATS.items():
        try:
            found[name] = getattr(importlib.import_module(module), constant)
        except (ImportError, AttributeError):
            continue
    diff = importlib.import_module("edna.records.diff")
    if hasattr(diff, "KINDS"):
        found["operations"] = sorted((kind.word.upper(), number) for number, kind in diff.KINDS.items())
    else:
        found["operations"] = sorted((each.name, int(each)) for each in diff.Operation)
    found["kinds"] = sorted((each.name, int(each)) for each in importlib.import_module("edna.records.bag").BagKind)
    return json.loads(json.dumps(found))


def rows() -> dict[str, list[Any]]:
    """Every application row with the storage classes that SQLite gave its values."""
    found = {}
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")
            columns = [column[0] for column in cursor.description]
            exact = ", ".join(f"typeof({name}) || ':' || coalesce(quote({name}), '')" for name in columns)
            cursor.execute(f"SELECT {exact} FROM {table}")
            found[table] = sorted(list(row) for row in cursor.fetchall())
    return found


def files() -> dict[str, str]:
    root = Path(settings.MEDIA_ROOT)
    return {
        str(path.relative_to(root)): base64.b64encode(path.read_bytes()).decode()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def write(target: str) -> None:
    call_command("migrate", verbosity=0)
    users = [User.objects.create_user(name, f"{name}@example.org", "login") for name in NAMES]
    for number, author in zip(range(24), itertools.cycle(users), strict=False):
        Note.objects.create(
            author=author,
            text=f"note {number} by {author.username}, with ümlauts and 'quotes'",
            written_at=datetime.datetime(2026, 1, 2, 3, 4, 5, number, tzinfo=datetime.UTC) if number % 3 else None,
            price=Decimal(number) + Decimal("0.50"),
            details={"number": number, "tags": ["a", None, 1.5, True]},
            attachment=ContentFile(bytes(range(number * 8)), name=f"note{number}.bin") if number < 8 else "",
        )
    for sender, recipient in itertools.permutations(users, 2):
        Message.objects.create(sender=sender, recipient=recipient, text=f"{sender.username} to {recipient.username}")
    Vote.objects.bulk_create(
        Vote(voter=user, note=note) for note in Note.objects.all() for user in users if user.pk != note.author_id
    )
    people = {user.username: edna.register_principal(user, password=PASSWORD + user.username) for user in users}
    ann, ben, cyd, dan = users
    moderated = Note.objects.filter(author=ben).order_by("pk")[1]
    original, moderated.text = moderated.text, "[moderated]"
    moderated.save()
    expected, kept = rows(), files()
    Note.objects.filter(pk=moderated.pk).update(text=original)

    receipts = {name: [] for name in NAMES}
    receipts["dan"].append(edna.disguise("club.blur", dan, params={"below": 15}))
    receipts["dan"] += [edna.disguise("club.veil", dan), edna.disguise("club.veil", dan)]
    with edna.session(cyd, "club.by-hand") as session:
        session.modify(Note.objects.filter(author=cyd).order_by("pk")[:2], text="[by hand]")
        session.remove(Vote.objects.filter(voter=cyd).order_by("pk")[:3])
        session.save(b"kept elsewhere")
    receipts["cyd"].append(session.receipt)
    receipts["ann"].append(edna.disguise("club.veil", ann))
    with edna.unlock(secret_key=people["ann"].secret_key) as unlocked:
        receipts["ann"].append(edna.disguise("club.leave", ann, unlocked=unlocked))
    receipts["ben"].append(edna.disguise("club.leave", ben))
    edna.replay(Note, where={"id": moderated.pk}, set={"text": "[moderated]"})
    edna.finish_files()
    people["ann"] = with_a_new_key("ann", people["ann"])

    connection.close()
    raw = sqlite3.connect(settings.DATABASES["default"]["NAME"])
    document = {
        "formats": formats(),
        "expected": expected,
        "expected_files": kept,
        "people": {
            name: {
                "secret_key": made.secret_key.expose_text(),
                "recovery_code": str(made.recovery_code),
                "password": PASSWORD + name,
                "receipts": [str(receipt) for receipt in receipts[name]],
            }
            for name, made in people.items()
        },
        "files": files(),
        "sql": list(raw.iterdump()),
    }
    raw.close()
    Path(target).write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n")


def with_a_new_key(name: str, made: Any) -> Any:
    """What somebody has for whom a browser has made a new key, where the release knows of that."""
    try:
        from tests.handing import Browser, send_new_keys
    except ImportError:
        return made
    if made.secret_key.expose_text().startswith("edna-secret-key-2:"):
        return made  # browsers make none of the hybrid kind
    key = edna.SecretKey.generate()
    send_new_keys(*Browser(made.secret_key).for_new_key(key))
    with edna.unlock(secret_key=key) as unlocked:
        edna.change_password(unlocked, identifier=name, password=PASSWORD + name)
        return replace(made, public_key=key.public_key, secret_key=key, recovery_code=edna.new_recovery_code(unlocked))


def check(source: str) -> None:
    document = json.loads(Path(source).read_text())
    shutil.rmtree(settings.MEDIA_ROOT, ignore_errors=True)
    for name, content in document["files"].items():
        path = Path(settings.MEDIA_ROOT) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))
    raw = sqlite3.connect(settings.DATABASES["default"]["NAME"])
    raw.executescript("\n".join(document["sql"] + document.get("before_migrating", [])))
    raw.close()
    call_command("migrate", verbosity=0)
    call_command("check", verbosity=0)
    assert rows() != document["expected"]
    people = document["people"]
    for name, person in people.items():
        for how in (
            {"secret_key": person["secret_key"]},
            {"recovery_code": person["recovery_code"]},
            {"identifier": name, "password": person["password"]},
        ):
            with edna.unlock(**how) as unlocked:
                assert len(edna.history(unlocked)) == len(person["receipts"]), (name, how.keys())
                assert unlocked.damaged == []
    # From the last to the first; what waits for somebody else comes the next time.
    for _ in range(3):
        for person in people.values():
            with edna.unlock(secret_key=person["secret_key"]) as unlocked:
                known = {str(entry.receipt) for entry in edna.history(unlocked)}
                for receipt in reversed(person["receipts"]):
                    if receipt in known:
                        edna.reveal(receipt, unlocked)
    assert not edna.finish_files().left
    found = rows()
    for table in TABLES:
        assert found[table] == document["expected"][table], table
    assert files() == document["expected_files"]
    from edna.models import Bag, PrincipalEntry
    from edna.operations.models import LedgerEntry

    assert not Bag.objects.exists()
    assert not LedgerEntry.objects.exists()
    assert PrincipalEntry.objects.count() == len(people)
    _goes_on(people)
    assert rows() == document["expected"]


def _goes_on(people: dict[str, Any]) -> None:
    """The site of today with the keys of then."""
    for name, person in people.items():
        receipt = edna.disguise("club.leave", User.objects.get(username=name))
        with edna.unlock(identifier=name, password=person["password"]) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
    edna.finish_files()


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](sys.argv[2])
