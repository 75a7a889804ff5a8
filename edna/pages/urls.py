"""The addresses of the pages, in the namespace ``edna``. No secret, and nobody's id, is ever part of one."""

from __future__ import annotations

from django.urls import include, path

from edna.pages import home

urlpatterns = [
    path("", home.Home.as_view(), name="home"),
    path("", include("edna.pages.keys.urls")),
]
