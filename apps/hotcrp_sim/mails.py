"""The mails of the conference. Secrets in them: the link of a new account, and the code for another address, which
prove that somebody reads the mails to it."""

from __future__ import annotations

import base64
import datetime
import logging
from collections.abc import Iterable

from django.core.mail import EmailMessage, get_connection, send_mail
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.debug import sensitive_variables

from . import cases

logger = logging.getLogger(__name__)

_ADDRESS = "apps.hotcrp_sim.mails.address"


def _links(request: HttpRequest) -> dict[str, str]:
    pages = {
        "disguised": reverse("hotcrp:disguised"),
        "return": reverse("hotcrp-privacy:return"),
        "finish": reverse("hotcrp-privacy:apply", args=[cases.removing()]),
    }
    return {f"{name}_link": request.build_absolute_uri(path) for name, path in pages.items()}


@sensitive_variables()
def _send(address: str, subject: str, template: str, context: dict[str, object]) -> bool:
    """Whether the mail was taken: a mail server that is down must not make a page fail whose work is done."""
    try:
        send_mail(subject, render_to_string(f"hotcrp_sim/{template}", context), None, [address])
    except Exception as error:  # whatever it is: its owner must see what the page says
        logger.warning("A mail could not be sent: %s", type(error).__name__)
        return False
    return True


@sensitive_variables()
def send_registration(request: HttpRequest, address: str, *, token: str | None) -> bool:
    """The link to a new account; without a token, that there is one already."""
    path = reverse("hotcrp:register-confirm", args=[token]) if token else reverse("hotcrp:login")
    context: dict[str, object] = {"link": request.build_absolute_uri(path), "new": token is not None}
    return _send(address, "Your account for the conference", "register_mail.txt", context)


def address_code(address: str, *, days_ago: int = 0) -> str:
    """What proves that somebody reads the mails to this address: nothing that needs to be kept, and good until tomorrow."""
    day = timezone.now().date() - datetime.timedelta(days=days_ago)
    digest = salted_hmac(_ADDRESS, f"{day}:{address}", algorithm="sha256").digest()
    return base64.b32encode(digest)[:10].decode()


def is_address_code(address: str, given: str) -> bool:
    typed = given.strip().upper()
    return any(constant_time_compare(typed, address_code(address, days_ago=days)) for days in (0, 1))


def send_address_code(address: str) -> bool:
    return _send(
        address, "A code for coming back to the conference", "address_mail.txt", {"code": address_code(address)}
    )


def send_anonymised(request: HttpRequest, addresses: Iterable[tuple[str, bool]]) -> tuple[int, list[str]]:
    """Tell everybody how to take back what is theirs. ``addresses`` come with whether the account is one of the committee, which has lost
    its address. Returns how many mails were taken, and the addresses of the others."""
    links, sent, failed, held = _links(request), 0, [], cases.is_held()
    texts = {
        committee: render_to_string("hotcrp_sim/anonymised_mail.txt", {"committee": committee, "held": held, **links})
        for committee in (True, False)
    }
    connection = get_connection()
    for address, committee in addresses:
        message = EmailMessage("The conference has been anonymised", texts[committee], None, [address])
        message.connection = connection
        try:
            message.send()
            sent += 1
        except Exception as error:  # one that cannot be reached must not keep the others from hearing of it
            logger.warning("A mail could not be sent: %s", type(error).__name__)
            failed.append(address)
    return sent, failed
