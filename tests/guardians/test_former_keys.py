"""A way back by guardians that was made before the server's key was replaced."""

from __future__ import annotations

import time

import pytest

import edna
from edna import errors, guardians, serverkeys, vouching
from tests.guardians.parties import Parties
from tests.guardians.test_way_back import NAME, bea
from tests.support import with_server_keys

pytestmark = [pytest.mark.django_db]
OLD, NEW = "an old key of the server's, long", "a new key of the server's, long"


def asked(five: Parties) -> str:
    """A request to which the two guardians that wait no longer, and one that mails, have agreed."""
    code, _ = guardians.ask(NAME)
    guardians.confirm(NAME, code, 4, five.code(4))
    five.now += 7201
    return str(code)


def test_it_opens_while_the_former_key_is_there_and_is_under_the_new_one_afterwards(five: Parties) -> None:
    """Who comes back by it no longer needs the former key, and `edna_keys` says who does."""
    with with_server_keys(OLD):
        _, made = bea()
        code = asked(five)
    with with_server_keys(NEW, OLD):
        assert serverkeys.former().older["envelopes"] == 1
        with guardians.recover(NAME, code) as unlocked:
            assert unlocked.public_key == made.secret_key.public_key
            edna.change_password(unlocked, identifier=NAME, password="another password for bea")
            code_on_paper = edna.new_recovery_code(unlocked)
        vouching.vouch()
        former = serverkeys.former()
        assert (former.older["envelopes"], former.older["slots"], former.wrong["slots"]) == (0, 0, 0)
    with with_server_keys(NEW):
        with guardians.recover(NAME, code) as unlocked:
            assert unlocked.public_key == made.secret_key.public_key
            five.now = int(time.time())
            assert not guardians.withdraw(unlocked)
        edna.unlock(recovery_code=code_on_paper).close()
    assert not any(guardian.status()["enrolments"] for guardian in five.guardians.values())


@pytest.mark.once
def test_without_the_former_key_it_is_missed_by_name_and_number_and_stays(five: Parties) -> None:
    with with_server_keys(OLD):
        bea()
        code = asked(five)
    with with_server_keys(NEW):
        with pytest.raises(errors.WrongCredentials):
            guardians.recover(NAME, code)
        assert serverkeys.former().wrong["envelopes"] == 1
        assert serverkeys.former().wrong["slots"] == 3
    with with_server_keys(NEW, OLD):
        guardians.recover(NAME, code).close()
