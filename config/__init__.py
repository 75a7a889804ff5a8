"""Settings, URLs and entry points of the sample site; no part of the library."""

import os

if os.environ.get("EDNA_BROKER_URL"):
    # So that web processes, too, send to that broker. The demo has neither a broker nor Celery installed.
    from config.celery import app as celery_app

    __all__ = ["celery_app"]
