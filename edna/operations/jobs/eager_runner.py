"""Jobs without workers: a thread of the process that starts a job works on it. For demonstrations; with `EDNA["JOB_RUNNER"] = "eager"`.

The thread has a database connection of its own, and ends with the process: what is left then waits for ``manage.py edna_run``, or
for somebody to resume the job. Does nothing under another setting, so that it can be connected always.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final

from django.db import connections

from edna import conf, signals
from edna.operations import jobs

logger = logging.getLogger("edna")

_THREAD_NAME: Final = "edna-job"


def connect() -> None:
    signals.job_ready.connect(_begin, dispatch_uid="edna.operations.jobs.eager_runner")


def wait(*, seconds: float = 60.0) -> bool:
    """Until no thread of this process works on a job any more: for tests. False if some still do after so many seconds."""
    until = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name == _THREAD_NAME:
            thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.name == _THREAD_NAME for thread in threading.enumerate())


def _begin(*, job: int, **_: Any) -> None:
    if conf.job_runner() == "eager":
        threading.Thread(target=_work, args=(job,), name=_THREAD_NAME, daemon=True).start()


def _work(job: int) -> None:
    try:
        jobs.run(job)
    except Exception as error:
        # By its class: its words may quote what was to be disguised.
        logger.error("Job %d stopped: %s.", job, type(error).__name__)
    finally:
        connections.close_all()
