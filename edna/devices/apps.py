"""Django's entry point."""

from django.apps import AppConfig


class DevicesConfig(AppConfig):
    name = "edna.devices"
    label = "edna_devices"
    verbose_name = "Devices"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from edna import inner_door
        from edna.devices import groups, passwords

        inner_door.before_rotation(groups.require_none)
        inner_door.on_slots_gone(groups.forget)
        inner_door.open_otherwise(passwords.opened)
