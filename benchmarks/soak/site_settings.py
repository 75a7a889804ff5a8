"""The sample site in a soak: as it is measured over HTTP. Sealed copies expire, and jobs wait for `edna_run`."""

from benchmarks.websubmit.site_settings import *  # noqa: F403
from benchmarks.websubmit.site_settings import EDNA

#: What leaves now is kept to the end of the soak; who left years ago is due.
EDNA |= {"JOB_RUNNER": "command", "RETENTION_DAYS": 60}
