"""Django's entry point: has copies kept of what disguises take away that declare an audience, and its tables verified with edna's own."""

from django.apps import AppConfig


class AudiencesConfig(AppConfig):
    name = "edna.audiences"
    label = "edna_audiences"
    verbose_name = "Audiences"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from edna import inner_door
        from edna.audiences.copies import Copies
        from edna.audiences.history import Tables

        inner_door.keep_copies(Copies())
        inner_door.tables_too(Tables())
