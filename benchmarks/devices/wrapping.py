"""Updates a device of somebody who has hidden much: every bag gets other recipients, in parts if there are many."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

import edna
from apps.websubmit.models import User
from benchmarks.timing import Clock, Key, Result
from benchmarks.watching import watching
from edna import devices, store
from edna.crypto.keys import PublicKey
from edna.engine.bags.seal import seal_records
from edna.records.bag import Bag, BagKind
from edna.records.locator import Locator, seal_locator


def wrapped(bags: int, *, samples: int, database: str) -> list[Result]:
    """On the empty database of the settings."""
    call_command("migrate", verbosity=0)
    user = User.objects.create_user("wrapped@example.org")
    registration = edna.register_principal(user)
    assert registration.secret_key is not None
    _hide(user, registration.public_key, bags)
    key = devices.create(edna.unlock(secret_key=registration.secret_key))
    clock, name = Clock(_counting, processor=True), Key(f"update, {bags} bags: wrap", "edna")
    for _ in clock.rounds(range(samples + 2), warm_up=1, counted=1):
        former = key
        key = clock(name, lambda former=former: devices.update(former), rows=bags)
    return clock.results(app="devices", level="library", database=database, scale="8 to 128 devices", extra={})


def _hide(user: User, public_key: PublicKey, bags: int) -> None:
    """As if they had applied so many disguises that found nothing: bags of the usual size, and their places in the list."""
    head = Bag(
        kind=BagKind.DIFF,
        disguise="websubmit.delete-account",
        applied_at=timezone.now(),
        principal_model=User._meta.label_lower,
        principal=user.pk,
        params={},
        database=connection.vendor,
        listed=True,
        segments=(1, 0),
        batches=(),
    )
    locators = [Locator(secrets.token_bytes(32)) for _ in range(bags)]
    sealed = [
        bag
        for locator in locators
        for bag in seal_records(head, [], [], locator=locator, recipient=public_key, using=connection.alias)
    ]
    (entry,) = store.entries_by_public_key([bytes(public_key)], using=connection.alias)
    listed = b"".join(seal_locator(locator, recipient=public_key) for locator in locators)
    with transaction.atomic():
        store.add_bags(sealed, expires_on=None, using=connection.alias)
        store.save_entries([entry._replace(locators=listed)], using=connection.alias)


@contextmanager
def _counting() -> Iterator[Callable[[], int]]:
    with watching() as seen:
        yield lambda: seen.statements
