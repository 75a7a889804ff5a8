"""A person's key, as commands take it: from a file, from standard input or by a question, never from the command line in the clear."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from edna import api
from edna.management.base import asked, read_stdin, usage


def add_key_arguments(parser: CommandParser, *, required: bool, receipts: str) -> None:
    """The key, and further receipts of the same person: ``receipts`` says when these are wanted."""
    key = parser.add_mutually_exclusive_group(required=required)
    key.add_argument("--secret-key-file", metavar="FILE", help="A file that holds the secret key and nothing else.")
    key.add_argument("--recovery-code", action="store_true", help="Ask for the recovery code, without showing it.")
    key.add_argument("--recovery-code-stdin", action="store_true", help="Read the recovery code from standard input.")
    key.add_argument(
        "--identifier",
        metavar="NAME",
        help="The name that goes with the password (which is asked for, without showing it).",
    )
    parser.add_argument(
        "--password-stdin", action="store_true", help="With --identifier: read the password from standard input."
    )
    parser.add_argument(
        "--with-receipt",
        metavar="RECEIPT",
        action="append",
        default=[],
        help=f"A receipt of the same person, {receipts}; repeat it for several.",
    )


def is_given(options: dict[str, Any]) -> bool:
    names = ("secret_key_file", "recovery_code", "recovery_code_stdin", "identifier")
    return any(options[name] for name in names)


def check_usage(options: dict[str, Any], *, stdin_is_taken: str = "") -> None:
    """Of what goes together, before anything is read. ``stdin_is_taken``: what to do where standard input holds something else."""
    if options["password_stdin"] and not options["identifier"]:
        raise usage("--password-stdin goes with --identifier.")
    if stdin_is_taken and (options["password_stdin"] or options["recovery_code_stdin"]):
        raise usage(f"Standard input holds one thing: {stdin_is_taken}, or let the secret be asked for.")


def credentials(options: dict[str, Any]) -> dict[str, Any]:
    """Arguments for `edna.unlock`. Never from the command line, which every user of the machine can read."""
    if options["secret_key_file"]:
        try:
            text = Path(options["secret_key_file"]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['secret_key_file']} cannot be read: {type(error).__name__}.") from None
        return {"secret_key": api.SecretKey.parse(text)}
    if options["identifier"]:
        if options["password_stdin"]:
            password = read_stdin().rstrip("\r\n")
        else:
            password = asked("Password: ", getpass.getpass, instead="--password-stdin")
        return {"identifier": options["identifier"], "password": password}
    if options["recovery_code_stdin"]:
        return {"recovery_code": read_stdin()}
    return {"recovery_code": asked("Recovery code: ", getpass.getpass, instead="--recovery-code-stdin")}
