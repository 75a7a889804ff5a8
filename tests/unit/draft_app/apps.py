from django.apps import AppConfig


class ChecksAppConfig(AppConfig):
    name = "tests.unit.draft_app"
    label = "draft_app"
    default_auto_field = "django.db.models.BigAutoField"
