"""A small site of its own, so that what stored data is tested against never changes: the process says which file is its database."""

import os
from importlib.util import find_spec
from pathlib import Path

SCRATCH = Path(os.environ["UPGRADES_SCRATCH"])
SECRET_KEY = "a site of the tests"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "edna",
    *(["edna.operations"] if find_spec("edna.operations.apps") else []),  # of releases before, no application
    "tests.upgrades.club",
]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(SCRATCH / "site.sqlite3")}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MEDIA_ROOT = str(SCRATCH / "media")
USE_TZ = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EDNA = {
    # Of tests, and known to everybody: the data that they sign is made up.
    "MAC_KEYS": ["the MAC key of the tests of upgrades"],
    "ARGON2_OPSLIMIT": 1,
    "ARGON2_MEMLIMIT_BYTES": 8 * 1024 * 1024,
    "CHUNK_ROWS": 5,
}
if os.environ.get("UPGRADES_CUSTODY"):  # nor this one
    EDNA["CUSTODY"] = os.environ["UPGRADES_CUSTODY"]
if os.environ.get("UPGRADES_RECIPIENT"):
    EDNA["RECIPIENT"] = os.environ["UPGRADES_RECIPIENT"]
if os.environ.get("UPGRADES_LEDGER"):  # releases before the ledger do not know the setting
    EDNA["LEDGER"] = True
