"""What a developer of Lobsters would write instead: irreversible SQL with the same visible change, through the bare driver.

As with edna, what stays gets an owner of its own that tells nothing: one placeholder for each row, or for each story.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.handwritten import Placeholders, repoint
from benchmarks.kit.driver import Affected, Driver, Row

PEOPLE: Final = ("users", "id")
#: Every column that says whose a row is, by table.
OWNERS: Final[Sequence[tuple[str, str]]] = (
    ("stories", "user_id"),
    ("comments", "user_id"),
    ("votes", "user_id"),
    ("messages", "author_user_id"),
    ("messages", "recipient_user_id"),
    ("mod_notes", "moderator_user_id"),
    ("mod_notes", "user_id"),
    ("moderations", "moderator_user_id"),
    ("moderations", "user_id"),
    ("hats", "user_id"),
    ("hats", "granted_by_user_id"),
    ("hat_requests", "user_id"),
    ("hidden_stories", "user_id"),
    ("invitations", "user_id"),
    ("read_ribbons", "user_id"),
    ("saved_stories", "user_id"),
    ("suggested_taggings", "user_id"),
    ("suggested_titles", "user_id"),
    ("tag_filters", "user_id"),
)
_REMOVED: Final = (
    "hat_requests",
    "hidden_stories",
    "invitations",
    "read_ribbons",
    "saved_stories",
    "suggested_taggings",
    "suggested_titles",
    "tag_filters",
)
_DELETED: Final = "'[deleted content]'"
_TAGGED: Final = "IN (SELECT g.story_id FROM taggings g JOIN tags a ON a.id = g.tag_id WHERE a.tag = %s)"
_PLACEHOLDER: Final = "IN (SELECT p.id FROM users p WHERE p.deleted_at IS NOT NULL)"


def everything_of(user: int) -> list[Affected]:
    """The account, and every row that names it."""
    return [Affected("users", "t.id = %s", (user,))] + [
        Affected(table, f"t.{column} = %s", (user,)) for table, column in OWNERS
    ]


def topic_of(user: int, tag: str) -> list[Affected]:
    """Stories with the tag, comments below such stories, and votes on either."""
    places = (("stories", "id"), ("comments", "story_id"), ("votes", "story_id"))
    return [Affected(table, f"t.user_id = %s AND t.{story} {_TAGGED}", (user, tag)) for table, story in places]


def delete_account(driver: Driver, user: int) -> None:
    """The account and what is around it go; texts are blanked; what others see the sense of stays, and is nobody's."""
    with driver.transaction():
        _give_away(
            driver,
            user,
            {
                "comments": {"comment": _DELETED, "markeddown_comment": _DELETED},
                "stories": {
                    **dict.fromkeys(("title", "url", "description", "markeddown_description", "story_cache"), _DELETED),
                    "twitter_id": "NULL",
                },
            },
        )
        for own, other in (("author_user_id", "recipient_user_id"), ("recipient_user_id", "author_user_id")):
            driver.execute(
                f"DELETE FROM messages WHERE {own} = %s AND ({other} = %s OR {other} {_PLACEHOLDER})", (user, user)
            )
        _messages(driver, user, {"deleted_by_author": "TRUE"}, {"deleted_by_recipient": "TRUE"})
        _remove(driver, user)


def decay(driver: Driver, user: int) -> None:
    """As if the member had left long ago: texts stay, and so do messages with the others."""
    with driver.transaction():
        _give_away(driver, user, {})
        _messages(driver, user, {}, {})
        _remove(driver, user)


def anonymise_topic(driver: Driver, user: int, tag: str) -> None:
    """Stories and comments of the topic lose their author, one placeholder for each story; votes there go."""
    with driver.transaction():
        for table, story in (("stories", "id"), ("comments", "story_id")):
            where = f"t.user_id = %s AND t.{story} {_TAGGED}"
            people = _placeholders(driver)
            repoint(driver, table, "user_id", where, (user, tag), placeholders=people, group=f"t.{story}")
        driver.execute(f"DELETE FROM votes WHERE user_id = %s AND story_id {_TAGGED}", (user, tag))


def create_account(driver: Driver, username: str, password_hash: str) -> None:
    with driver.transaction():
        insert_account(driver, username, password_hash)


