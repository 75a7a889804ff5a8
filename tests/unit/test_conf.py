"""Settings: read live, defaulted, and refused with the setting's name in the sentence."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Q
from django.test import override_settings

from edna import conf
from edna.errors import ConfigurationError


def configured(**values: Any) -> override_settings:
    return override_settings(EDNA=values)


@pytest.mark.parametrize(
    "staff",
    [
        ["is_staff"],
        {"shop.Customer": "is_admin"},
        {"shop.Customer": {}},
        {"shop.Customer": Q()},
        {1: {"a": 1}},
        "staff",
    ],
)
def test_who_runs_the_site_is_a_filter_for_each_model(staff: object) -> None:
    with configured(STAFF=staff), pytest.raises(ConfigurationError, match="STAFF"):
        conf.staff()
    with configured(STAFF={"Shop.Customer": {"is_admin": True}}):
        assert conf.staff() == {"shop.customer": Q(is_admin=True)}
    either = Q(is_staff=True) | Q(username="nobody")
    with configured(STAFF={"shop.Customer": either}):
        assert conf.staff() == {"shop.customer": either}


def test_defaults_hold_without_any_setting() -> None:
    """An application that says nothing gets the documented behaviour."""
    with override_settings(AUTH_USER_MODEL="websubmit.User"), configured():
        assert conf.locator_mode() == "server"
        assert conf.pseudoprincipal_keys() == "negative"
        assert conf.principal_models() == ["websubmit.User"]
        assert conf.chunk_rows() == 2_000
        assert conf.compress() is True
        assert conf.retention_days() is None
        assert conf.key_pool_size() == 256
        assert (conf.argon2_opslimit(), conf.argon2_memlimit_bytes()) == (2, 64 * 1024 * 1024)


def test_settings_are_read_live() -> None:
    """A reloaded configuration takes effect at once."""
    with configured(CHUNK_ROWS=5):
        assert conf.chunk_rows() == 5
        with configured(CHUNK_ROWS=6):
            assert conf.chunk_rows() == 6
        assert conf.chunk_rows() == 5


@pytest.mark.parametrize(
    "name", ["CHUNK_ROWS", "ARGON2_OPSLIMIT", "ARGON2_MEMLIMIT_BYTES", "KEY_POOL_SIZE", "RETENTION_DAYS"]
)
@pytest.mark.parametrize("value", [0, -1, "7", 1.5, True, []])
def test_whole_numbers_must_be_whole_and_positive(name: str, value: Any) -> None:
    with configured(**{name: value}), pytest.raises(ConfigurationError, match=name):
        getattr(conf, name.lower())()


@pytest.mark.parametrize("value", [[3], [(1,)], [(0, 1)], [("2", 1)], [(True, 1)]])
def test_former_costs_are_pairs_of_whole_numbers(value: Any) -> None:
    with configured(ARGON2_FORMER=value), pytest.raises(ConfigurationError, match="ARGON2_FORMER"):
        conf.argon2_costs()


@pytest.mark.parametrize(
    ("name", "read"),
    [("LOCATORS", conf.locator_mode), ("CUSTODY", conf.custody), ("PSEUDOPRINCIPAL_KEYS", conf.pseudoprincipal_keys)],
)
def test_choices_name_what_can_be_chosen(name: str, read: Any) -> None:
    with configured(**{name: "somewhere"}), pytest.raises(ConfigurationError, match=f"{name}.*choose one of"):
        read()


def test_a_misspelt_setting_is_found() -> None:
    with configured(MAC_KEY=["x" * 32], LOCATORS="client"):
        assert conf.unknown_names() == ["MAC_KEY"]


def test_mac_keys_are_text_or_bytes_newest_first() -> None:
    with configured(MAC_KEYS=["k" * 16, b"\xff" * 40]):
        assert conf.mac_keys() == [b"k" * 16, b"\xff" * 40]
    with configured(MAC_KEYS=[b"\xff" * 40]):
        assert conf.mac_keys() == [b"\xff" * 40]


@pytest.mark.parametrize(
    "keys", ["one long string that is no list", b"nor are bytes, however long", ["short"], [b""], [7]]
)
def test_unusable_mac_keys_are_refused_without_being_shown(keys: Any) -> None:
    """The message never holds a key: it ends up in logs."""
    with configured(MAC_KEYS=keys), pytest.raises(ConfigurationError, match="MAC_KEYS") as caught:
        conf.mac_keys()
    assert "long string" not in str(caught.value)
    assert "short" not in str(caught.value)


@pytest.mark.parametrize("token", ["", "short", b"bytes of any length", 7, ["x" * 32]])
def test_an_unusable_metrics_token_is_refused_without_being_shown(token: Any) -> None:
    with configured(METRICS_TOKEN=token), pytest.raises(ConfigurationError, match="METRICS_TOKEN") as caught:
        conf.metrics_token()
    assert "short" not in str(caught.value)
    with configured(METRICS_TOKEN=None):
        assert conf.metrics_token() is None


def test_without_mac_keys_one_follows_from_the_secret_key() -> None:
    """For development: the same as long as the secret key is, another when it changes, and not the secret key itself."""
    with configured(), override_settings(SECRET_KEY="one"):
        [first] = conf.mac_keys()
        assert conf.mac_keys() == [first]
    with configured(), override_settings(SECRET_KEY="two"):
        assert conf.mac_keys() != [first]
    assert len(first) == 32
    assert b"one" not in first
