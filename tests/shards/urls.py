"""The operators' pages, and people's."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("privacy/", include("edna.urls"))]
