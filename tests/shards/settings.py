"""A club whose members are in two databases, and whose sessions are in a third: the process says where these are."""

import json
import os
from pathlib import Path

from config.database import from_url

SCRATCH = Path(os.environ["SHARDS_SCRATCH"])
ALLOWED_HOSTS = ["*"]
SECRET_KEY = "a site of the tests"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    *(["django.contrib.messages", "django.contrib.admin"] if os.environ.get("SHARDS_ADMIN") else []),
    "edna",
    "edna.operations",
    "tests.upgrades.club",
    *(["tests.shards.apps.Shards"] if os.environ.get("SHARDS_GATES") else []),
    *filter(None, os.environ.get("SHARDS_APPS", "").split()),
    *(["django.contrib.staticfiles"] if os.environ.get("SHARDS_CUSTODY") else []),
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    *(["django.contrib.messages.middleware.MessageMiddleware"] if os.environ.get("SHARDS_ADMIN") else []),
    "edna.middleware.EdnaMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "tests.shards.urls" if os.environ.get("SHARDS_ADMIN") else "edna.urls"
STATIC_URL = "/static/"
DATABASES = {
    alias: from_url(url, base=SCRATCH) | {"ATOMIC_REQUESTS": False}
    for alias, url in json.loads(os.environ["SHARDS_URLS"]).items()
}
AUTHENTICATION_BACKENDS = [
    "tests.shards.backends.Operators",
    "tests.shards.backends.North",
    "tests.shards.backends.South",
]
DATABASE_ROUTERS = ["tests.shards.router.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MEDIA_ROOT = str(SCRATCH / "media")
USE_TZ = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EDNA = {
    "MAC_KEYS": ["the MAC key of a site of shards"],
    "DATABASES": ["north", "south"],
    "CUSTODY": os.environ.get("SHARDS_CUSTODY", "server"),
    "JOB_BATCH": 5,
    "ARGON2_OPSLIMIT": 1,
    "ARGON2_MEMLIMIT_BYTES": 8192,
}