def insert_account(driver: Driver, username: str, password_hash: str) -> int:
    """Within a transaction; returns the new key."""
    key: int = driver.insert_one(
        "INSERT INTO users (username, karma, password_digest, email, created_at, is_moderator) "
        "VALUES (%s, %s, %s, %s, CURRENT_TIMESTAMP, %s)",
        (username, 0, password_hash, f"{username}@example.org", False),
    )
    return key


def front_page(driver: Driver, size: int) -> list[Row]:
    """The hottest stories with their authors and tags, in the same three statements as the application's."""
    hottest = driver.execute(
        "SELECT id FROM stories WHERE NOT is_expired AND merged_story_id IS NULL AND upvotes >= downvotes ORDER BY hotness, id LIMIT %s",
        (size + 1,),
    )
    shown = tuple(story for (story,) in hottest.fetchall()[:size])
    marks = ", ".join(["%s"] * len(shown))
    found = driver.execute(
        "SELECT s.id, s.short_id, s.title, s.url, s.created_at, s.upvotes, s.downvotes, s.comments_count, s.user_is_author, "
        f"s.is_expired, s.user_id, u.username, u.deleted_at FROM stories s JOIN users u ON u.id = s.user_id WHERE s.id IN ({marks})",
        shown,
    )
    rows = list(found.fetchall())
    _tags(driver, shown)
    return rows


def read_story(driver: Driver, short_id: str) -> list[Row]:
    """A story with its tags, and its comments with who wrote them."""
    found = driver.execute(
        "SELECT s.*, u.username, u.deleted_at FROM stories s JOIN users u ON u.id = s.user_id WHERE s.short_id = %s",
        (short_id,),
    )
    story = found.fetchall()[0][0]
    comments = driver.execute(
        "SELECT c.*, u.username, u.deleted_at, h.hat, h.link FROM comments c JOIN users u ON u.id = c.user_id "
        "LEFT JOIN hats h ON h.id = c.hat_id WHERE c.story_id = %s",
        (story,),
    )
    rows = list(comments.fetchall())
    _tags(driver, (story,))
    return rows


def _tags(driver: Driver, stories: tuple[int, ...]) -> list[Row]:
    marks = ", ".join(["%s"] * len(stories))
    tags = driver.execute(
        f"SELECT g.story_id, a.tag, a.is_media FROM taggings g JOIN tags a ON a.id = g.tag_id WHERE g.story_id IN ({marks}) "
        "ORDER BY a.is_media, a.tag",
        stories,
    )
    return list(tags.fetchall())


def _give_away(driver: Driver, user: int, also: Mapping[str, Mapping[str, str]]) -> None:
    people = _placeholders(driver)
    # Found by the author while there still is one: nobody wears another's hat.
    driver.execute("UPDATE comments SET hat_id = NULL WHERE user_id = %s AND hat_id IS NOT NULL", (user,))
    for table, column in OWNERS:
        stays = table in ("stories", "comments", "votes", "mod_notes", "moderations") or column == "granted_by_user_id"
        if stays:
            where = f"t.{column} = %s"
            repoint(driver, table, column, where, (user,), placeholders=people, also=also.get(table))


def _messages(driver: Driver, user: int, author: Mapping[str, str], recipient: Mapping[str, str]) -> None:
    people = _placeholders(driver)
    for column, also in (("author_user_id", author), ("recipient_user_id", recipient)):
        repoint(driver, "messages", column, f"t.{column} = %s", (user,), placeholders=people, also=also)


def _remove(driver: Driver, user: int) -> None:
    for table in ("hats", *_REMOVED):
        driver.execute(f"DELETE FROM {table} WHERE user_id = %s", (user,))
    driver.execute("DELETE FROM users WHERE id = %s", (user,))


def _placeholders(driver: Driver) -> Placeholders:
    filled = {
        "username": driver.dialect.random_text,
        "karma": "0",
        "password_digest": "'!'",
        "email": "''",
        "created_at": "'2000-01-01 00:00:00'",
        "deleted_at": "'2000-01-01 00:00:00'",
        "is_moderator": "FALSE",
    }
    return PEOPLE, filled
