from django.apps import AppConfig


class AfterConfig(AppConfig):
    name = "tests.migrating.after"
    label = "lobsters"
    default_auto_field = "django.db.models.BigAutoField"
