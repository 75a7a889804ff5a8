"""Lobsters' disguises at the floor: what becomes of which rows."""

from __future__ import annotations

import secrets
from collections.abc import Container, Mapping
from typing import Any, Final

from benchmarks.floor import Floor, People, Place, repointed
from benchmarks.floor.script import Values
from benchmarks.kit.driver import Driver
from benchmarks.lobsters import manual

_DELETED: Final = "[deleted content]"
_BLANK: Final = ("title", "url", "description", "markeddown_description", "story_cache")
_LISTS: Final = (
    "hat_requests",
    "hidden_stories",
    "invitations",
    "read_ribbons",
    "saved_stories",
    "suggested_taggings",
    "suggested_titles",
    "tag_filters",
)
_TAGGED: Final = "IN (SELECT g.story_id FROM taggings g JOIN tags a ON a.id = g.tag_id WHERE a.tag = %s)"


def _flags(row: Values, own: Container[Any]) -> Values:
    """Who has left says so in a message that stays for the other one."""
    flags = {"author_user_id": "deleted_by_author", "recipient_user_id": "deleted_by_recipient"}
    return {flag: True for owner, flag in flags.items() if row[owner] in own}


def _blank_story(_: Values, __: Container[Any]) -> Values:
    return {**dict.fromkeys(_BLANK, _DELETED), "twitter_id": None}


def _blank_comment(_: Values, __: Container[Any]) -> Values:
    return {"comment": _DELETED, "markeddown_comment": _DELETED, "hat_id": None}


def _hatless(_: Values, __: Container[Any]) -> Values:
    """The hat goes, for it is the member's."""
    return {"hat_id": None}


#: Rows of the same tables with both disguises.
_AROUND: Final = (
    repointed("votes", "user_id"),
    repointed("moderations", "moderator_user_id", "user_id"),
    repointed("mod_notes", "moderator_user_id", "user_id"),
    # A hat that members granted themselves goes with them.
    repointed("hats", "granted_by_user_id", where="t.user_id <> t.granted_by_user_id"),
    Place("hats", ("user_id",), removes=True),
    *(Place(table, ("user_id",), removes=True) for table in _LISTS),
    Place("users", ("id",), removes=True),
)
_MESSAGES: Final = ("author_user_id", "recipient_user_id")
DELETE: Final = (
    repointed("comments", "user_id", change=_blank_comment),
    repointed("stories", "user_id", change=_blank_story),
    repointed("messages", *_MESSAGES, change=_flags),
    *_AROUND,
)
DECAY: Final = (
    repointed("comments", "user_id", change=_hatless),
    repointed("stories", "user_id"),
    repointed("messages", *_MESSAGES),
    *_AROUND,
)


def topic(tag: str) -> tuple[Place, ...]:
    return (
        repointed("stories", "user_id", where=f"t.id {_TAGGED}", params=(tag,), group="t.id"),
        repointed("comments", "user_id", where=f"t.story_id {_TAGGED}", params=(tag,), group="t.story_id"),
        Place("votes", ("user_id",), removes=True, where=f"t.story_id {_TAGGED}", params=(tag,)),
    )


def floor(driver: Driver) -> Floor:
    return Floor(driver, People("users", "id", _placeholder))


def create_account(floor: Floor, driver: Driver, username: str, password_hash: str) -> None:
    """With a key of its own."""
    with driver.transaction():
        floor.add(manual.insert_account(driver, username, password_hash))


def _placeholder() -> Mapping[str, Any]:
    name = secrets.token_hex(16)
    return {
        "username": name,
        "karma": 0,
        "password_digest": "!",
        "email": f"{name}@anonymous.invalid",
        "created_at": "2000-01-01 00:00:00",
        "deleted_at": "2000-01-01 00:00:00",
        "is_moderator": False,
    }
