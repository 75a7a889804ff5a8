"""No table: the entry of the admin site's index that leads to the operators' page, and the permission to see it."""

from __future__ import annotations

from django.db import models


class PolicyOverview(models.Model):
    class Meta:
        managed = False
        default_permissions = ()
        permissions = (("view_policies", "Can see policies and what this process is attested as"),)
        verbose_name = "policy"
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return "policies"
