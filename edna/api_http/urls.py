"""The routes of the first version."""

from django.urls import path

from edna.api_http import keys

urlpatterns = [
    path("keys/challenge", keys.challenge, name="keys-challenge"),
    path("keys/session", keys.session, name="keys-session"),
]
