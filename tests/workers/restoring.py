"""A site's own task: it brings somebody's account back, with a key and a receipt that lie where the site keeps them.

What a worker refuses for its policy, it sends to those of the queue ``restorers``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from celery import shared_task

import edna
from edna import api
from edna.errors import PolicyError
from edna.policies import worker

worker.PAUSE_SECONDS = 0.2  # type: ignore[misc]


@shared_task(name="tests.restore", bind=True, max_retries=None)
def restore(self: Any, number: int) -> None:
    key, receipt = Path(os.environ["EDNA_TEST_KEYS"], str(number)).read_text().split()
    try:
        with edna.unlock(secret_key=api.SecretKey.parse(key)) as unlocked:
            edna.reveal(receipt, unlocked)
    except PolicyError as error:
        raise self.retry(exc=error, countdown=0.3, queue="restorers") from None
