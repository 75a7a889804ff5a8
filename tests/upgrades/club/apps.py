from django.apps import AppConfig


class ClubConfig(AppConfig):
    name = "tests.upgrades.club"
    label = "club"
