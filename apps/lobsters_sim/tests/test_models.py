"""The tables are those of the original: columns, their types on MariaDB, what must be unique, and real foreign keys besides."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection
from django.db.models import ForeignKey
from django.db.models.deletion import ProtectedError

from apps.lobsters_sim.models import Comment, Keystore, Story, Tag, Tagging, User, Vote

from .conftest import PASSWORD, Person, Site

pytestmark = pytest.mark.django_db

#: Table, what must be unique in it, and its columns.
ORIGINAL = """
comments (short_id): id int unsigned, created_at datetime, updated_at datetime, short_id varchar(30), story_id int unsigned, \
user_id bigint, parent_comment_id int unsigned, thread_id int unsigned, comment mediumtext, upvotes int, downvotes int, \
confidence decimal(20,19), markeddown_comment mediumtext, is_deleted tinyint(1), is_moderated tinyint(1), \
is_from_email tinyint(1), hat_id int
hat_requests (): id int, created_at datetime, updated_at datetime, user_id bigint, hat varchar(255), link varchar(255), comment text
hats (): id int, created_at datetime, updated_at datetime, user_id bigint, granted_by_user_id bigint, hat varchar(255), \
link varchar(255), modlog_use tinyint(1), doffed_at datetime
hidden_stories (user_id, story_id): id int, user_id bigint, story_id int
invitation_requests (): id int, code varchar(255), is_verified tinyint(1), email varchar(255), name varchar(255), memo text, \
ip_address varchar(255), created_at datetime, updated_at datetime
invitations (): id int, user_id bigint, email varchar(255), code varchar(255), created_at datetime, updated_at datetime, memo mediumtext
keystores (): key varchar(50), value bigint
messages (short_id): id int unsigned, created_at datetime, author_user_id bigint, recipient_user_id bigint, \
has_been_read tinyint(1), subject varchar(100), body mediumtext, short_id varchar(30), deleted_by_author tinyint(1), \
deleted_by_recipient tinyint(1)
mod_notes (): id int, created_at datetime, updated_at datetime, moderator_user_id bigint, story_id int, comment_id int, \
user_id bigint, action mediumtext, reason mediumtext, is_from_suggestions tinyint(1)
moderations (): id int, created_at datetime, updated_at datetime, moderator_user_id bigint, story_id int, comment_id int, \
user_id bigint, action mediumtext, reason mediumtext, is_from_suggestions tinyint(1)
read_ribbons (): id bigint, is_following tinyint(1), created_at datetime, updated_at datetime, user_id bigint, story_id bigint
saved_stories (user_id, story_id): id bigint, created_at datetime, updated_at datetime, user_id bigint, story_id int
stories (short_id): id int unsigned, created_at datetime, user_id bigint, url varchar(250), title varchar(150), \
description mediumtext, short_id varchar(30), is_expired tinyint(1), upvotes int unsigned, downvotes int unsigned, \
is_moderated tinyint(1), hotness decimal(20,10), markeddown_description mediumtext, story_cache mediumtext, \
comments_count int, merged_story_id int, unavailable_at datetime, twitter_id varchar(20), user_is_author tinyint(1)
suggested_taggings (): id int, story_id int, tag_id int, user_id bigint
suggested_titles (): id int, story_id int, user_id bigint, title varchar(150)
tag_filters (): id int, created_at datetime, updated_at datetime, user_id bigint, tag_id int
taggings (story_id, tag_id): id int unsigned, story_id int unsigned, tag_id int unsigned
tags (tag): id int unsigned, tag varchar(25), description varchar(100), privileged tinyint(1), is_media tinyint(1), \
inactive tinyint(1), hotness_mod float
users (username): id bigint, username varchar(50), karma int, last_login datetime, password_reset_token varchar(250), \
rss_token varchar(250), session_token varchar(250), email varchar(250), created_at datetime, deleted_at datetime
votes (): id bigint unsigned, user_id bigint, story_id int unsigned, comment_id int unsigned, vote tinyint, reason varchar(1)
"""
#: What the pages need, and the facts about the original leave out.
ADDED = {"users": {"password_digest": "varchar(128)", "is_moderator": "tinyint(1)"}}
MODELS = {model._meta.db_table: model for model in apps.get_app_config("lobsters_sim").get_models()}
TABLES = {}
UNIQUE = {}
for line in ORIGINAL.strip().splitlines():
    table, unique, columns = re.fullmatch(r"(\w+) \((.*?)\): (.*)", line).groups()
    TABLES[table] = dict(column.strip().split(" ", 1) for column in re.split(r",(?!\d)", columns)) | ADDED.get(
        table, {}
    )
    UNIQUE[table] = [unique.split(", ")] if unique else []


def constraints(table: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        return list(connection.introspection.get_constraints(cursor, table).values())


def test_there_are_twenty_tables_with_these_columns() -> None:
    assert len(TABLES) == 20
    assert {table: {f.column for f in model._meta.concrete_fields} for table, model in MODELS.items()} == {
        table: set(columns) for table, columns in TABLES.items()
    }


def test_unique_rules_are_the_originals() -> None:
    for table, rules in UNIQUE.items():
        found = [each["columns"] for each in constraints(table) if each["unique"] and not each["primary_key"]]
        assert sorted(map(sorted, {tuple(columns) for columns in found})) == sorted(map(sorted, rules)), table


def test_every_reference_is_a_foreign_key_of_the_database() -> None:
    for table, model in MODELS.items():
        expected = {
            f.column: f.related_model._meta.db_table for f in model._meta.concrete_fields if isinstance(f, ForeignKey)
        }
        found = {each["columns"][0]: each["foreign_key"][0] for each in constraints(table) if each["foreign_key"]}
        assert found == expected, table
        references = {column for column in TABLES[table] if column.endswith("_id")} - {
            "short_id",
            "thread_id",
            "twitter_id",
        }
        assert set(expected) == references, table


def test_every_reference_has_an_index() -> None:
    """To find what is somebody's, and what refers to a row, no table is read through."""
    for table, model in MODELS.items():
        leading = {each["columns"][0] for each in constraints(table) if each["index"] or each["unique"]}
        assert {f.column for f in model._meta.concrete_fields if isinstance(f, ForeignKey)} <= leading, table
    for table, column in (
        ("stories", "hotness"),
        ("stories", "created_at"),
        ("comments", "created_at"),
        ("comments", "thread_id"),
    ):
        assert any(each["columns"] == [column] and each["index"] for each in constraints(table))


