"""Mails to members about what is disguised, or is going to be: the receipt, and links to pages. No link carries a secret."""

from __future__ import annotations

import logging
from collections.abc import Callable
from urllib.parse import urljoin

from django.conf import settings
from django.core.mail import EmailMessage, send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

import edna

from .keys import DECAY, DELETION, TOPIC

logger = logging.getLogger(__name__)

SENDER = "Lobsters <lobsters@example.org>"

_LETTERS = {
    DELETION: ("Your account at Lobsters is deleted: how to come back", "lobsters/mail_deleted.txt"),
    DECAY: ("Your account at Lobsters was put away: how to come back", "lobsters/mail_decayed.txt"),
    TOPIC: ("Your name is off a topic at Lobsters: how to put it back", "lobsters/mail_topic.txt"),
}


@sensitive_variables()
def mail_receipt(
    address: str, receipt: edna.Receipt, absolute: Callable[[str], str], *, tag: str = "", username: str = ""
) -> bool:
    """Send the receipt. The disguise is done already, so a mail server that is down must not make it look otherwise: False then."""
    subject, template = _LETTERS[receipt.disguise]
    context = {"receipt": str(receipt), "links": _links(absolute), "tag": tag, "username": username}
    try:
        send_mail(subject, render_to_string(template, context), SENDER, [address])
    except Exception as error:  # whatever it is: what the mail says is done, and its owner is told otherwise
        logger.warning("The receipt of a disguise could not be mailed: %s", type(error).__name__)
        return False
    return True


@sensitive_variables()
def decay_letter(notice: edna.Notice) -> EmailMessage:
    """What a dormant member is told: that their account will be put away, or that it is. No request says where the site is then."""
    subject, template = _LETTERS[DECAY]
    if notice.kind == "warning":
        subject, template = "We put your account at Lobsters away soon", "lobsters/mail_decaying.txt"
    context = {
        "receipt": notice.receipt,
        "links": _links(lambda path: urljoin(settings.SITE_URL, path)),
        "username": notice.principal.username,
        "applies_on": notice.applies_on,
        "days_left": notice.days_left,
    }
    return EmailMessage(subject, render_to_string(template, context), SENDER, [notice.principal.email])


def _links(absolute: Callable[[str], str]) -> dict[str, str]:
    return {name: absolute(reverse(f"lobsters:{name}")) for name in ("login", "return", "finish", "disguised")}
