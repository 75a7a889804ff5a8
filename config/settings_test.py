"""The sample site as the tests run it: the deliberately slow hashes are made fast, nothing is left behind."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Processes that a test starts share their parent's directory (and so its keys); whoever made it removes it.
if "EDNA_TEST_SCRATCH" not in os.environ:
    from benchmarks.kit.servers.server import in_memory

    # Tests kill processes and not the machine: memory keeps what they write as well as a disk does, and takes it in half the time.
    os.environ["EDNA_TEST_SCRATCH"] = tempfile.mkdtemp(prefix="edna-test-", dir=in_memory())
    atexit.register(shutil.rmtree, os.environ["EDNA_TEST_SCRATCH"], ignore_errors=True)
SCRATCH = Path(os.environ["EDNA_TEST_SCRATCH"])
os.environ["EDNA_VAR"] = str(SCRATCH / "var")

from config.settings import *  # noqa: E402, F403
from config.settings import BROKER_URL, DATABASES, EDNA  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EDNA |= {"ARGON2_OPSLIMIT": 1, "ARGON2_MEMLIMIT_BYTES": 8192}  # the least that Argon2id takes
EDNA["RECIPIENT"] = (
    os.environ.get("EDNA_TEST_RECIPIENT") or "x25519"
)  # the same tests with keys of the hybrid kind: "x-wing"
if EDNA["RECIPIENT"] == "x-wing":
    SILENCED_SYSTEM_CHECKS = ["edna.W068"]  # of every group of devices: tests count what the checks say
EDNA["JOB_RUNNER"] = "celery" if BROKER_URL else "command"  # no threads behind the back of a test
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
WHITENOISE_AUTOREFRESH = True  # no scan of every static file each time a test makes a client

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: threads get connections of their own, and tests can look at the raw pages as a thief would.
    DATABASES["default"]["TEST"] = {"NAME": str(SCRATCH / "test.sqlite3")}
