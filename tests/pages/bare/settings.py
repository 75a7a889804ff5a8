"""A site as `startproject` makes it, with Django's own user model, and `edna` without the operators' part."""

import os
import tempfile
from pathlib import Path

SCRATCH = Path(os.environ.get("EDNA_TEST_SCRATCH") or tempfile.mkdtemp(prefix="edna-test-"))
BASE_DIR = Path(__file__).resolve().parents[3]
SECRET_KEY = "a bare site of the tests"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "edna",
    "tests.pages.bare.club",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "edna.middleware.EdnaMiddleware",
    "tests.pages.bare.policy.strict",
]
ROOT_URLCONF = "tests.pages.bare.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
            ],
        },
    },
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": SCRATCH / "bare.sqlite3",
        # Two tabs write at once: whoever waits does so for longer than the five seconds of Python, which a busy machine may take.
        "OPTIONS": {"init_command": "PRAGMA secure_delete=ON", "transaction_mode": "IMMEDIATE", "timeout": 60},
        "TEST": {"NAME": str(SCRATCH / "bare.test.sqlite3")},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "static/"
LOGIN_URL = "login"
USE_TZ = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
EDNA = {
    "MAC_KEYS": ["the MAC key of a bare site of the tests"],
    "ARGON2_OPSLIMIT": 1,
    "ARGON2_MEMLIMIT_BYTES": 8192,
}
