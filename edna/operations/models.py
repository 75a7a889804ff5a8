"""The tables of operations: what whoever runs a site has started, is owed, and did.

Invariant: no row of these names a principal who is disguised, but for notices of those whose accounts stay. Days and hours, no finer. As
`edna.models`, without foreign keys and with random primary keys where a row is about somebody.

Only ``operations.store`` reads or writes these models; the admin site lists some of them. The tables are called as they were when they
were of the application ``edna``.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from edna.errors import AppendOnly
from edna.models import FixedBinaryField, RandomKeyField, random_primary_key

#: What stands in a `JsonObjectField` that cannot be read: no tag and no MAC fits it.
UNREADABLE: Final = {"(unreadable)": ""}


class JsonObjectField(models.JSONField):
    """A JSON object of texts and numbers. What is anything else was not written here, and is read as `UNREADABLE`.

    A cell of a vandal must not stop what would name it: one number of 5,000 digits, or a list in a list in a list, is an error for
    Python's parser, and whoever reads the table would never see the other rows.
    """

    def from_db_value(self, value: Any, expression: Any, connection: BaseDatabaseWrapper) -> Any:
        try:
            decoded = super().from_db_value(value, expression, connection)
        except (ValueError, RecursionError):
            return dict(UNREADABLE)
        is_ours = isinstance(decoded, dict) and all(isinstance(each, str | int | float) for each in decoded.values())
        return decoded if is_ours else dict(UNREADABLE)

    def deconstruct(self) -> Any:
        # To migrations, a JSON field as any other.
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs


class Job(models.Model):
    """A disguise of many principals, done in the background. Who is still to be disguised is in `JobItem`.

    Days, no finer, for what is over: the moment of a disguise is nobody's business. ``params`` are texts, as a form has them.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        PAUSED = "paused"
        CANCELLED = "cancelled"
        FINISHED = "finished"

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    disguise = models.CharField(max_length=100)
    params = JsonObjectField(default=dict)
    #: Everybody who owns a row that the disguise means, rather than a selection.
    everybody = models.BooleanField()
    #: The schedule that it is for, or "".
    schedule = models.CharField(max_length=100, default="")
    #: Who started it, or "" for nobody: a schedule.
    operator = models.CharField(max_length=255, default="")
    state = models.CharField(max_length=10, choices=State, db_index=True)
    total = models.BigIntegerField()
    #: Nothing is sealed for them, and nobody can reveal it.
    # In the database as well: during an upgrade, processes of the release before note jobs, too.
    keep_no_way_back = models.BooleanField(default=False, db_default=False)
    #: Who of those meant is not, because they run the site; NULL where nobody counted.
    left_out = models.BigIntegerField(null=True)
    #: What runners that are over have done; those at work count for themselves.
    done = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    concurrency = models.PositiveSmallIntegerField()
    #: Principals, all runners together; NULL is without a limit.
    rate_per_second = models.FloatField(null=True)
    created_on = models.DateField()
    finished_on = models.DateField(null=True)
    #: Under a key that is not in the database: that the site itself noted what is to be done.
    tag = FixedBinaryField(max_length=16, null=True)  # type: ignore[misc]  # the stubs' word for bytes or None

    class Meta:
        db_table = "edna_job"
        default_permissions = ("view",)
        permissions = (
            ("apply_disguise", "Can apply disguises to users"),
            ("disguise_for_good", "Can apply disguises without a way back"),
            ("control_job", "Can pause, resume, cancel and retry jobs"),
            ("view_health", "Can see key pool, storage and health"),
        )

    def __str__(self) -> str:
        return f"job {self.pk}"


class JobItem(models.Model):
    """A principal who is still to be disguised by a job, or for whom it failed. Gone in the transaction that disguises them."""

    class State(models.IntegerChoices):
        PENDING = 0
        FAILED = 1

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    job = models.BigIntegerField()
    reference = models.CharField(max_length=255)
    state = models.SmallIntegerField(choices=State, default=State.PENDING)
    #: The class of the error, or of what was in the way; never its words.
    reason = models.CharField(max_length=100, default="")
    attempts = models.PositiveSmallIntegerField(default=0)
    #: That the site itself noted whom it is about.
    tag = FixedBinaryField(max_length=16, null=True)  # type: ignore[misc]  # the stubs' word for bytes or None

    class Meta:
        db_table = "edna_jobitem"
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=["reference", "job"], name="edna_job_item"),)
        # With the key: runners take items in its order.
        indexes = (models.Index(fields=["job", "state", "id"], name="edna_job_items"),)

    def __str__(self) -> str:
        return f"job item {self.pk}"


