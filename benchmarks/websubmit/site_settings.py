"""The sample site as it is measured over HTTP. ``BENCH_VARIANT=manual`` serves the same pages with hand-written SQL behind them."""

import os

from benchmarks.site_settings import *  # noqa: F403
from benchmarks.site_settings import DATABASES, EDNA, MIDDLEWARE

# As in production: connections stay open, mail goes to somebody else to deliver.
DATABASES["default"]["CONN_MAX_AGE"] = None
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

if os.environ.get("BENCH_VARIANT") == "manual":
    ROOT_URLCONF = "benchmarks.websubmit.manual_site"
    MIDDLEWARE = [name for name in MIDDLEWARE if not name.startswith("edna.")]
EDNA["CUSTODY"] = os.environ.get("BENCH_CUSTODY", "server")
MIDDLEWARE = ["benchmarks.counting.CountStatements", *MIDDLEWARE]
