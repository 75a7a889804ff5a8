"""The sample site under load, out of order: in each of its processes, somebody's edit fails once."""

from loadtest.site_settings import *  # noqa: F403

ROOT_URLCONF = "tests.loadtest.broken_site"
EDIT_FAILS_ONCE = True
