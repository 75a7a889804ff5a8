"""Django's entry point of the operator's side: notes what operators do, and lets what works on jobs hear of them."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    name = "edna.operations"
    label = "edna_operations"
    verbose_name = "Disguises"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from edna.operations import audit, books, checks
        from edna.operations.jobs import eager_runner

        audit.connect()
        books.connect()
        checks.connect()
        eager_runner.connect()
