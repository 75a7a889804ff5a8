"""For an application's own tests of its disguises: everything returns exactly, nothing of a person is left, keys cost nothing.

In a test case::

    class LeavingTests(DisguiseAssertions, TestCase):
        def test_an_account_goes_and_returns(self):
            bea = self.person(User.objects.create_user("bea", "bea@example.org"))
            with self.assertEverythingReturns():
                receipt = bea.disguise("forum.delete-account")
                self.assertNothingLeft("bea@example.org")
                bea.reveal(receipt)

The functions serve any test runner, `DisguiseAssertions` a TestCase, and `edna.testing.plugin` pytest, which is imported nowhere else.
Uses the door (`edna`) and raw tables; knows no bag and no record.
"""

from edna.testing.assertions import (
    assert_nothing_left,
    assert_nothing_left_of,
    assert_report_is_current,
    assert_same,
    everything_returns,
)
from edna.testing.cases import DisguiseAssertions
from edna.testing.dumps import Dump, application_dump
from edna.testing.people import Person, cheap_keys

__all__ = [
    "DisguiseAssertions",
    "Dump",
    "Person",
    "application_dump",
    "assert_nothing_left",
    "assert_nothing_left_of",
    "assert_report_is_current",
    "assert_same",
    "cheap_keys",
    "everything_returns",
]
