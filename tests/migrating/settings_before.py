"""The site's first version, on the database that EDNA_DATABASE_URL names."""

import os
from pathlib import Path

from config.database import from_url

SCRATCH = Path(os.environ["MIGRATING_SCRATCH"])
SECRET_KEY = "k" * 50
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "edna",
    "tests.migrating.before.apps.BeforeConfig",
]
DATABASES = {"default": from_url(os.environ.get("EDNA_DATABASE_URL", "sqlite:///x.sqlite3"), base=SCRATCH)}
DATABASES["default"].setdefault("TEST", {})["NAME"] = (
    str(SCRATCH / "site.sqlite3") if DATABASES["default"]["ENGINE"].endswith("sqlite3") else "edna_migrating"
)
CUSTODY = os.environ.get("MIGRATING_CUSTODY", "server")
EDNA = {"MAC_KEYS": ["m" * 32], "PRINCIPAL_MODELS": ["lobsters.User"], "CUSTODY": CUSTODY}
VERSION = "before"
