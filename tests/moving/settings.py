"""A site that moves: the process says in which database it lives, and where what it carries along lies."""

import os
from pathlib import Path

from config.database import from_url

SCRATCH = Path(os.environ["MOVING_SCRATCH"])
SECRET_KEY = "a site of the tests"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "edna",
    "edna.operations",
    "tests.moving",
]
DATABASES = {"default": from_url(os.environ["MOVING_DATABASE_URL"], base=SCRATCH)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
MEDIA_ROOT = str(SCRATCH / "media")
USE_TZ = True
EDNA = {"MAC_KEYS": ["the MAC key of a site that moves"], "PRINCIPAL_MODELS": ["moving.Holder"]}
