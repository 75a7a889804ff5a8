"""A guardian on a socket: JSON by HTTP, through TLS unless it listens on the loopback interface alone.

Keeps: what the site orders is signed with the site's key, for this guardian, this path, this body and these minutes.
Requests are bounded in number, size and time. Nothing of a request is logged. How many people a guardian helps it tells the site alone, and
signs what it tells. Does not know: what guardians do (`guardian`).
"""

from __future__ import annotations

import ipaddress
import json
import ssl
import sys
import traceback
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import nacl.signing

from edna.crypto.keys import fingerprint
from edna.custody.guardians.evaluation import Partial
from edna.custody.guardians.process.connections import Connections
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.store import Enrolment
from edna.custody.guardians.refresh import ROUND_BYTES, Deal, Receiver, Taken, epoch_of, number_of, points_of
from edna.custody.guardians.repair import Mask, Sum
from edna.custody.guardians.roster import Member, check_signature, from_base64, signed, to_base64
from edna.custody.guardians.tickets import TOKEN_BYTES, VETO_BYTES
from edna.errors import ConfigurationError, CustodyError, GuardianRefused, TicketRefused

_ORDER: Final = b"edna guardians order 1\n"
ORDER_HEADER: Final = "X-Edna-Order"
_ORDER_LASTS_SECONDS: Final = 300
_MAX_BYTES: Final = 8 * 1024 * 1024
_MAX_OPEN_BYTES: Final = 4096
_STATUS: Final = b"edna guardians status 1\n"
CHALLENGE_BYTES: Final = 32
_ID_BYTES: Final = 16
_MOST_LETTERS: Final = 500

Said = Mapping[str, Any]


def order(number: int, path: str, body: bytes, *, at: int, key: nacl.signing.SigningKey) -> str:
    """Return the header with which the site orders something of one guardian."""
    return f"{at} {to_base64(signed(_order(number, path, body, at), purpose=_ORDER, key=key))}"


def _order(number: int, path: str, body: bytes, at: int) -> bytes:
    return f"{number} {path} {at} ".encode() + fingerprint(body, purpose=b"edna.guard.ord.1")


def check_order(header: str, number: int, path: str, body: bytes, *, now: int, key: bytes) -> None:
    """
    Raises: GuardianRefused if the site has not ordered this, or some time ago.
    """
    at, _, signature = header.partition(" ")
    if not at.isascii() or not at.isdigit() or len(at) > 12 or abs(now - int(at)) > _ORDER_LASTS_SECONDS:
        raise GuardianRefused("This takes an order of the site, made within the last minutes.")
    message = _order(number, path, body, int(at))
    check_signature(from_base64(signature), message, purpose=_ORDER, key=key, whose="the site")


def checked_status(answer: Mapping[str, Any], *, challenge: bytes, member: Member) -> Mapping[str, Any]:
    """What a guardian says of itself, if it is the one of the roster who answers, now.

    Raises: GuardianRefused if it is somebody else.
    """
    number = member.number
    try:
        text, signature = answer["status"], from_base64(answer["signature"])
        message, whose = challenge + text.encode(), f"guardian {number}"
        check_signature(signature, message, purpose=_STATUS, key=member.verify_key, whose=whose)
        said = json.loads(text)
    except (KeyError, TypeError, AttributeError, ValueError, GuardianRefused) as error:
        raise GuardianRefused(f"Guardian {number}: somebody else answers at {member.address}.") from error
    if not isinstance(said, dict) or said.get("number") != number:
        raise GuardianRefused(f"Guardian {number}: somebody else answers at {member.address}.")
    return said


