"""Django's entry point. Envelopes of a site lie in a table of its own; a guardian has its own store."""

from django.apps import AppConfig


class GuardiansConfig(AppConfig):
    name = "edna.guardians"
    label = "edna_guardians"
    verbose_name = "Guardians"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from edna.guardians import checks
        from edna.pages import urls

        checks.connect()

        # By its name: pages are imported with the addresses, and guardians by a site that has some.
        urls.beside.setdefault("edna.guardians.pages")
        urls.http_beside.setdefault("edna.guardians.http")

        from edna import inner_door
        from edna.guardians import enrolments
        from edna.guardians.upkeep.former_keys import Tables

        inner_door.on_slots_gone(enrolments.forget_key)
        inner_door.tables_too(Tables())
