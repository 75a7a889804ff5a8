"""The site's second version."""

from tests.migrating.settings_before import *  # noqa: F403
from tests.migrating.settings_before import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS[:-1], "tests.migrating.after.apps.AfterConfig"]
VERSION = "after"
