"""edna's own tables.

Invariant (nothing linkable): no row tells which principal or disguise another row belongs to. So primary keys are random, or begin
something random that the row holds (on SQLite and InnoDB they also *are* the physical order), there are no foreign keys between these
tables or into the application's, no kinds, sequence numbers or timestamps, and every length is fixed or padded.

Only ``store`` reads or writes these models. They have no permissions: there would be nothing to grant. One file on purpose: all that edna
stores, but for what operators keep (`edna.operations.models`).
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from edna.db.short_values import MOST_BYTES, label_number, label_of, number_of, short_reference, whole_reference


def random_primary_key() -> int:
    """A random positive 63-bit key: row order then says nothing about when a row was written."""
    return number_of(secrets.token_bytes(8))


if TYPE_CHECKING:
    BinaryColumn = models.BinaryField[bytes, bytes]
    IntegerColumn = models.BigIntegerField[int, int]
    SmallColumn = models.IntegerField[str, str]
    TextColumn = models.BinaryField[str | None, str | None]
else:
    BinaryColumn = models.BinaryField
    IntegerColumn = models.BigIntegerField
    SmallColumn = models.IntegerField
    TextColumn = models.BinaryField


class FixedBinaryField(BinaryColumn):
    """``max_length`` bytes, always exactly so many, that MariaDB can index."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        if connection.vendor == "mysql":
            return f"binary({self.max_length})"
        return super().db_type(connection)

    def from_db_value(self, value: Any, *_: Any) -> bytes | None:
        return None if value is None else bytes(value)


class RandomKeyField(IntegerColumn):
    """A primary key that is drawn by lot, and also where the row lies.

    On SQLite a key of any type but INTEGER has a rowid of its own beside it, which counts up: rows of one disguise would have
    neighbouring ones.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        return "integer" if connection.vendor == "sqlite" else super().db_type(connection)


class LabelField(SmallColumn):
    """The label of a model, as a number of it."""

    def get_prep_value(self, value: Any) -> int | None:
        return label_number(value) if isinstance(value, str) else value

    def from_db_value(self, value: Any, *_: Any) -> str | None:
        return None if value is None else label_of(value)


class ReferenceField(TextColumn):
    """A primary key in text form, as few bytes, in an index of every database."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str | None:
        if connection.vendor == "mysql":
            return f"varbinary({self.max_length})"
        return super().db_type(connection)

    def get_prep_value(self, value: Any) -> bytes | None:
        # What is no text is taken as its text, as by any column of texts.
        return value if value is None or isinstance(value, bytes) else short_reference(str(value))

    def from_db_value(self, value: Any, *_: Any) -> str | None:
        return None if value is None else whole_reference(value)


class PrincipalEntry(models.Model):
    """A public key, and whose it is while that person's row exists.

    The primary key follows from the public key, which is random and found by it: an index less, and nothing that the row does not say.
    A removed principal's entry keeps only the key and the list of sealed locators. ``reference`` is the primary key in
    text form; ``locators`` is a run of fixed-size sealed boxes that only the secret key opens. ``last_seen_on`` is a
    date, no finer, for schedules. ``tag``, under a key that is not in the database, says that the site itself noted whose key it is; a
    removed principal's is NULL: it must not tell, with the server's keys, whose it was.
    """

    #: `number_of` the public key.
    id = RandomKeyField(primary_key=True, editable=False)
    public_key = FixedBinaryField(max_length=32)
    model = LabelField()
    reference = ReferenceField(max_length=MOST_BYTES, null=True)
    natural = models.BooleanField()
    locators = models.BinaryField(default=b"")
    last_seen_on = models.DateField(null=True)
    #: Of a removed principal: the bucket in which their last bag expires; NULL if none does.
    expires_on = models.DateField(null=True)
    tag = FixedBinaryField(max_length=16, null=True)  # type: ignore[misc]  # the stubs' word for bytes or None
    #: The other half of a public key of the hybrid kind; NULL of X25519. In no index: an entry is found by the first half.
    encapsulation_key = models.BinaryField(null=True)
    #: While a disguise in chunks is under way for somebody who is there: which, sealed under a key of the server; otherwise NULL.
    under_way = FixedBinaryField(max_length=96, null=True)  # type: ignore[misc]  # the stubs' word for bytes or None

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=["reference", "model"], name="edna_entry_reference"),)

    def __str__(self) -> str:
        return f"entry {self.pk}"


class KeySlot(models.Model):
    """One way to get a secret key back. Which kind, and whose, cannot be told from the row."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    #: Not unique: to be refused would tell somebody who registers with a freed address that the password is the former owner's.
    slot_id = FixedBinaryField(max_length=32, db_index=True)
    tag = FixedBinaryField(max_length=32, db_index=True)
    wrapped = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"slot {self.pk}"


class Bag(models.Model):
    """Sealed records under an index that only the holder of the locator can compute."""

    #: `number_of` the index, by which a bag is found.
    id = RandomKeyField(primary_key=True, editable=False)
    index = FixedBinaryField(max_length=32)
    sealed = models.BinaryField()
    expires_on = models.DateField(null=True)

    class Meta:
        default_permissions = ()
        indexes = (models.Index(fields=["expires_on", "id"], name="edna_bag_expires"),)

    def __str__(self) -> str:
        return f"bag {self.pk}"


class SessionLink(models.Model):
    """Which sessions to end when a principal is removed. Or, where sessions are cookies, what they must know since a return.

    ``owner_tag`` is keyed by the server: the row says less than the session itself, which holds the user's primary key.
    """

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    owner_tag = FixedBinaryField(max_length=32, db_index=True)
    session_key = models.CharField(max_length=40, unique=True)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"session link {self.pk}"


class Replay(models.Model):
    """An update that must hold for rows under disguise too, sealed to a key of the server. ``logged_on`` is a date, no finer."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    logged_on = models.DateField(db_index=True)
    sealed = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"replay {self.pk}"


class ServerKey(models.Model):
    """A key of the server that things in this database are sealed under, by a value that only who has the key can compute.

    It tells nothing about the key. ``added_on`` is a date, no finer.
    """

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    check_value = FixedBinaryField(max_length=32, unique=True)
    added_on = models.DateField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"server key {self.pk}"


class FileTask(models.Model):
    """A file of the application's that is yet to be deleted or written, because its row went or came back: only that.

    With a ``locator``, the content lies sealed in the bags under it, and is to be written; without, the file is to be deleted if it
    still has the content that was sealed. Gone as soon as it is done, so that nothing but pending work is here. ``mac``, under a key that
    is not in the database, says that the site itself noted it: a storage does what a task says.
    """

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    field = models.CharField(max_length=255)
    name = models.TextField()
    size = models.BigIntegerField()
    digest = FixedBinaryField(max_length=32)
    locator = FixedBinaryField(max_length=32, null=True)  # type: ignore[misc]  # the stubs' word for bytes or None
    free = models.BooleanField()
    erase = models.BooleanField()
    mac = FixedBinaryField(max_length=32)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"file task {self.pk}"
