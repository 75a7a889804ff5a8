"""The admin site's pages on tags and accounts, for the staff of the whole site (`AUTH_USER_MODEL`), not for moderators."""

from typing import Any

from django.contrib import admin

from apps.showcase.accounts_admin import AccountAdmin

from .models import Tag, User


@admin.register(Tag)
class TagAdmin(admin.ModelAdmin):
    list_display = ("tag", "description", "privileged", "is_media", "inactive", "hotness_mod")
    list_filter = ("privileged", "is_media", "inactive")
    search_fields = ("tag", "description")


@admin.register(User)
class UserAdmin(AccountAdmin):
    """Accounts; of these only who is a moderator can be changed."""

    fields = ("username", "is_moderator")
    readonly_fields = ("username",)  # the password opens a member's key only together with it
    list_display = ("username", "karma", "is_moderator", "created_at")
    list_filter = ("is_moderator",)
    search_fields = ("username",)

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).filter(deleted_at=None)
