from django.apps import AppConfig


class BeforeConfig(AppConfig):
    name = "tests.migrating.before"
    label = "lobsters"
    default_auto_field = "django.db.models.BigAutoField"
