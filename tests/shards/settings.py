"""A club whose members are in two databases, and whose sessions are in a third: the process says where these are."""

import json
import os
from pathlib import Path

from config.database import from_url

SCRATCH = Path(os.environ["SHARDS_SCRATCH"])
SECRET_KEY = "a site of the tests"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "edna",
    "edna.operations",
    "tests.upgrades.club",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "edna.middleware.EdnaMiddleware",
]
ROOT_URLCONF = "edna.urls"
DATABASES = {
    alias: from_url(url, base=SCRATCH) | {"ATOMIC_REQUESTS": False}
    for alias, url in json.loads(os.environ["SHARDS_URLS"]).items()
}
DATABASE_ROUTERS = ["tests.shards.router.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MEDIA_ROOT = str(SCRATCH / "media")
USE_TZ = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EDNA = {
    "MAC_KEYS": ["the MAC key of a site of shards"],
    "DATABASES": ["north", "south"],
    "ARGON2_OPSLIMIT": 1,
    "ARGON2_MEMLIMIT_BYTES": 8192,
}
