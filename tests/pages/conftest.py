"""The tests in `bare` run on a site of their own, with Django's own user model: `test_bare` starts them."""

from __future__ import annotations

from django.conf import settings

if settings.AUTH_USER_MODEL != "auth.User":
    collect_ignore = ["bare"]
