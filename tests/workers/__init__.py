"""Jobs on real Celery workers, with a real Redis, which are killed; the database server, too."""

import pytest

pytest.register_assert_rewrite("tests.workers.crew", "tests.workers.scene")