class JobRunner(models.Model):
    """A process at work on a job, and how far it has come: its own row, so that runners do not wait for each other."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    job = models.BigIntegerField(db_index=True)
    name = models.CharField(max_length=100)
    done = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0)
    #: Written with each batch; one that is silent for long has died.
    seen_at = models.DateTimeField()

    class Meta:
        db_table = "edna_jobrunner"
        default_permissions = ()

    def __str__(self) -> str:
        return f"runner {self.pk}"


class AppendOnlyQuerySet(models.QuerySet["AuditEntry"]):
    """Rows that were written stay as they are. Raw SQL can do what it likes; `edna.operations.audit.verify` finds it."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise AppendOnly("The audit trail is appended to, and neither changed nor deleted.")

    update = bulk_update = delete = _raw_delete = _refuse

    def bulk_create(self, objs: Any, *args: Any, update_conflicts: bool = False, **kwargs: Any) -> Any:
        return self._refuse() if update_conflicts else super().bulk_create(objs, *args, **kwargs)


class AuditEntry(models.Model):
    """What an operator did, and with which disguise: never to whom. Appended, and neither changed nor deleted.

    The hour, no finer. ``mac`` covers the entry and the ``mac`` before it, under a key that is not in the database.
    """

    id = models.BigAutoField(primary_key=True)
    logged_at = models.DateTimeField()
    operator = models.CharField(max_length=255)
    action = models.CharField(max_length=50)
    disguise = models.CharField(max_length=100, default="")
    #: Numbers and such: how many principals, which job.
    details = JsonObjectField(default=dict)
    mac = FixedBinaryField(max_length=32)

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        db_table = "edna_auditentry"
        verbose_name = "audit trail entry"
        verbose_name_plural = "audit trail entries"
        default_permissions = ("view",)

    def __str__(self) -> str:
        return f"audit entry {self.pk}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """
        Raises:
            AppendOnly: the entry is there already.
        """
        if not self._state.adding:
            raise AppendOnly("The audit trail is appended to: an entry that is there is not saved again.")
        # Not what Django does of itself for a row whose number is taken: an UPDATE of that row.
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """
        Raises:
            AppendOnly: always.
        """
        raise AppendOnly("The audit trail is appended to: an entry is not deleted.")


class AuditCount(models.Model):
    """How many entries the audit trail has had, and the ``mac`` of the newest: one row, so that an end that was cut off is missed.

    ``mac`` covers both, under a key that is not in the database.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    count = models.BigIntegerField()
    newest = FixedBinaryField(max_length=32)
    mac = FixedBinaryField(max_length=32)

    class Meta:
        db_table = "edna_auditcount"
        default_permissions = ()

    def __str__(self) -> str:
        return f"count of the audit trail {self.pk}"


class LegalHold(models.Model):
    """Bags of this bucket are not erased, although they have expired."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    expires_on = models.DateField(unique=True)
    #: A case number; not a name.
    reason = models.CharField(max_length=200)
    placed_on = models.DateField()

    class Meta:
        db_table = "edna_legalhold"
        default_permissions = ()

    def __str__(self) -> str:
        return f"legal hold on {self.expires_on}"


class DormancyNotice(models.Model):
    """What a principal, who is there, has last been told by a schedule. Gone when they return, and when their account goes.

    ``stage`` says how many days ahead that was; 0 of somebody whom the schedule has disguised, and whose account stays: it is not done
    again. ``sent_on`` is then the day from which they were dormant, which does not say when.
    """

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    schedule = models.CharField(max_length=100)
    model = models.CharField(max_length=100)
    reference = models.CharField(max_length=255)
    stage = models.PositiveSmallIntegerField()
    sent_on = models.DateField()

    class Meta:
        db_table = "edna_dormancynotice"
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=["reference", "schedule", "model"], name="edna_dormancy_notice"),)

    def __str__(self) -> str:
        return f"notice {self.pk}"


class LedgerEntry(models.Model):
    """That somebody is disguised, so that it can be done again after a backup was restored.

    ``index`` follows from the principal and the disguise under a key that is not in the database; ``sealed`` says which disguise,
    and is of one size.
    """

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    index = FixedBinaryField(max_length=32, unique=True)
    sealed = models.BinaryField()

    class Meta:
        db_table = "edna_ledgerentry"
        default_permissions = ()

    def __str__(self) -> str:
        return f"ledger entry {self.pk}"


class LastRun(models.Model):
    """When a recurring task was last done, and what it counted."""

    name = models.CharField(max_length=100, primary_key=True)
    finished_at = models.DateTimeField(null=True)
    counts = JsonObjectField(default=dict)
    #: Until when a process that is at it keeps others from it; NULL while none is.
    busy_until = models.DateTimeField(null=True)

    class Meta:
        db_table = "edna_lastrun"
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


# Entries of the admin site's index that are no tables: pages that show what is registered, and how the site is doing.


class DisguiseCatalogue(Job):
    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = "disguise"
        verbose_name_plural = "disguises"


class SiteHealth(Job):
    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = "storage and health"
        verbose_name_plural = "storage and health"
