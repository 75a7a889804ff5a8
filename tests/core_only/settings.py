"""A site with members and disguises: the process says in which database it lives, and whether operators have their part of it."""

import os
from pathlib import Path

from config.database import from_url

SCRATCH = Path(os.environ["CORE_ONLY_SCRATCH"])
SECRET_KEY = "a site of the tests"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "edna",
    *(["edna.operations"] if os.environ.get("CORE_ONLY_OPERATIONS") else []),
    "tests.upgrades.club",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "edna.middleware.EdnaMiddleware",
]
ROOT_URLCONF = "edna.urls"
DATABASES = {"default": from_url(os.environ["CORE_ONLY_DATABASE_URL"], base=SCRATCH)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MEDIA_ROOT = str(SCRATCH / "media")
USE_TZ = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EDNA = {
    "MAC_KEYS": ["the MAC key of a site without operators"],
    "ARGON2_OPSLIMIT": 1,
    "ARGON2_MEMLIMIT_BYTES": 8 * 1024 * 1024,
}
if os.environ.get("CORE_ONLY_METRICS"):
    EDNA["METRICS_TOKEN"] = "what Prometheus would have to show"
