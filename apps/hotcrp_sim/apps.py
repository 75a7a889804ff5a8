"""Django's entry point of the application."""

from django.apps import AppConfig


class HotcrpSimConfig(AppConfig):
    name = "apps.hotcrp_sim"
    label = "hotcrp_sim"
    verbose_name = "HotCRP"
    default_auto_field = "django.db.models.AutoField"
