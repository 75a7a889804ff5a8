"""The sample site as it is measured: as it is shipped.

With BENCH_HASHES=quick, which tests of the benchmarks set, hashes that are slow on purpose are fast. What the figures say is nothing then.
"""

import os

from config.settings import *  # noqa: F403
from config.settings import EDNA

if os.environ.get("BENCH_HASHES") == "quick":
    PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    EDNA |= {"ARGON2_OPSLIMIT": 1, "ARGON2_MEMLIMIT_BYTES": 8192}
