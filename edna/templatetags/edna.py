"""``{% load edna %}{% edna_account %}``: the account fragment, "Your data", for a page of a site's own.

Costs two statements for who is logged in, one for who has no key, and none for others. Knows addresses, and which ways to a key there are.
"""

from __future__ import annotations

import copy
from typing import Any

from django import template
from django.template.base import Template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from edna import conf
from edna.pages.keys.modules import addresses_of
from edna.pages.people import People, Ways
from edna.visitors import is_principal

register = template.Library()


@register.simple_tag(takes_context=True)
def edna_account(context: Any, pages: People | str = "") -> SafeString:
    """What who is logged in can do about their data, with links to the pages. Of a site that has several, ``pages`` are those that are
    meant: a `Pages`, or its ``name``."""
    request: Any = getattr(context, "request", None) or context.get("request")
    user: Any = getattr(request, "user", None) or context.get("user")
    meant = pages if isinstance(pages, People) else People(name=pages) if pages else People()
    known = user is not None and user.is_authenticated and is_principal(user) and meant.is_for(user)
    more: dict[str, Any] = {"is_known": known, "custody": conf.custody()}
    if request is not None and pages:
        # What {% url %} asks. The request itself stays that of the site's page.
        request = copy.copy(request)
        request.current_app, request.resolver_match = meant.name, None
    if known:
        ways = Ways(user)
        more |= {
            "has_key": ways.has_key,
            "lacks_code": ways.lacks_code,
            "has_devices": conf.has_devices(),
            "has_guardians": conf.has_guardians() and conf.custody() != "browser",
            "make_key_address": meant.make_key_address(request),
            "next": getattr(request, "path", ""),
        }
    inner = context.new(more)
    inner.request = request
    fragment: Template = context.template.engine.get_template("edna/account.html")
    return fragment.render(inner)


@register.simple_tag(takes_context=True)
def edna_nonce(context: Any) -> str:
    """The attribute by which a Content-Security-Policy with nonces lets a style or a script through: Django's (6.0), or django-csp's."""
    request = getattr(context, "request", None)
    # Django's is made when it is first printed, and false until then.
    found = [getattr(request, name) for name in ("csp_nonce", "_csp_nonce") if hasattr(request, name)]
    return format_html(' nonce="{}"', str(found[0])) if found else ""


@register.simple_tag(takes_context=True)
def edna_modules(context: Any) -> SafeString:
    """Links by which the browser asks at once for all modules that the script of this page leads to."""
    nonce, addresses = edna_nonce(context), addresses_of(context.get("hands", ""))
    return format_html_join("\n", '<link rel="modulepreload" href="{}"{}>', ((each, nonce) for each in addresses))
