"""Django's entry point: discovers the projects' ``disguises`` modules and connects the edges."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class EdnaConfig(AppConfig):
    name = "edna"
    verbose_name = "Disguises"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from edna import checks, receivers

        checks.connect()
        receivers.connect()
        autodiscover_modules("disguises")
