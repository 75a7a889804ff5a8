"""Log-ins of each shard: a session keeps the backend beside the primary key, and so tells where its person is (docs/howto-shards.md)."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User


class OfShard(ModelBackend):
    shard: ClassVar[str]

    def get_user(self, user_id: Any) -> User | None:
        return User.objects.using(self.shard).filter(pk=user_id, is_active=True).first()

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **_: Any) -> User | None:
        user = User.objects.using(self.shard).filter(username=username, is_active=True).first()
        return user if user is not None and user.check_password(password) else None


class North(OfShard):
    shard = "north"


class South(OfShard):
    shard = "south"