@pytest.mark.only_on("mysql")
def test_column_types_are_the_originals() -> None:
    """But for foreign keys, which have the type of what they refer to."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, column_type FROM information_schema.columns WHERE table_schema = DATABASE()"
        )
        found = {(table, column): kind for table, column, kind in cursor.fetchall()}
    for table, columns in TABLES.items():
        for column, kind in columns.items():
            field = next(f for f in MODELS[table]._meta.concrete_fields if f.column == column)
            if isinstance(field, ForeignKey):
                target = field.target_field
                kind = TABLES[target.model._meta.db_table][target.column]
            # MariaDB says how wide an integer is shown, which is nothing that was asked for.
            shown = re.sub(r"^((?:big|small)?int)\(\d+\)", r"\1", found[table, column])
            shown = "tinyint" if (shown, kind) == ("tinyint(4)", "tinyint") else shown
            assert shown == kind, f"{table}.{column}"


@pytest.mark.once
def test_no_migration_is_missing() -> None:
    call_command("makemigrations", "lobsters_sim", check=True, dry_run=True, verbosity=0)


def test_times_are_whole_seconds(bea: Person) -> None:
    """On every database, and in the object that was saved."""
    when = datetime.datetime(2025, 3, 1, 12, 30, 15, 999_999, tzinfo=datetime.UTC)
    story = Story.objects.create(user=bea.user, title="Now", created_at=when)
    assert story.created_at == when.replace(microsecond=0)
    assert Story.objects.get(created_at=when).created_at == story.created_at
    comment = Comment.objects.create(user=bea.user, story=story, comment="Then")
    assert comment.updated_at.microsecond == 0
    comment.refresh_from_db()
    assert comment.updated_at.microsecond == 0


def test_what_is_unique_is_refused_twice(site: Site, tags: dict[str, Tag]) -> None:
    with pytest.raises(IntegrityError):
        Tagging.objects.create(story=site.beas, tag=tags["compsci"])


@pytest.mark.once
def test_a_member_with_rows_is_not_deleted_by_hand(site: Site, bea: Person) -> None:
    """That would take threads of others along; the disguise is the way."""
    with pytest.raises(ProtectedError):
        bea.user.delete()


@pytest.mark.once
def test_str_tells_no_name(site: Site, bea: Person) -> None:
    """It gets into logs and into the admin site's history."""
    for model in MODELS.values():
        for row in model._base_manager.all():
            assert "bea" not in re.split(r"\W+", str(row)), "as a word: a random short id may have these letters"
            assert str(row)


@pytest.mark.once
def test_accounts(bea: Person) -> None:
    assert bea.user.check_password(PASSWORD)
    assert bea.user.is_active
    assert not bea.user.is_staff
    assert not bea.user.has_perm("lobsters_sim.change_story")
    assert not bea.user.has_module_perms("lobsters_sim")
    with pytest.raises(ValueError, match="needs a user name"):
        User.objects.create_user("", "x@example.org")
    with pytest.raises(ValidationError):
        User(username="x" * 51, email="x@example.org", password="x").full_clean()


def test_votes_for_comments_name_the_story(site: Site) -> None:
    """The disguise of a topic finds them by it."""
    assert (
        not Vote.objects.filter(comment__isnull=False)
        .exclude(story=site.carls)
        .exclude(comment__story=site.beas_film)
        .exclude(comment__story=site.beas)
    )
    for vote in Vote.objects.filter(comment__isnull=False).select_related("comment"):
        assert vote.story_id == vote.comment.story_id


def test_numbers_of_the_site(db: None) -> None:
    Keystore.objects.create(key="traffic:hits", value=2**40)
    assert Keystore.objects.get(pk="traffic:hits").value == 2**40
    assert str(Keystore.objects.get()) == "traffic:hits"
