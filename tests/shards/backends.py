"""Log-ins of each database: a session keeps the backend beside the primary key, and so tells where its person is (docs/howto-shards.md)."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import Permission, User


class Operators(ModelBackend):
    database: ClassVar[str] = "default"

    def get_user(self, user_id: Any) -> User | None:
        user = User.objects.using(self.database).filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **_: Any) -> User | None:
        if username is None or password is None:
            return None
        user = User.objects.using(self.database).filter(username=username).first()
        if user is None:
            User().set_password(password)  # takes as long as for somebody who is there
            return None
        return user if user.check_password(password) and self.user_can_authenticate(user) else None

    def _get_group_permissions(self, user_obj: User) -> Any:
        # Of every user, because all backends are asked about each: Django looks in `default`, where the same primary key is somebody else.
        return Permission.objects.using(user_obj._state.db).filter(group__in=user_obj.groups.all())

    aauthenticate, aget_user = BaseBackend.aauthenticate, BaseBackend.aget_user  # by the functions above


class North(Operators):
    database = "north"


class South(Operators):
    database = "south"
