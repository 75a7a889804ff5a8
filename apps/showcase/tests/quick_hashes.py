"""The sample site as it is shipped, but that the deliberately slow hashes are fast."""

from config.settings import *  # noqa: F403
from config.settings import EDNA

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EDNA |= {"ARGON2_OPSLIMIT": 1, "ARGON2_MEMLIMIT_BYTES": 8192}
