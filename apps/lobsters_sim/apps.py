"""Django's entry point of the application."""

from django.apps import AppConfig


class LobstersConfig(AppConfig):
    name = "apps.lobsters_sim"
    label = "lobsters_sim"
    verbose_name = "Lobsters"
    default_auto_field = "django.db.models.BigAutoField"
