"""Logging in with a user name of Lobsters. Django passes credentials of this name to this backend alone."""

from __future__ import annotations

from django.contrib.auth.backends import BaseBackend
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from .models import User


class LobstersBackend(BaseBackend):
    @sensitive_variables("password")
    def authenticate(self, request: HttpRequest | None, *, lobsters_username: str, password: str) -> User | None:
        user = User.objects.filter(username=lobsters_username, deleted_at=None).first()
        if user is None:
            User().set_password(password)  # as slow as for somebody who is there
            return None
        return user if user.check_password(password) else None

    def get_user(self, user_id: int) -> User | None:
        return User.objects.filter(pk=user_id, deleted_at=None).first()
