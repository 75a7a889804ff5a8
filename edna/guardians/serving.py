"""How a guardian is served: its policy by name, how it tells people, its socket; until it is asked to stop.

Keeps: asked to stop, it finishes what it is answering. Does not know: what a guardian answers.
"""

from __future__ import annotations

import signal
import smtplib
import ssl
import sys
import threading
import time
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.policies import CounterCode, MailedCode, Policy, Tell, Waiting
from edna.custody.guardians.process.requests import Limits
from edna.custody.guardians.process.server import Server
from edna.custody.guardians.process.store import Store
from edna.custody.guardians.roster import Identity, Roster
from edna.errors import ConfigurationError, TicketRefused

HOUR_SECONDS = 3600


def now() -> int:
    return int(time.time())


def tell_by_mail(*, host: str, port: int, sender: str, site: str = "") -> Tell:
    """Mails through that server. Whoever cannot be told is not helped, nor is anybody else in their name."""
    # A subject is one line.
    subject = " ".join(f"Somebody asks for help to your key{f' at {site}' if site else ''}".split())

    def tell(contact: str, text: str) -> None:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = sender, contact, subject
        message.set_content(text)
        try:
            with smtplib.SMTP(host, port, timeout=10) as server:
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            sys.stderr.write(f"A mail could not be sent ({type(error).__name__}).\n")
            raise TicketRefused("This guardian could not tell the owner; try again later.") from error

    return tell


def policy_of(text: str, tell: Tell) -> Policy:
    """``waiting:48`` (hours), ``mail`` or ``counter``.

    Raises: ConfigurationError if it is none of these.
    """
    name, _, hours = text.partition(":")
    if name == "waiting" and hours.isascii() and hours.isdigit():
        return Waiting(tell, wait_seconds=int(hours) * HOUR_SECONDS)
    if text == "mail":
        return MailedCode(tell)
    if text == "counter":
        return CounterCode(tell)
    raise ConfigurationError(f"A guardian's policy is waiting:HOURS, mail or counter, and not {text}.")


def guardian_of(
    folder: Path, *, identity: Identity, roster: Roster, policy: Policy, limits: Limits | None = None
) -> Guardian:
    """The guardian whose store is in that folder."""
    store = Store(folder / "guardian.sqlite3")
    return Guardian(identity=identity, roster=roster, store=store, policy=policy, clock=now, limits=limits)


def tls_of(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """
    Raises: ConfigurationError if the files are no certificate and its key.
    """
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"{certificate} is no certificate with its key: {type(error).__name__}.") from error
    return context


def serve(
    guardian: Guardian, address: tuple[str, int], *, tls: ssl.SSLContext | None, ready: Callable[[int], None]
) -> None:
    """Answer until SIGTERM or SIGINT. ``ready`` is told the port.

    Raises: ConfigurationError if it would listen on the network without TLS, or cannot listen there.
    """
    try:
        server = Server(address, guardian, clock=now, tls=tls)
    except OSError as error:
        raise ConfigurationError(f"Nothing can listen on {address[0]} port {address[1]}: {error.strerror}.") from error
    for number in (signal.SIGTERM, signal.SIGINT):
        # `shutdown` waits for the loop that this very thread runs.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    ready(int(server.server_address[1]))
    with server:
        server.serve_forever(poll_interval=0.1)
