"""Who may do what: a permission for each page and action, and one for each disguise.

`edna_operations.apply_disguise` is for all disguises; a group that may apply only some of them gets those disguises' own permissions, which
appear among the others in Django's pages on users and groups after `migrate`. To apply them for good takes `disguise_for_good` besides.
Permissions of disguises whose code is gone stay; they allow nothing. Those that Django once made for tables without a page (`add_bag`
and its like) are taken back: nothing asks for them.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from django.apps import apps
from django.db import router
from django.db.models.signals import post_migrate
from django.http import HttpRequest

from edna import conf, registry
from edna.operations.models import Job

VIEW_JOBS: Final = "edna_operations.view_job"
APPLY: Final = "edna_operations.apply_disguise"
FOR_GOOD: Final = "edna_operations.disguise_for_good"
CONTROL: Final = "edna_operations.control_job"
VIEW_HEALTH: Final = "edna_operations.view_health"
VIEW_TRAIL: Final = "edna_operations.view_auditentry"

_VERBS: Final = ("add", "change", "delete", "view")
_LONGEST_CODENAME: Final = 100
_LONGEST_NAME: Final = 255


def codename(disguise: str) -> str:
    """What the permission to apply this disguise, and no other, is called: without a dot, at which others cut permissions in two."""
    whole = f"apply:{disguise.replace('.', ':')}"
    if len(whole) <= _LONGEST_CODENAME:
        return whole
    digest = hashlib.blake2b(disguise.encode(), digest_size=8).hexdigest()
    return f"{whole[: _LONGEST_CODENAME - 17]}~{digest}"


def may(request: HttpRequest, permission: str) -> bool:
    user: Any = request.user
    return bool(user.is_active and user.has_perm(permission))


def operator_of(request: HttpRequest) -> str:
    """Who this is, for jobs and the audit trail."""
    return str(request.user.get_username())


def may_apply(request: HttpRequest, disguise: str) -> bool:
    return may(request, APPLY) or may(request, f"edna_operations.{codename(disguise)}")


def may_for_good(request: HttpRequest) -> bool:
    """Whether they may keep no way back, of what they may apply."""
    return may(request, FOR_GOOD)


def applicable(request: HttpRequest) -> list[str]:
    """The names of the disguises that this operator may apply, and so see."""
    return [name for name in registry.disguises() if may_apply(request, name)]


def connect() -> None:
    """Have `migrate` make the permissions of single disguises, and drop those that mean nothing. Calling it again changes nothing."""
    post_migrate.connect(
        _make, sender=apps.get_app_config("edna_operations"), dispatch_uid="edna.operations.admin.permissions"
    )


def _make(*, using: str, apps: Any = apps, **_: Any) -> None:
    try:
        permissions, content_types = apps.get_model("auth", "Permission"), apps.get_model("contenttypes", "ContentType")
        apps.get_model("edna_operations", "Job")
    except LookupError:
        return  # in the middle of the migrations, or without them
    if not router.allow_migrate_model(using, permissions):
        return
    _drop_meaningless(permissions, content_types, using=using)
    content_type = content_types.objects.db_manager(using).get_for_model(Job)
    wanted = {codename(name): f"Can apply {name}"[:_LONGEST_NAME] for name in registry.disguises()}
    known = set(
        permissions.objects.using(using)
        .filter(content_type=content_type, codename__in=list(wanted))
        .values_list("codename", flat=True)
    )
    permissions.objects.using(using).bulk_create(
        (
            permissions(codename=code, name=name, content_type=content_type)
            for code, name in wanted.items()
            if code not in known
        ),
        ignore_conflicts=True,  # two that migrate at once
    )


def _drop_meaningless(permissions: Any, content_types: Any, *, using: str) -> None:
    """What Django made of itself for our tables before they said that they have none; a site's own permissions on them stay."""
    ours = [model for model in conf.own_models() if not model._meta.default_permissions]
    wanted = {(model._meta.app_label, f"{verb}_{model._meta.model_name}") for verb in _VERBS for model in ours}
    found = permissions.objects.using(using).filter(
        content_type__in=content_types.objects.using(using).filter(
            app_label__in={label for label, _ in wanted}, model__in=[model._meta.model_name for model in ours]
        ),
        codename__in={code for _, code in wanted},
    )
    keys = list(found.values_list("pk", flat=True))
    if keys:
        permissions.objects.using(using).filter(pk__in=keys).delete()
