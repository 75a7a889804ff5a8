"""Django's entry point of the application."""

from django.apps import AppConfig


class WebsubmitConfig(AppConfig):
    name = "apps.websubmit"
    label = "websubmit"
    verbose_name = "WebSubmit"
    default_auto_field = "django.db.models.BigAutoField"
