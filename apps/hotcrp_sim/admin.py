"""The admin site's pages on accounts and topics, for the staff of the whole site (`AUTH_USER_MODEL`), not for chairs."""

from typing import Any

from django.contrib import admin

from apps.showcase.accounts_admin import AccountAdmin

from .models import ContactInfo, TopicArea


@admin.register(ContactInfo)
class ContactInfoAdmin(AccountAdmin):
    """Accounts; of these only who may log in can be changed. Roles are the chairs' business."""

    fields = ("email", "disabled")
    readonly_fields = ("email",)  # the password opens a person's key only together with it
    list_display = ("email", "roles", "disabled")
    list_filter = ("disabled", "roles")
    search_fields = ("email",)

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).filter(is_guise=False)


@admin.register(TopicArea)
class TopicAreaAdmin(admin.ModelAdmin):
    list_display = ("topic_id", "topic_name")
