"""edna's words for the staff, who disguise for everybody. What one's own data are about, edna's pages say."""

from __future__ import annotations

import edna
from apps.showcase.friendly import Words

WORDS = Words(
    login="e-mail address",
    helpers="the course staff",
    explanations={
        edna.errors.UnregisteredOwners: (
            "Some authors have no key yet, so their answers could never be given back to them. Nothing was changed. "
            "Make the missing keys with “manage.py edna_register --all --keys-file FILE”, then try again."
        ),
    },
    operations={"modify": "changed", "decorrelate": "given an anonymous author"},
)
explain, preview = WORDS.explain, WORDS.preview