class Routes:
    """What each path does with a guardian: takes what was said, returns what to answer."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self.open: Mapping[str, Callable[[Said], Said]] = {
            "/ticket": self._ticket,
            "/waits": self._waits,
            "/confirm": self._confirm,
            "/veto": self._veto,
            "/evaluate": self._evaluate,
        }
        self.ordered: Mapping[str, Callable[[Said], Said]] = {
            "/status": self._status,
            "/enrol": self._enrol,
            "/forget": self._forget,
            "/enrolments": self._enrolments,
            "/receive": lambda said: guardian.receive(_binary(said, "round", ROUND_BYTES)).as_dict(),
            "/deal": self._deal,
            "/take": self._take,
            "/taken": self._taken,
            "/commit": self._commit,
            "/drop": self._drop,
            "/mask": self._mask,
            "/help": self._help,
            "/repair": self._repair,
        }

    def _status(self, said: Said) -> Said:
        text = json.dumps(self._guardian.status())
        message = _binary(said, "challenge", CHALLENGE_BYTES) + text.encode()
        signature = signed(message, purpose=_STATUS, key=self._guardian.identity.signing_key)
        return {"status": text, "signature": to_base64(signature)}

    def _ticket(self, said: Said) -> Said:
        self._guardian.open_ticket(_binary(said, "enrolment", _ID_BYTES), _binary(said, "token", TOKEN_BYTES))
        return {}

    def _waits(self, said: Said) -> Said:
        return self._guardian.state(_binary(said, "token", TOKEN_BYTES))

    def _confirm(self, said: Said) -> Said:
        enrolment = _binary(said, "enrolment", _ID_BYTES) if "enrolment" in said else None
        self._guardian.confirm(_binary(said, "token", TOKEN_BYTES), _text(said, "code"), enrolment=enrolment)
        return {}

    def _veto(self, said: Said) -> Said:
        return {"vetoed": self._guardian.veto(_binary(said, "enrolment", _ID_BYTES), _binary(said, "veto", 32))}

    def _evaluate(self, said: Said) -> Said:
        partials = self._guardian.evaluate(_binary(said, "token", TOKEN_BYTES), _binary(said, "point", 32))
        return {"partials": [_told(each) for each in partials]}

    def _enrol(self, said: Said) -> Said:
        enrolment = self._enrolment(said)
        commitments = points_of(_binary(said, "commitments"))
        self._guardian.enrol(enrolment, sealed_share=_binary(said, "share", 80), commitments=commitments)
        return {}

    def _enrolment(self, said: Said) -> Enrolment:
        vetoes = _binary(said, "vetoes", VETO_BYTES * self._guardian.roster.count)
        account = _text(said, "account") if "account" in said else ""
        return Enrolment(_binary(said, "enrolment", _ID_BYTES), _text(said, "contact"), vetoes, account=account)

    def _forget(self, said: Said) -> Said:
        self._guardian.forget(_binary(said, "enrolment", _ID_BYTES))
        return {}

    def _enrolments(self, said: Said) -> Said:
        after = _binary(said, "after")
        page = self._guardian.enrolments(after=after, most=min(_whole(said, "most"), 1000))
        return {"enrolments": [{"enrolment": to_base64(id_), "epoch": epoch} for id_, epoch in page]}

    def _deal(self, said: Said) -> Said:
        enrolments = [from_base64(each, size=_ID_BYTES) for each in _list(said, "enrolments")]
        receivers = [Receiver.of_dict(each) for each in _list(said, "receivers")]
        return {"deals": [each.as_dict() for each in self._guardian.deal(_round(said), enrolments, receivers)]}

    def _take(self, said: Said) -> Said:
        deals = [Deal.of_dict(each) for each in _list(said, "deals")]
        return self._guardian.take(_round(said), deals).as_dict()

    def _taken(self, said: Said) -> Said:
        receipt, undecided = self._guardian.taken(_binary(said, "enrolment", _ID_BYTES))
        return {"taken": receipt and receipt.as_dict(), "undecided": undecided}

    def _commit(self, said: Said) -> Said:
        return {"refreshed": self._guardian.commit([Taken.of_dict(each) for each in _list(said, "receipts")])}

    def _drop(self, said: Said) -> Said:
        self._guardian.drop(_binary(said, "enrolment", _ID_BYTES), epoch=epoch_of(said.get("epoch")))
        return {}

    def _mask(self, said: Said) -> Said:
        mask = self._guardian.mask(
            _round(said),
            _binary(said, "enrolment", _ID_BYTES),
            epoch=epoch_of(said.get("epoch")),
            repaired=number_of(said.get("repaired")),
            helpers=[Receiver.of_dict(each) for each in _list(said, "helpers")],
        )
        return mask.as_dict()

    def _help(self, said: Said) -> Said:
        masks = [Mask.of_dict(each) for each in _list(said, "masks")]
        receiver = Receiver.of_dict(_dict(said, "receiver"))
        helped = self._guardian.help_repair(_round(said), masks, receiver=receiver)
        kept = self._guardian.known(helped.enrolment)
        vetoes = to_base64(kept.vetoes)
        return {"sum": helped.as_dict(), "contact": kept.contact, "vetoes": vetoes, "account": kept.account}

    def _repair(self, said: Said) -> Said:
        masks = [Mask.of_dict(each) for each in _list(said, "masks")]
        sums = [Sum.of_dict(each) for each in _list(said, "sums")]
        kept = self._enrolment(said)
        self._guardian.repair(_round(said), masks, sums, enrolment=kept)
        return {}


def _told(partial: Partial) -> Said:
    return {
        "epoch": partial.place.epoch,
        "point": to_base64(partial.point),
        "public_share": to_base64(partial.public_share),
        "challenge": to_base64(partial.challenge),
        "response": to_base64(partial.response),
        "commitments": to_base64(b"".join(partial.commitments)),
    }


class Server(ThreadingHTTPServer):
    """Serves one guardian until `shutdown`.

    Raises: ConfigurationError if it would listen on the network without TLS.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        guardian: Guardian,
        *,
        clock: Callable[[], int],
        tls: ssl.SSLContext | None = None,
        connections: Connections | None = None,
    ) -> None:
        if tls is None and not is_loopback(address[0]):
            raise ConfigurationError(
                f"A guardian on {address[0]} needs a certificate: only on the loopback interface it may do without."
            )
        self.guardian, self.routes, self.clock = guardian, Routes(guardian), clock
        super().__init__(address, _Handler)
        self.connections = Connections() if connections is None else connections
        if tls is not None:
            # The handshake is made when a thread of its own reads first: one who never finishes it holds up nobody else.
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.connections.take(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        self.connections.leave(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        self.connections.close()
        super().server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hangs up or sends rubbish is not worth a trace."""


class _NoRequest(Exception):
    """Who asks has hung up, or took too long."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "edna-guardian"
    sys_version = ""
    disable_nagle_algorithm = True
    # An answer leaves as a whole.
    wbufsize = -1
    server: Server

    def handle_one_request(self) -> None:
        connections = self.server.connections
        try:
            self.rfile.peek(1)  # type: ignore[attr-defined]  # a buffered reader
            connections.read(self.connection)
            super().handle_one_request()
            connections.rest(self.connection)
        except OSError:
            # It took too long, or had to give way.
            self.close_connection = True

    def do_OPTIONS(self) -> None:
        """What the browser of a person asks before its page may ask: anybody may, for a guardian goes by tokens alone."""
        self._send(204, b"")

    def do_POST(self) -> None:
        try:
            status, answer = 200, self._answer()
        except TicketRefused as error:
            status = 403
            answer = {**_refusal(error), "retry_after_seconds": error.retry_after_seconds}
        except CustodyError as error:
            status, answer = 400, _refusal(error)
        except _NoRequest:
            self.close_connection = True
            return
        except Exception as error:
            # Where, and never about what.
            where = "".join(traceback.format_tb(error.__traceback__))
            sys.stderr.write(f"{self.path.partition('?')[0][:40]!r} failed: {type(error).__name__}\n{where}")
            status, answer = (
                500,
                {"error": {"code": "Exception", "message": "The guardian failed; see what it prints."}},
            )
            self.close_connection = True
        self._send(status, json.dumps(answer).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.server.connections.write(self.connection)
        self.send_response(status)
        self.send_header("Access-Control-Allow-Origin", "*")
        if status == 204:
            self.send_header("Access-Control-Allow-Methods", "POST")
            self.send_header("Access-Control-Allow-Headers", "Content-Type")
            self.send_header("Access-Control-Max-Age", "3600")
        else:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self) -> Said:
        length = self.headers.get("Content-Length", "")
        # What anybody may ask is short; what is long, the site says that it has ordered it.
        most = (
            _MAX_BYTES
            if self.headers.get(ORDER_HEADER) and self.path in self.server.routes.ordered
            else _MAX_OPEN_BYTES
        )
        if not length.isascii() or not length.isdigit() or len(length) > 9 or int(length) > most:
            self.close_connection = True
            raise GuardianRefused("A request says its length, which is bounded.")
        body = self._read(int(length))
        self.server.connections.work(self.connection)
        routes = self.server.routes
        route = routes.open.get(self.path)
        if route is None:
            route = routes.ordered.get(self.path)
            if route is None:
                raise GuardianRefused("Guardians have no such address.")
            guardian = self.server.guardian
            header = self.headers.get(ORDER_HEADER, "")
            check_order(header, guardian.number, self.path, body, now=self.server.clock(), key=guardian.roster.site_key)
        try:
            said = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise GuardianRefused("This is not JSON.") from error
        if not isinstance(said, dict):
            raise GuardianRefused("A request is a JSON object.")
        return route(said)

    def _read(self, length: int) -> bytes:
        try:
            body = self.rfile.read(length)
        except OSError as error:
            raise _NoRequest from error
        if len(body) < length:
            raise _NoRequest
        return body

    def log_message(self, format: str, *args: Any) -> None:
        """A guardian's log is its audit log."""


def _refusal(error: CustodyError) -> dict[str, Any]:
    said = {"code": type(error).__name__, "message": str(error)}
    return {"error": said, "guardian": getattr(error, "guardian", None)}


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _binary(said: Said, name: str, size: int | None = None) -> bytes:
    return from_base64(said.get(name), size=size)


def _round(said: Said) -> bytes:
    return _binary(said, "round", ROUND_BYTES)


def _text(said: Said, name: str) -> str:
    text = said.get(name)
    if not isinstance(text, str) or len(text) > _MOST_LETTERS:
        raise GuardianRefused(f"{name} is a text of at most {_MOST_LETTERS} letters.")
    return text


def _whole(said: Said, name: str) -> int:
    number = said.get(name)
    if type(number) is not int or number < 0:
        raise GuardianRefused(f"{name} is a whole number.")
    return number


def _list(said: Said, name: str) -> list[Any]:
    items = said.get(name)
    if not isinstance(items, list):
        raise GuardianRefused(f"{name} is a list.")
    return items


def _dict(said: Said, name: str) -> Said:
    items = said.get(name)
    if not isinstance(items, dict):
        raise GuardianRefused(f"{name} is an object.")
    return items
