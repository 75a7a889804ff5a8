"""Settings of the sample site, safe as they stand: debugging is off, every secret comes from the environment or from a file
under var/ that is made on first use and readable by its owner only.

Environment: EDNA_DATABASE_URL, EDNA_DEBUG, EDNA_ALLOWED_HOSTS, EDNA_HTTPS, EDNA_SITE_URL, EDNA_SECRET_KEY, EDNA_MAC_KEYS,
EDNA_METRICS_TOKEN, EDNA_CUSTODY, EDNA_REQUEST_RATE, EDNA_CACHE_URL, EDNA_VAR, EDNA_GUARDIANS.
"""

import os
import secrets
from contextlib import suppress
from logging import LogRecord
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import cache
from config.database import from_url

BASE_DIR = Path(__file__).resolve().parent.parent
VAR = Path(os.environ.get("EDNA_VAR", BASE_DIR / "var")).absolute()
VAR.mkdir(mode=0o700, parents=True, exist_ok=True)


def _flag(name: str) -> bool:
    return os.environ.get(name, "").lower() in {"1", "on", "true", "yes"}


def _list(name: str) -> list[str]:
    return [item.strip() for item in os.environ.get(name, "").split(",") if item.strip()]


def _number(name: str) -> float | None:
    text = os.environ.get(name, "").strip()
    try:
        return float(text) if text else None
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number.") from None


def _generated(name: str) -> str:
    """A secret of this checkout. A real site sets the environment variable instead, and keeps a copy elsewhere: without the
    MAC key, no disguised data can be revealed again."""
    path = VAR / name
    if not path.exists():
        own = path.with_name(f"{name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
        # Of two processes that start at once, one gives its file the name, whole, and the other reads that one.
        with suppress(FileExistsError):
            path.hardlink_to(own)
        own.unlink()
    return path.read_text().strip()


DEBUG = _flag("EDNA_DEBUG")
SECRET_KEY = os.environ.get("EDNA_SECRET_KEY") or _generated("secret_key")
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *_list("EDNA_ALLOWED_HOSTS")]

INSTALLED_APPS = [
    "apps.showcase.admin_site.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "edna",
    "edna.operations",
    "edna.guardians",
    "edna.policies",
    "edna.devices",
    "edna.audiences",
    "apps.showcase",
    "apps.websubmit",
    "apps.lobsters_sim",
    "apps.hotcrp_sim",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "apps.showcase.middleware.utf8_only",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "apps.showcase.middleware.AuthenticationMiddleware",
    "apps.showcase.middleware.kept_by_no_browser",
    "edna.middleware.EdnaMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.showcase.views.application",
            ],
        },
    },
]

DATABASES = {"default": from_url(os.environ.get("EDNA_DATABASE_URL") or f"sqlite:///{VAR}/site.sqlite3", base=BASE_DIR)}
# In the memory of each process, unless EDNA_CACHE_URL names one for all of them.
CACHES = {"default": cache.from_url(os.environ.get("EDNA_CACHE_URL") or "memory:")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "websubmit.User"  # who may log in to the admin site; the other applications have people of their own
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "apps.lobsters_sim.auth.LobstersBackend",
    "apps.hotcrp_sim.auth.HotcrpBackend",
]
LOGIN_URL = "websubmit:login"
LOGIN_REDIRECT_URL = "websubmit:lectures"
LOGOUT_REDIRECT_URL = "websubmit:home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

BROKER_URL = os.environ.get("EDNA_BROKER_URL", "")

EDNA: dict[str, Any] = {
    # Each application has people of its own; an account of one is nothing in the others.
    "PRINCIPAL_MODELS": ["websubmit.User", "lobsters_sim.User", "hotcrp_sim.ContactInfo"],
    # Who runs a site is not disguised with everybody; where a model has no column is_staff, this says who they are.
    "STAFF": {
        "websubmit.User": {"is_admin": True},
        "lobsters_sim.User": {"is_moderator": True},
        "hotcrp_sim.ContactInfo": {"roles__gte": 2},
    },
    # The first key signs, all of them verify: to rotate, put the new key in front.
    "MAC_KEYS": _list("EDNA_MAC_KEYS") or [_generated("mac_key")],
    # With a broker, Celery's workers do the jobs; without, the process that starts one does it (docs/celery.md).
    "JOB_RUNNER": "celery" if BROKER_URL else "eager",
    # "browser" or "both": keys stay with their owners (docs/howto-pages.md).
    "CUSTODY": os.environ.get("EDNA_CUSTODY") or "server",
    # How many requests a second may ask edna for work, over all processes that share the cache (docs/rate-limit.md).
    "REQUEST_RATE_PER_SECOND": _number("EDNA_REQUEST_RATE"),
    # With a token, metrics are counted, and Prometheus gets them at /edna/metrics (docs/operations.md).
    "METRICS_TOKEN": os.environ.get("EDNA_METRICS_TOKEN") or None,
}

# `make serve GUARDIANS=1` makes five of them, on this machine (docs/guardians.md).
GUARDIANS_FOLDER = VAR / "guardians"
if (GUARDIANS_FOLDER / "roster.json").exists() and _flag("EDNA_GUARDIANS"):
    EDNA["GUARDIANS"] = {
        "ROSTER": GUARDIANS_FOLDER / "roster.json",
        "SITE_KEY": GUARDIANS_FOLDER / "site.key",
        "NAMES": ["The library", "The students' union", "The bank", "Your aunt", "The notary"],
    }

if BROKER_URL:
    from edna.tasks import BEAT_SCHEDULE

    CELERY_BROKER_URL = BROKER_URL
    CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
    CELERY_TASK_SERIALIZER, CELERY_ACCEPT_CONTENT = "json", ["json"]
    CELERY_TASK_IGNORE_RESULT = True
    CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # a message that a busy worker has put aside is one that no idle worker takes
    CELERY_BEAT_SCHEDULE = dict(BEAT_SCHEDULE)

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True  # static files are served without a build step, DEBUG or not

EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
EMAIL_FILE_PATH = VAR / "mail"
# Where links begin in mails that no request asks for.
SITE_URL = os.environ.get("EDNA_SITE_URL", "http://localhost:8000")
DEFAULT_FROM_EMAIL = "Sample applications of edna <edna@example.org>"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
# Behind TLS set EDNA_HTTPS=1; without it `make serve` could not keep a session on plain http://localhost.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _flag("EDNA_HTTPS")
SECURE_HSTS_SECONDS = 31_536_000 if _flag("EDNA_HTTPS") else 0


def _without_traceback_of_refusals(record: LogRecord) -> bool:
    """Django logs what a view refuses (403, 404, 400) with the traceback of how it did. The line says it all."""
    if getattr(record, "status_code", 500) < 500:
        record.exc_info = record.exc_text = None
    return True


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"refusals": {"()": "django.utils.log.CallbackFilter", "callback": _without_traceback_of_refusals}},
    "handlers": {"console": {"class": "logging.StreamHandler", "filters": ["refusals"]}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    # Django's own default for DEBUG=False is mail to the administrators, of whom the sample site has none.
    "loggers": {"django": {"handlers": ["console"], "level": "INFO", "propagate": False}},
}
