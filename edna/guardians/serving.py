"""How a guardian is served: its policy by name, how it tells people, its socket; until it is asked to stop.

Keeps: asked to stop, it finishes what it is answering. Does not know: what a guardian answers.
"""

from __future__ import annotations

import contextlib
import signal
import smtplib
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.policies import CounterCode, MailedCode, Policy, Standing, Tell, Waiting
from edna.custody.guardians.process.requests import Limits
from edna.custody.guardians.process.server import Server
from edna.custody.guardians.process.store import Store
from edna.custody.guardians.roster import Identity, Member, Roster, from_base64
from edna.custody.sockets.handshake import ServerProfile
from edna.custody.sockets.profiles import ANYBODY, Address, Profile, is_loopback
from edna.errors import ConfigurationError, GuardianRefused, TicketRefused

HOUR_SECONDS = 3600
_ALL_INTERFACES = "0.0.0.0"  # noqa: S104  # through TLS alone


def now() -> int:
    return int(time.time())


def tell_by_mail(*, host: str, port: int, sender: str, site: str = "") -> Tell:
    """Mails through that server. Whoever cannot be told is not helped, nor is anybody else in their name."""
    # A subject is one line.
    subject = " ".join(f"Somebody asks for help to your key{f' at {site}' if site else ''}".split())

    def tell(contact: str, text: str) -> None:
        message = EmailMessage()
        message["From"], message["Subject"] = sender, subject
        with contextlib.suppress(ValueError):
            message["To"] = contact
        # One person: a guardian is nobody's way to write to many.
        if "To" not in message or len(message["To"].addresses) != 1:
            raise TicketRefused("This guardian has no single address at which to tell the owner: they enroll anew.")
        message.set_content(text)
        try:
            with smtplib.SMTP(host, port, timeout=10) as server:
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            sys.stderr.write(f"A mail could not be sent ({type(error).__name__}).\n")
            raise TicketRefused("This guardian could not tell the owner; try again later.") from error

    return tell


def policy_of(text: str, tell: Tell) -> Policy:
    """``waiting:48`` (hours), ``mail``, ``counter`` or ``standing``.

    Raises: ConfigurationError if it is none of these.
    """
    name, _, hours = text.partition(":")
    if name == "waiting" and hours.isascii() and hours.isdigit():
        return Waiting(tell, wait_seconds=int(hours) * HOUR_SECONDS)
    if text == "mail":
        return MailedCode(tell)
    if text == "counter":
        return CounterCode(tell)
    if text == "standing":
        return Standing(tell)
    raise ConfigurationError(f"A guardian's policy is waiting:HOURS, mail, counter or standing, and not {text}.")


def guardian_of(
    folder: Path, *, identity: Identity, roster: Roster, policy: Policy, limits: Limits | None = None
) -> Guardian:
    """The guardian whose store is in that folder."""
    store = Store(folder / "guardian.sqlite3")
    return Guardian(identity=identity, roster=roster, store=store, policy=policy, clock=now, limits=limits)


def listening_at(member: Member, listen: tuple[str, int] | None, *, is_tls: bool) -> tuple[str, int]:
    """Where a guardian listens: at its address in the roster, where others look for it. With TLS or a profile, on all interfaces.

    Raises: ConfigurationError if nobody would find it at what `listen` says instead.
    """
    address, number = urlsplit(member.address), member.number
    host, port = address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
    if is_tls and address.scheme != "https":
        raise ConfigurationError(
            f"The roster says {member.address} for guardian {number}: without TLS. Leave the certificate out, or have the site sign "
            "another roster."
        )
    if listen is None:
        if is_tls or Profile.of_scheme(address.scheme) is not None:
            return host if is_loopback(host) else _ALL_INTERFACES, port
        if address.scheme == "https":
            raise ConfigurationError(
                f"The roster says {member.address} for guardian {number}: --certificate and --certificate-key are needed. If a proxy "
                "does its TLS, say by --listen where the proxy finds it."
            )
        return host, port
    # Before TLS of its own, or a proxy's, an address may lead elsewhere; the loopback's leads nowhere else.
    if address.scheme == "http" and (listen[1] != port or not is_loopback(listen[0])):
        raise ConfigurationError(
            f"The roster says {member.address} for guardian {number}, and --listen says {listen[0]} port {listen[1]}: nobody would "
            "find it there. Leave --listen out, or have the site sign another roster."
        )
    return listen


def profile_of(name: str | None, peers: Sequence[str], *, guardian: Guardian) -> ServerProfile | None:
    """How it is spoken to, if not by TLS: as the roster says. It answers the site, and ``peers``: public keys, or ``any``.

    Raises: ConfigurationError if ``name`` is another profile than the roster's, or a peer is no key.
    """
    member = guardian.roster.member(guardian.number)
    profile = Address.parse(member.address, whose="guardian").profile
    if name is not None and name != (profile.scheme if profile else "reg"):
        raise ConfigurationError(
            f"The roster says {member.address} for guardian {guardian.number}, which is not the profile {name}: nobody would find it. "
            "Leave --profile out, or have the site sign another roster."
        )
    if profile is None:
        return None
    key = guardian.identity.signing_key
    if ANYBODY in peers:
        return ServerProfile(profile, key, None)
    try:
        answered = {guardian.roster.site_key, *(from_base64(each, size=32) for each in peers)}
    except GuardianRefused as error:
        raise ConfigurationError(f"--peer is a public key, 32 bytes in base 64, or {ANYBODY}: {error}") from error
    return ServerProfile(profile, key, answered.__contains__)


def tls_of(certificate: str | None, key: str | None, *, member: Member) -> ssl.SSLContext | None:
    """
    Raises: ConfigurationError if the files are no certificate and its key, or the roster names another certificate.
    """
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, key)
        text = Path(certificate).read_text(encoding="ascii")
    except (OSError, ssl.SSLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{certificate} is no certificate with its key: {type(error).__name__}.") from error
    if member.certificate and not set(_certificates(member.certificate)) & set(_certificates(text)):
        raise ConfigurationError(
            f"The roster names another certificate for guardian {member.number} than {certificate}: nobody would trust it. Have the "
            "site sign a roster with this one."
        )
    return context


def _certificates(text: str) -> list[str]:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    return ["".join(each.partition(end)[0].split()) for each in text.split(begin)[1:]]


def serve(
    guardian: Guardian,
    address: tuple[str, int],
    *,
    tls: ssl.SSLContext | None,
    profile: ServerProfile | None,
    ready: Callable[[int], None],
) -> None:
    """Answer until SIGTERM or SIGINT. ``ready`` is told the port.

    Raises: ConfigurationError if it would listen on the network in clear, or cannot listen there.
    """
    try:
        server = Server(address, guardian, clock=now, tls=tls, profile=profile)
    except OSError as error:
        raise ConfigurationError(f"Nothing can listen on {address[0]} port {address[1]}: {error.strerror}.") from error
    for number in (signal.SIGTERM, signal.SIGINT):
        # `shutdown` waits for the loop that this very thread runs.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    ready(int(server.server_address[1]))
    with server:
        server.serve_forever(poll_interval=0.1)
