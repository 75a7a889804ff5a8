"""Django's entry point of the application."""

from django.apps import AppConfig


class ShowcaseConfig(AppConfig):
    name = "apps.showcase"
    label = "showcase"
    verbose_name = "Sample applications of edna"
