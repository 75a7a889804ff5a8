"""The admin site: one for all applications, and open to the staff of the user model alone.

A site with several principal models has several kinds of ``request.user``. Not each of them has ``is_staff``, and a moderator of one
application is not the administrator of the others.
"""

from __future__ import annotations

from django.contrib import admin
from django.contrib.admin import apps
from django.contrib.auth import get_user_model
from django.http import HttpRequest


class AdminConfig(apps.AdminConfig):
    """What ``INSTALLED_APPS`` names instead of ``django.contrib.admin``."""

    default_site = "apps.showcase.admin_site.StaffSite"


class StaffSite(admin.AdminSite):
    site_header = "Sample applications of edna"
    site_title = "edna"
    index_title = "Data of the sample applications"

    def has_permission(self, request: HttpRequest) -> bool:
        return isinstance(request.user, get_user_model()) and super().has_permission(request)
