"""Mails to members whose account is put away, or is going to be: the receipt, and links to pages. No link carries a secret."""

from __future__ import annotations

from urllib.parse import urljoin

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

import edna

SENDER = "Lobsters <lobsters@example.org>"


@sensitive_variables()
def decay_letter(notice: edna.Notice) -> EmailMessage:
    """What a dormant member is told: that their account will be put away, or that it is. No request says where the site is then."""
    subject, template = "Your account at Lobsters was put away: how to come back", "lobsters/mail_decayed.txt"
    if notice.kind == "warning":
        subject, template = "We put your account at Lobsters away soon", "lobsters/mail_decaying.txt"
    context = {
        "receipt": notice.receipt,
        "links": _links(),
        "username": notice.principal.username,
        "applies_on": notice.applies_on,
        "days_left": notice.days_left,
    }
    return EmailMessage(subject, render_to_string(template, context), SENDER, [notice.principal.email])


def _links() -> dict[str, str]:
    pages = {name: f"lobsters:{name}" for name in ("login", "finish", "disguised")}
    pages["return"] = "lobsters-privacy:return"
    return {name: urljoin(settings.SITE_URL, reverse(page)) for name, page in pages.items()}
