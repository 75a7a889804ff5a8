"""Who is where: the site's own answer, by the first letters of a name where a row does not say it itself."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Model


class Router:
    def db_for_read(self, model: type[Model], **hints: Any) -> str | None:
        return self.db_for_write(model, **hints)

    def db_for_write(self, model: type[Model], *, instance: Any = None, **_: Any) -> str | None:
        if model._meta.app_label == "sessions":
            return "default"
        if instance is not None and instance._state.db:
            return str(instance._state.db)
        if isinstance(instance, User):
            return next((each for each in settings.EDNA["DATABASES"] if instance.username.startswith(each)), None)
        return None
