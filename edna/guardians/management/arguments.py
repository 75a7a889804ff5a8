"""The actions of ``manage.py edna_guardian``, and what each takes. Knows nothing of what they do."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from django.core.management.base import CommandParser

from edna.management.credentials import add_key_arguments
from edna.management.listening import add_socket_arguments

#: Adds one, by its name and what it does.
Action = Callable[[str, str], argparse.ArgumentParser]


def add_actions(parser: CommandParser) -> None:
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", parser_class=argparse.ArgumentParser
    )

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=text, description=text)

    _run_a_guardian(action)
    _order_guardians(action)
    _keep_a_key(action)
    _keep_the_keys_of_a_server(action)
    _look_after_guardians(action)


def _run_a_guardian(action: Action) -> None:
    new = action("new", "Make a guardian's identity, and print what a roster says of it.")
    _folder(new)
    new.add_argument("--number", type=int, required=True, help="Guardians are numbered 1, 2, 3 ...")
    new.add_argument(
        "--address",
        required=True,
        help="Where others reach it: https://guardian.example:8443, or secure://guardian.example:8443.",
    )
    new.add_argument(
        "--certificate",
        metavar="FILE",
        help="The certificate that its TLS shows, if machines do not trust it anyway.",
    )

    serve = action("serve", "Run a guardian until it is asked to stop.")
    _folder(serve)
    _roster(serve)
    _public_key(serve)
    serve.add_argument(
        "--policy", default="waiting:48", help="waiting:HOURS, mail, counter, or standing (default: waiting:48)."
    )
    serve.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="If not at its address in the roster: behind a proxy, or on one interface.",
    )
    add_socket_arguments(serve, beside="the site", by_default=" By default as its address in the roster says.")
    serve.add_argument(
        "--mail-server",
        default="127.0.0.1:25",
        metavar="HOST:PORT",
        help="With - mails are printed: to try it out.",
    )
    serve.add_argument("--mail-from", default="guardian@localhost", metavar="ADDRESS")

    code = action("code", "At the counter: a code for whoever has shown who they are, and names their request.")
    _folder(code)
    _roster(code)
    _public_key(code)
    code.add_argument(
        "--for", dest="contact", required=True, help="Whom they have shown to be: the address that was enrolled."
    )
    code.add_argument("request", help="What the person's page calls the request at this guardian.")

    audit = action("audit", "What a guardian was asked, the newest first.")
    _folder(audit)
    _roster(audit)
    _public_key(audit)


def _order_guardians(action: Action) -> None:
    site_key = action("site-key", "Make the key with which the site orders, and print its public half.")
    site_key.add_argument("--output", metavar="FILE", required=True)

    schedule = action("schedule", "Sign the roster of guardians, and when each restarts.")
    _site_key(schedule)
    schedule.add_argument(
        "--site", required=True, metavar="NAME", help="What people call the site: guardians name it to them."
    )
    schedule.add_argument(
        "--threshold", type=int, default=3, help="How many guardians are needed (default: %(default)s)."
    )
    schedule.add_argument("--attack-seconds", type=int, help="How long somebody needs to steal into a guardian.")
    schedule.add_argument("--restart-seconds", type=int, help="How long a restart takes.")
    schedule.add_argument("--output", metavar="FILE", required=True)
    schedule.add_argument(
        "member", nargs="+", help="What 'new' has printed of each guardian, in the order of their numbers."
    )


def _keep_a_key(action: Action) -> None:
    enroll = action("enroll", "Have guardians keep a way back to a person's key. Writes the envelope.")
    _roster(enroll)
    _site_key(enroll)
    enroll.add_argument("--contact", required=True, help="Where guardians reach the person: an e-mail address.")
    enroll.add_argument(
        "--account",
        default="",
        metavar="NAME",
        help="What the person calls their account: guardians name it to them.",
    )
    enroll.add_argument("--pin", action="store_true", help="Ask for a PIN, which is needed then to come back.")
    enroll.add_argument("--output", metavar="FILE", required=True, help="A new file for the envelope.")
    add_key_arguments(enroll, required=True, receipts="which are not needed here")  # type: ignore[arg-type]  # takes any parser

    recover = action(
        "recover", "Get a key back with the help of guardians. Asks for a code that one has sent when it is needed."
    )
    _roster(recover)
    _public_key(recover)
    _codes(recover)
    stdin = recover.add_mutually_exclusive_group()
    stdin.add_argument(
        "--codes-stdin", action="store_true", help="Read codes from standard input, NUMBER:CODE in each line."
    )
    stdin.add_argument("--pin-stdin", action="store_true", help="Read the PIN from standard input.")
    recover.add_argument("--pin", action="store_true", help="Ask for the PIN, without showing it.")
    recover.add_argument(
        "--request",
        metavar="FILE",
        required=True,
        help="Where to keep the request until all guardians agree; made if new.",
    )
    recover.add_argument("--output", metavar="FILE", required=True, help="A new file for the secret key.")
    recover.add_argument("envelope")

    veto = action("veto", "The owner refuses what somebody asks of guardians, who take nothing else for a day.")
    _roster(veto)
    _public_key(veto)
    veto.add_argument("envelope")
    add_key_arguments(veto, required=True, receipts="which are not needed here")  # type: ignore[arg-type]  # takes any parser


def _keep_the_keys_of_a_server(action: Action) -> None:
    seal_keys = action(
        "seal-keys",
        "Seal the server's own keys to guardians: a folder, from which a site starts when enough of them answer.",
    )
    _roster(seal_keys)
    _site_key(seal_keys)
    seal_keys.add_argument("--contact", required=True, help="Where guardians reach those who run the site.")
    seal_keys.add_argument(
        "--also",
        metavar="SETTING",
        action="append",
        default=[],
        help="Another setting that is a secret text, SECRET_KEY say; repeat it for several.",
    )
    seal_keys.add_argument("--output", type=Path, metavar="FOLDER", required=True, help="A new folder.")

    open_keys = action(
        "open-keys", "Say whether the keys in such a folder open, and give guardians the codes they ask for."
    )
    open_keys.add_argument("--folder", type=Path, required=True, help="What 'seal-keys' has made.")
    _codes(open_keys)


def _look_after_guardians(action: Action) -> None:
    forget = action(
        "forget", "Have guardians forget what an envelope is about, of somebody who has another one, or wants none."
    )
    _roster(forget)
    _site_key(forget)
    forget.add_argument("envelope")

    for name, text in (
        (
            "refresh",
            "Give all guardians new shares, and repair those that have missed one. Do it after each restart.",
        ),
        ("status", "How many enrolments each guardian has, and whether it answers."),
    ):
        each = action(name, text)
        _roster(each)
        _site_key(each)


def _folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--folder", type=Path, required=True, help="Where this guardian keeps its identity and its store."
    )


def _roster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--roster", type=Path, required=True, help="The file that 'schedule' has signed.")


def _public_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site-public-key", required=True, metavar="KEY", help="What 'site-key' has printed.")


def _site_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site-key", type=Path, required=True, metavar="FILE")


def _codes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--code",
        metavar="NUMBER:CODE",
        action="append",
        default=[],
        help="The code of a guardian, good for this request alone; repeat it for several.",
    )
