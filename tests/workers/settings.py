"""The sample site as the workers of the tests run it: impatient, so that what was lost is missed within seconds."""

import json
import os

import edna.tasks
from config.settings_test import *  # noqa: F403
from config.settings_test import EDNA

edna.tasks.SLICE_SECONDS = 2.0  # type: ignore[misc]
TICK_SECONDS = 1.0
#: Nothing else: what is done at a certain hour would be done in some runs of the tests.
CELERY_BEAT_SCHEDULE = {
    "edna.resume_jobs": {
        **edna.tasks.BEAT_SCHEDULE["edna.resume_jobs"],
        "schedule": TICK_SECONDS,
        "options": {"expires": TICK_SECONDS},
    }
}
EDNA["JOB_BATCH"] = int(os.environ["EDNA_TEST_JOB_BATCH"])
EDNA["JOB_SILENT_SECONDS"] = 8  # a runner that lost the database leaves its row behind, and its process lives on
#: As projects have it for tasks of their own: shorter than a turn at a job.
CELERY_TASK_SOFT_TIME_LIMIT = 1

if "EDNA_TEST_POLICIES" in os.environ:
    EDNA |= json.loads(os.environ["EDNA_TEST_POLICIES"])
    LOBSTERS_DECAY_POLICY = "restore"
    CELERY_IMPORTS = ("tests.workers.restoring",)
