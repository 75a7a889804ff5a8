"""What opens an account is in no case: not under the names that libraries give it, not in a row's key, not in a document."""

from __future__ import annotations

import datetime

import pytest

from edna.engine.bags.opened_copies import told
from edna.personal_columns import is_credential
from edna.records.bag import Bag, BagKind
from edna.records.diff import Modified, Removed, RowBatch


def bag_of(*batches: RowBatch) -> Bag:
    now = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
    return Bag(BagKind.DIFF, "nobody.knows", now, "auth.user", 7, {}, "sqlite", True, (1, 0), batches)


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "key",  # of a token (Django REST framework), a device (django-otp), a confirmation of an address (django-allauth)
        "token_key",
        "token_secret",
        "session_key",
        "session_data",
        "activation_key",
        "totpSecret",
        "recovery_codes",
        "access_token",
    ],
)
def test_what_libraries_call_what_they_let_somebody_in_by_is_a_credential(name: str) -> None:
    assert is_credential(name)


@pytest.mark.parametrize("name", ["email", "keyword", "keynote", "sort_key", "public_key", "shipping", "description"])
def test_what_only_sounds_like_one_is_read(name: str) -> None:
    assert not is_credential(name)


def test_neither_a_column_nor_a_key_of_a_row_nor_a_part_of_a_document_lets_a_member_in() -> None:
    removed = Removed("authtoken.token", "", ("key",), ("key", "user_id"), [("2f1c", 7)])
    changed = Modified("sessions.session", "", ("session_key",), ("user_id",), [("9d3a", 7, None)])
    document = '{"id": 1, "access_token": "ya29", "granted": [{"scope": "mail", "refresh_token": "1//0g"}]}'
    social = Removed("social_django.usersocialauth", "", ("id",), ("id", "uid", "extra_data"), [(3, "bea", document)])
    assert told(bag_of(removed, changed, social)) == [
        ("authtoken.token", "remove", {"user_id": 7}),
        ("sessions.session", "modify", {"user_id": 7}),
        (
            "social_django.usersocialauth",
            "remove",
            {"id": 3, "uid": "bea", "extra_data": '{"id": 1, "granted": [{"scope": "mail"}]}'},
        ),
    ]


@pytest.mark.parametrize("text", ['{"id":  1.0}', "{not json", "[sic] he wrote", "[" * 100_000, ""])
def test_a_text_without_any_is_read_as_it_was(text: str) -> None:
    post = Removed("forum.post", "", ("id",), ("id", "body"), [(1, text)])
    assert told(bag_of(post)) == [("forum.post", "remove", {"id": 1, "body": text})]
