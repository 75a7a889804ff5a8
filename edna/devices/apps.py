"""Django's entry point."""

from django.apps import AppConfig


class DevicesConfig(AppConfig):
    name = "edna.devices"
    label = "edna_devices"
    verbose_name = "Devices"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from edna import inner_door
        from edna.devices import browsers, groups, passwords
        from edna.devices.upkeep.tables import Tables
        from edna.pages import handed, urls

        inner_door.before_rotation(groups.require_none)
        inner_door.on_slots_gone(groups.forget)
        inner_door.open_otherwise(passwords.opened)
        inner_door.tables_too(Tables())

        # By its name: pages are imported with the addresses.
        urls.beside.setdefault("edna.devices.pages")
        urls.http_beside.setdefault("edna.devices.http.routes")
        handed.brings.setdefault(browsers.brings_one)
        handed.openers.setdefault(browsers.opened)
