"""The sample site as it is under load; its environment says the rest (`loadtest.scenarios.Site`)."""

import os

import config.settings
from config.settings import *  # noqa: F403
from config.settings import DATABASES, EDNA

# As in production: connections stay open, mail goes to somebody else to deliver.
DATABASES["default"]["CONN_MAX_AGE"] = None
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
# Logging in is not what is measured, and each pair of a disguiser logs in: with Django's slow hash, most of what a pair takes would be
# that. The keys' own derivation is edna's, and stays as it is.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if rows := os.environ.get("EDNA_LOAD_CHUNK_ROWS"):
    EDNA["CHUNK_ROWS"] = int(rows)
if rate := os.environ.get("EDNA_LOAD_JOB_RATE"):
    EDNA["JOB_RATE_PER_SECOND"] = float(rate)
# When schedules run is part of what is measured: somebody starts them then.
CELERY_BEAT_SCHEDULE = {
    name: entry
    for name, entry in getattr(config.settings, "CELERY_BEAT_SCHEDULE", {}).items()
    if name != "edna.run_schedules"
}
