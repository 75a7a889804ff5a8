"""The table of a site that has guardians: a sealed envelope for each enrolment.

Invariant: as `edna.models`. A row names nobody, no guardian and no enrolment; all rows have one length. Only ``store`` reads and writes it.
"""

from __future__ import annotations

from django.db import models

from edna.models import FixedBinaryField, RandomKeyField, random_primary_key


class KeptEnvelope(models.Model):
    """What opens with the help of guardians, sealed with the server's key. Whose it is cannot be told from the row."""

    id = RandomKeyField(primary_key=True, default=random_primary_key, editable=False)
    #: Not unique, as the id of a slot is not: somebody may have a name that another had before.
    place = FixedBinaryField(max_length=32, db_index=True)
    tag = FixedBinaryField(max_length=32, db_index=True)
    sealed = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"envelope {self.pk}"
