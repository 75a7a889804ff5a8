"""Django's entry point."""

from django.apps import AppConfig


class DevicesConfig(AppConfig):
    name = "edna.devices"
    label = "edna_devices"
    verbose_name = "Devices"
    default_auto_field = "django.db.models.BigAutoField"
