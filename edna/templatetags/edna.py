"""``{% load edna %}{% edna_account %}``: the account fragment, "Your data", for a page of a site's own.

Costs one statement for who is logged in, and none for others. Knows addresses and whether somebody has a key.
"""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html

from edna import api, conf
from edna.visitors import is_principal

register = template.Library()


@register.inclusion_tag("edna/account.html", takes_context=True)
def edna_account(context: dict[str, Any]) -> dict[str, Any]:
    """What who is logged in can do about their data, with links to the pages."""
    user: Any = getattr(context.get("request"), "user", None) or context.get("user")
    known = user is not None and user.is_authenticated and is_principal(user)
    return {"is_known": known, "has_key": known and api.is_registered(user), "custody": conf.custody()}


@register.simple_tag(takes_context=True)
def edna_nonce(context: Any) -> str:
    """The attribute by which a Content-Security-Policy with nonces lets a style or a script through: Django's (6.0), or django-csp's."""
    request = getattr(context, "request", None)
    # Django's is made when it is first printed, and false until then.
    found = [getattr(request, name) for name in ("csp_nonce", "_csp_nonce") if hasattr(request, name)]
    return format_html(' nonce="{}"', str(found[0])) if found else ""
