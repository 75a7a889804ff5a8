from django.apps import AppConfig


class ChecksAppConfig(AppConfig):
    name = "tests.unit.checks_app"
    label = "checks_app"
    default_auto_field = "django.db.models.BigAutoField"
