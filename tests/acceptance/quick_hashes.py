"""The settings of a newcomer's project as its pages wrote them, but that the deliberately slow hashes are fast."""

import mysite.settings
from mysite.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EDNA = getattr(mysite.settings, "EDNA", {}) | {"ARGON2_OPSLIMIT": 1, "ARGON2_MEMLIMIT_BYTES": 8192}
