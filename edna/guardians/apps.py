"""Django's entry point. No tables: an envelope is a file, and a guardian has a store of its own."""

from django.apps import AppConfig


class GuardiansConfig(AppConfig):
    name = "edna.guardians"
    label = "edna_guardians"
    verbose_name = "Guardians"
