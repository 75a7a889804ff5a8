"""The tables of a site that has audiences.

Invariant: as `edna.models`, for what is held. A copy names nobody: neither whom it is about nor which bag it opens, and two of one person
cannot be told from those of two. Who is in an audience, and what was asked for, is in the open: it is how a site controls them. (Nothing
forged): ``tag``, under a key that is not in the database, says that the site itself wrote a row (`tags`). Only ``store`` reads and writes
these.
"""

from __future__ import annotations

from django.db import models

from edna.models import FixedBinaryField, RandomKeyField, random_primary_key


class AudienceUpdate(models.Model):
    """One update of an audience's tree, signed by the member that made it. All of them are the audience."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    audience = models.CharField(max_length=100)
    sequence = models.IntegerField()
    update = models.BinaryField()
    tag = FixedBinaryField(max_length=16)

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=["audience", "sequence"], name="edna_audience_sequence"),)

    def __str__(self) -> str:
        return f"update {self.sequence} of {self.audience}"


class AudienceName(models.Model):
    """What a member of an audience is called."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    audience = models.CharField(max_length=100)
    member = FixedBinaryField(max_length=16, db_index=True)
    name = models.CharField(max_length=150)
    tag = FixedBinaryField(max_length=16)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.name


class SharedSecret(models.Model):
    """Shares of what so many members of an audience open together, each sealed to a member; of the newest ``epoch`` they count."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    audience = models.CharField(max_length=100)
    together = models.IntegerField()
    epoch = models.IntegerField()
    #: Of who has handed a share on, for the next epoch; 0 of what counts.
    dealer = models.IntegerField()
    said = models.BinaryField()
    tag = FixedBinaryField(max_length=16)

    class Meta:
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(fields=["audience", "together", "epoch", "dealer"], name="edna_audience_shares"),
        )

    def __str__(self) -> str:
        return f"shares of {self.audience}"


class HeldCopy(models.Model):
    """What opens one bag, sealed to members together, at a place that follows from whom it is about and a key of the server."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    place = FixedBinaryField(max_length=32, unique=True)
    mark = FixedBinaryField(max_length=32, unique=True)
    shared_by = FixedBinaryField(max_length=16)
    sealed = models.BinaryField()
    tag = FixedBinaryField(max_length=16)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"copy {self.pk}"


class HoldRequest(models.Model):
    """What a member has asked the others to open with them, about whom, and why. ``places`` are those of the copies, in a row."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    audience = models.CharField(max_length=100)
    together = models.IntegerField()
    asked_by = FixedBinaryField(max_length=16)
    asked_on = models.DateField()
    model = models.CharField(max_length=100)
    reference = models.CharField(max_length=255)
    reason = models.CharField(max_length=200)
    places = models.BinaryField()
    uses = models.IntegerField(default=0)
    tag = FixedBinaryField(max_length=16)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"request {self.pk}"


class HoldPart(models.Model):
    """What one member does for a request, sealed to who asked."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    request = models.BigIntegerField()
    member = FixedBinaryField(max_length=16)
    sealed = models.BinaryField()

    class Meta:
        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=["request", "member"], name="edna_hold_part"),)

    def __str__(self) -> str:
        return f"part {self.pk}"


class HoldNotice(models.Model):
    """Tells a person that something of theirs was read. Whoever has the locator of what was read finds it and opens it."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    place = FixedBinaryField(max_length=32, unique=True)
    sealed = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"notice {self.pk}"


class AudienceOverview(AudienceUpdate):
    """No table: the entry of the admin site's index that leads to the operators' page, and the permissions to see it and to delete."""

    class Meta:
        proxy = True
        default_permissions = ()
        permissions = (
            ("view_audiences", "Can see audiences, their members and what they asked for"),
            ("delete_audiences", "Can delete audiences, and what is held for them"),
        )
        verbose_name = "audience"
        verbose_name_plural = "audiences"
