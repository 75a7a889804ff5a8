"""What a developer of HotCRP would write instead: irreversible SQL with the same visible change, through the bare driver.

As with edna, what stays gets an owner of its own that tells nothing: one placeholder for each row. HotCRP's names have capital letters,
and so they are quoted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.handwritten import Placeholders, repoint
from benchmarks.kit.driver import Affected, Driver, Row

PEOPLE: Final = ("ContactInfo", "contactId")
#: Keys by which an UPDATE finds its rows.
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "PaperReviewPreference": ("paperRevPrefId",),
    "PaperWatch": ("paperWatchId",),
    "PaperConflict": ("paperConflictId",),
    "TopicInterest": ("topicInterestId",),
    "ReviewRating": ("ratingId",),
    "PaperReviewRefused": ("paperId", "email"),
    "ActionLog": ("logId",),
    "PaperComment": ("commentId",),
    "PaperReview": ("reviewId",),
    "Paper": ("paperId",),
    "PaperAuthor": ("paperAuthorId",),
    "Capability": ("salt",),
}
_KEPT: Final[Sequence[tuple[str, str]]] = (
    ("PaperReviewRefused", "contactId"),
    ("PaperReviewRefused", "refusedBy"),
    ("PaperReviewRefused", "requestedBy"),
    ("ActionLog", "contactId"),
    ("ActionLog", "destContactId"),
    ("ActionLog", "trueContactId"),
    ("PaperComment", "contactId"),
    ("PaperReview", "contactId"),
    ("PaperReview", "requestedBy"),
    ("Paper", "leadContactId"),
    ("Paper", "managerContactId"),
    ("Paper", "shepherdContactId"),
)
REMOVED: Final = ("PaperReviewPreference", "PaperWatch", "PaperConflict", "TopicInterest", "ReviewRating")
ALSO_REMOVED: Final = ("Capability", "PaperAuthor")
#: Every column that says whose a row is, by table.
OWNERS: Final = (*_KEPT, *((table, "contactId") for table in (*REMOVED, *ALSO_REMOVED)))
#: What says whose an account is, and its values when nobody's.
EMPTY: Final = ("firstName", "lastName", "unaccentedName", "affiliation")
UNSET: Final = (
    "preferredEmail",
    "phone",
    "country",
    "collaborators",
    "contactTags",
    "birthday",
    "gender",
    "data",
)


def everything_of(*contacts: int) -> list[Affected]:
    """These accounts, and every row that names one of them."""
    among = f"IN ({', '.join(['%s'] * len(contacts))})"
    places = (PEOPLE, *OWNERS)
    return [Affected(table, f't."{column}" {among}', contacts) for table, column in places]


def remove_account(driver: Driver, contact: int) -> None:
    """Preferences, watches, conflicts and the like go; reviews, comments and the log stay and name nobody."""
    with driver.transaction():
        _hide_addresses(driver, contact)
        _give_away(driver, contact, _KEPT)
        for table in (*REMOVED, *ALSO_REMOVED):
            driver.execute(f'DELETE FROM "{table}" WHERE "contactId" = %s', (contact,))
        driver.execute('DELETE FROM "ContactInfo" WHERE "contactId" = %s', (contact,))


def anonymise(driver: Driver, contact: int) -> None:
    """Of one member of the PC everything stays but authorship, and names nobody; so does the account, under another address."""
    with driver.transaction():
        _hide_addresses(driver, contact)
        _give_away(driver, contact, [*_KEPT, *((table, "contactId") for table in REMOVED)])
        driver.execute('DELETE FROM "PaperAuthor" WHERE "contactId" = %s', (contact,))
        changes = {"email": driver.dialect.random_text, **dict.fromkeys(EMPTY, "''"), **dict.fromkeys(UNSET, "NULL")}
        assignments = ", ".join(f"{driver.quoted(name)} = {value}" for name, value in changes.items())
        driver.execute(f'UPDATE "ContactInfo" SET {assignments} WHERE "contactId" = %s', (contact,))


def create_account(driver: Driver, email: str, password_hash: str) -> None:
    with driver.transaction():
        insert_account(driver, email, password_hash)


def insert_account(driver: Driver, email: str, password_hash: str) -> int:
    """Within a transaction; returns the new key."""
    given = {"email": "%s", "password": "%s", "isGuise": "FALSE", "disabled": "FALSE"}
    filled = {**given, **_placeholder_values(driver), **given}
    key: int = driver.insert_one(
        f'INSERT INTO "ContactInfo" ({", ".join(map(driver.quoted, filled))}) VALUES ({", ".join(filled.values())})',
        (email, password_hash),
        key="contactId",
    )
    return key


def read_reviews(driver: Driver, paper: int) -> list[Row]:
    """A paper's reviews with who wrote them."""
    cursor = driver.execute(
        'SELECT r.*, c."firstName", c."lastName", c.email, c."isGuise" FROM "PaperReview" r '
        'JOIN "ContactInfo" c ON c."contactId" = r."contactId" WHERE r."paperId" = %s ORDER BY r."reviewId"',
        (paper,),
    )
    return list(cursor.fetchall())


def edit_review(driver: Driver, paper: int, review: int, text: str, now: int) -> None:
    with driver.transaction():
        change_review(driver, paper, review, text, now)


def change_review(driver: Driver, paper: int, review: int, text: str, now: int) -> None:
    """Within a transaction."""
    driver.execute(
        'UPDATE "PaperReview" SET tfields = %s, "reviewModified" = %s WHERE "paperId" = %s AND "reviewId" = %s',
        (text, now, paper, review),
    )


def _hide_addresses(driver: Driver, contact: int) -> None:
    driver.execute(
        'UPDATE "ActionLog" SET ipaddr = NULL WHERE "trueContactId" = %s OR ("contactId" = %s AND "trueContactId" IS NULL)',
        (contact, contact),
    )


def _give_away(driver: Driver, contact: int, places: Sequence[tuple[str, str]]) -> None:
    people = _placeholders(driver)
    for table, column in places:
        where = f"t.{driver.quoted(column)} = %s"
        repoint(driver, table, column, where, (contact,), placeholders=people, key=KEYS[table])


def _placeholders(driver: Driver) -> Placeholders:
    return PEOPLE, _placeholder_values(driver)


def _placeholder_values(driver: Driver) -> Mapping[str, str]:
    empty = ("firstName", "lastName", "unaccentedName", "affiliation", "password")
    zero = ("passwordTime", "passwordUseTime", "creationTime", "updateTime", "lastLogin", "defaultWatch", "roles")
    return {
        **dict.fromkeys(empty, "''"),
        **dict.fromkeys(zero, "0"),
        "email": driver.dialect.random_text,
        "disabled": "TRUE",
        "isGuise": "TRUE",
    }
