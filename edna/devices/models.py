"""The table of a site whose people have several devices.

Invariant: as `edna.models`. A row names nobody, no group and no device; a reader cannot tell which rows belong together. Only ``store``
reads and writes it.
"""

from __future__ import annotations

from django.db import models

from edna.models import FixedBinaryField, RandomKeyField, random_primary_key


class DeviceRecord(models.Model):
    """An operation of a log, the state of a device, what its group calls it, or how it comes in: sealed, at a place that only they find.

    ``expires_on`` has what is shown for a while: a code that was shown, and is deleted afterwards whoever asks.
    """

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    place = FixedBinaryField(max_length=32, unique=True)
    sealed = models.BinaryField()
    expires_on = models.DateField(null=True)

    class Meta:
        default_permissions = ()
        indexes = (models.Index(fields=["expires_on"], name="edna_device_expires"),)

    def __str__(self) -> str:
        return f"record {self.pk}"
