"""What the templates of this site need beside Django's own tags."""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import urlsplit

from django import template
from django.template import Context
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..models import Message, User
from ..prose import render

register = template.Library()

_UNITS = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


@register.filter
def prose(text: str) -> SafeString:
    """What somebody wrote: rendered here, and not read from the column that holds it rendered, so that no stored HTML is trusted."""
    return render(text)


@register.simple_tag
def author(user: User | None) -> SafeString:
    """Who wrote something: a link to their page, or nobody, for the placeholder who owns what is disguised."""
    if user is None or not user.is_active:
        return format_html('<span class="{}">[anonymous]</span>', "author nobody")
    return format_html(
        '<a class="author" href="{}">{}</a>', reverse("lobsters:profile", args=[user.username]), user.username
    )


@register.filter
def ago(moment: datetime.datetime) -> SafeString:
    """``<time>3 hours ago</time>``, with the exact time for whoever points at it."""
    seconds = int((timezone.now() - moment).total_seconds())
    words = "just now"
    for length, unit in _UNITS:
        if seconds >= length:
            number = seconds // length
            words = f"{number} {unit}{'s' if number > 1 else ''} ago"
            break
    exact = timezone.localtime(moment).strftime("%Y-%m-%d %H:%M")
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, words)


@register.filter
def address(url: str) -> str:
    """A story's link if it is one; the text in place of a deleted one is none."""
    return url if url.startswith(("http://", "https://")) else ""


@register.filter
def domain(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


@register.simple_tag(takes_context=True)
def unread_messages(context: Context) -> int:
    """How many messages wait for whoever looks at the page. One statement, in the base template of all pages."""
    user: Any = context["user"]
    if not isinstance(user, User) and not getattr(user, "is_authenticated", False):
        return 0
    return Message.objects.filter(recipient_user=user.pk, has_been_read=False, deleted_by_recipient=False).count()
