"""What ``edna_guardian recover`` and its person say to each other: codes, asked for while they are needed, or given."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Mapping
from typing import Any

from edna.custody.guardians import quorum
from edna.custody.guardians.roster import Roster
from edna.errors import CustodyError, QuorumUnavailable
from edna.management.base import asked, read_stdin, usage


def given_codes(options: dict[str, Any]) -> list[tuple[int, str]]:
    lines = [*options["code"], *(read_stdin().splitlines() if options.get("codes_stdin") else ())]
    codes = []
    for line in filter(str.strip, lines):
        number, _, code = line.strip().partition(":")
        if not number.isascii() or not number.isdigit() or not code.strip():
            raise usage("A code is given as NUMBER:CODE, with the number of its guardian.")
        codes.append((int(number), code))
    return codes


def until_enough_help(recovery: quorum.Recovery, roster: Roster, *, say: Callable[[str], None]) -> None:
    """Ask for codes while they are needed, one after the other.

    Raises: QuorumUnavailable if too few guardians help.
    """
    states = recovery.states()
    helping = {number for number, each in states.items() if not isinstance(each, CustodyError) and each.get("helps")}
    wrong = {number: _why_not(number, each) for number, each in states.items() if number not in helping}
    for number, each in states.items():
        if len(helping) >= roster.threshold or not sys.stdin.isatty():
            break
        if isinstance(each, CustodyError) or not each.get("for_code"):
            continue
        what = f"Code of guardian {number} for request {recovery.name(number)} (empty if you have none): "
        while number not in helping and (code := asked(what, input, instead="--code").strip()):
            if confirm(recovery, number, code, say=say):
                helping.add(number)
    if len(helping) < roster.threshold:
        for number in helping:
            wrong.pop(number, None)
        raise QuorumUnavailable(have=len(helping), need=roster.threshold, wrong=wrong)


def confirm(recovery: quorum.Recovery, number: int, code: str, *, say: Callable[[str], None]) -> bool:
    try:
        recovery.confirm(number, code)
    except CustodyError as error:
        say(QuorumUnavailable.said_by(number, str(error)))
        return False
    return True


def _why_not(number: int, said: Mapping[str, Any] | CustodyError) -> str:
    if isinstance(said, CustodyError):
        return str(said)
    if said.get("for_code"):
        return "It waits for its code."
    left = said.get("retry_after_seconds")
    if type(left) is not int:
        return "It does not help yet."
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=left)
    return f"It waits until {until:%Y-%m-%d %H:%M} UTC, so that the owner can veto."
