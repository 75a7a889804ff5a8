"""What the admin pages about people have in common, whichever application they are of."""

from __future__ import annotations

from typing import Any

from django.contrib import admin


class NoHistory(admin.ModelAdmin):
    """Writes no history: a history entry names the row it is about, and would outlive a person's deleted rows."""

    def log_addition(self, *args: Any) -> None:
        pass

    def log_change(self, *args: Any) -> None:
        pass

    def log_deletions(self, *args: Any) -> None:
        pass


class AccountAdmin(NoHistory):
    """Accounts that are made by registering, which makes a key, and that leave by a disguise, so that they can return."""

    def has_add_permission(self, request: Any) -> bool:
        return False  # only registering makes a key and shows its recovery code

    def has_delete_permission(self, request: Any, obj: Any = None) -> bool:
        return False  # deleting here would bypass the disguise: nobody could return
