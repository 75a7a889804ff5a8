"""HotCRP's disguises at the floor: what becomes of which rows."""

from __future__ import annotations

import secrets
from collections.abc import Container, Mapping
from typing import Any, Final

from benchmarks.floor import Floor, People, Person, Place, repointed
from benchmarks.floor.script import Values
from benchmarks.hotcrp import manual
from benchmarks.hotcrp.manual import ALSO_REMOVED, EMPTY, KEYS, REMOVED, UNSET
from benchmarks.kit.driver import Driver


def _hide_address(row: Values, own: Container[Any]) -> Values:
    """It is that of who really acted."""
    acted = row["trueContactId"] if row["trueContactId"] is not None else row["contactId"]
    return {"ipaddr": None} if acted in own else {}


def _nobody(_: Values, __: Container[Any]) -> Values:
    return {"email": secrets.token_hex(16), **dict.fromkeys(EMPTY, ""), **dict.fromkeys(UNSET)}


_GIVEN_AWAY: Final = (
    repointed("ActionLog", "contactId", "destContactId", "trueContactId", key=("logId",), change=_hide_address),
    repointed("PaperReviewRefused", "contactId", "requestedBy", "refusedBy", key=KEYS["PaperReviewRefused"]),
    repointed("Paper", "leadContactId", "shepherdContactId", "managerContactId", key=("paperId",)),
    repointed("PaperReview", "contactId", "requestedBy", key=("reviewId",)),
    repointed("PaperComment", "contactId", key=("commentId",)),
)
REMOVE: Final = (
    *_GIVEN_AWAY,
    *(Place(table, ("contactId",), key=KEYS[table], removes=True) for table in (*REMOVED, *ALSO_REMOVED)),
    Place("ContactInfo", ("contactId",), key=("contactId",), removes=True),
)
ANONYMISE: Final = (
    *_GIVEN_AWAY,
    *(repointed(table, "contactId", key=KEYS[table]) for table in REMOVED),
    Place("PaperAuthor", ("contactId",), key=KEYS["PaperAuthor"], removes=True),
    Place("ContactInfo", ("contactId",), key=("contactId",), change=_nobody, where="t.roles & 1 = 1"),
)


def floor(driver: Driver) -> Floor:
    return Floor(driver, People("ContactInfo", "contactId", _placeholder, key_bits=31))


def create_account(floor: Floor, driver: Driver, email: str, password_hash: str) -> None:
    """With a key of its own."""
    with driver.transaction():
        floor.add(manual.insert_account(driver, email, password_hash))


def edit(floor: Floor, driver: Driver, person: Person, text: str, now: int) -> None:
    """A review that is with one of those for whom its author speaks."""
    with driver.transaction():
        voices = list(floor.voices(person))
        marks = ", ".join(["%s"] * len(voices))
        sql = f'SELECT "paperId", "reviewId" FROM "PaperReview" WHERE "contactId" IN ({marks}) LIMIT 1'
        ((paper, review),) = driver.execute(sql, voices).fetchall()
        manual.change_review(driver, paper, review, text, now)


def _placeholder() -> Mapping[str, Any]:
    empty = ("firstName", "lastName", "unaccentedName", "affiliation")
    zero = ("passwordTime", "passwordUseTime", "creationTime", "updateTime", "lastLogin", "defaultWatch", "roles")
    name = f"{secrets.token_hex(16)}@anonymous.invalid"
    return {
        **dict.fromkeys(empty, ""),
        **dict.fromkeys(zero, 0),
        "email": name,
        "password": "!",
        "disabled": True,
        "isGuise": True,
    }
