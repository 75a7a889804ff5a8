"""What a disguise library promises, number by number: where the research prototype was seen to lose or to corrupt data.

The numbers are those of docs/invariants.md; 1 to 17 are in `test_composition`. What takes a process that is killed, or
several at once (29, 30), is in `tests.faults`; here is the part of it that one process can show.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import os
import re
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.models import IntegerField, JSONField, Value

import edna
from edna import Held, Reason, errors
from edna.crypto.keys import SecretKey
from edna.models import Bag
from tests.databases import first_everywhere
from tests.lobsters.community import OWNER_COLUMNS, TO_THE_NEXT, Community, state
from tests.lobsters.models import Comment, Draft, Message, Moderation, Story, User, Vote
from tests.lobsters.specs import (
    ANON,
    CLEAR_DRAFTS,
    CLEAR_MESSAGES,
    GDPR,
    HIDE_PROFILE,
    REDACT_COMMENTS,
    REDACT_DRAFTS,
    REDACT_MESSAGES,
)
from tests.support import (
    counts,
    edna_dump,
    flipped,
    in_another_process,
    nothing_changes,
    vouch_for_what_is_there,
    with_server_keys,
)

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


def test_18_a_failed_reveal_keeps_everything_sealed_and_a_later_one_succeeds(community: Community) -> None:
    """Somebody took the user name: the account waits for it, and everything else for the account."""
    ann = community.ann
    [receipt] = ann.applies(GDPR)[ann.pk]
    sealed = ann.history()[0].counts
    squatter = User.objects.create(username="ann")

    with nothing_changes(), pytest.raises(errors.RevealRefused):
        ann.reveal(receipt, allow_partial=False)
    gone = state()
    outcome = ann.reveal(receipt)
    assert Held("lobsters.user", ann.pk, Reason.UNIQUE_TAKEN, "username") in outcome.held
    assert state() == gone
    [entry] = ann.history()
    assert (entry.receipt, entry.counts) == (receipt, sealed)

    squatter.delete()
    assert ann.reveal(receipt).complete
    assert community.is_as_before()


def test_18_a_partial_reveal_keeps_what_is_left_sealed_and_a_later_one_succeeds(community: Community) -> None:
    ann = community.ann
    taken = Story.objects.filter(user=ann.pk).earliest("pk")
    [receipt] = ann.applies(GDPR)[ann.pk]
    squatter = Story.objects.create(pk=taken.pk, user=community.bob.user, url="https://c.example", title="Mine")

    outcome = ann.reveal(receipt)
    assert Held("lobsters.story", taken.pk, Reason.ROW_EXISTS) in outcome.held
    assert outcome.restored["lobsters.user"] == 1
    assert len(ann.owns(Story)) == 2
    [entry] = ann.history()
    assert sum(entry.counts.values()) == len({(held.model, held.pk) for held in outcome.held})

    squatter.delete()
    assert ann.reveal(receipt).complete
    assert community.is_as_before()


def test_19_a_dangling_row_holds_back_that_row_only(community: Community) -> None:
    """A vote for a story that is gone stays sealed; the other votes come back."""
    ann = community.ann
    votes = ann.owns(Vote)
    story = Story.objects.create(user=community.cat.user, url="https://c.example", title="Short-lived")
    vote = Vote.objects.create(user=ann.user, story=story)
    [receipt] = ann.applies(GDPR)[ann.pk]
    story.delete()

    outcome = ann.reveal(receipt)

    assert outcome.held == [Held("lobsters.vote", vote.pk, Reason.REFERENCE_MISSING, "story")]
    assert ann.owns(Vote) == votes
    assert state() == community.before
    assert ann.history()[0].counts == {"lobsters.vote": 1}


def test_20_a_row_that_somebody_else_made_meanwhile_is_never_overwritten(community: Community) -> None:
    ann, bob = community.ann, community.bob
    comment = Comment.objects.filter(user=ann.pk).latest("pk")
    [receipt] = ann.applies(GDPR)[ann.pk]
    newcomer = User.objects.create(username="ann", about="I am another Ann")
    Comment.objects.create(pk=comment.pk, user=bob.user, text="Mine")

    outcome = ann.reveal(receipt, overrides={"lobsters.User.username": "ann2"})

    assert outcome.held == [Held("lobsters.comment", comment.pk, Reason.ROW_EXISTS)]
    newcomer.refresh_from_db()
    assert (newcomer.username, newcomer.about) == ("ann", "I am another Ann")
    assert User.objects.get(pk=ann.pk).username == "ann2"
    assert Comment.objects.get(pk=comment.pk).text == "Mine"


def test_21_a_modified_column_of_the_user_row_is_reversed(community: Community) -> None:
    hidden = community.ann.applies(HIDE_PROFILE)
    row = User.objects.get(pk=community.ann.pk)
    # Random letters may well spell a short name; there is nothing beside them.
    assert re.fullmatch(r"[a-z2-7]+ [a-z2-7]+@anonymous\.invalid ", f"{row.username} {row.email} {row.about}")
    community.ann.takes_back(hidden)
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("anon_first", [True, False])
def test_21_a_modified_row_of_a_pseudoprincipal_goes_with_it(community: Community, anon_first: bool) -> None:
    """A disguise of everybody modifies the rows of pseudoprincipals, too. Nobody has to reverse that once they are gone."""
    rounds = [community.everybody(ANON), community.everybody(HIDE_PROFILE)]
    community.all_take_back(rounds[0 if anon_first else 1])
    for member in community.members:
        member.reveal_everything()
    assert community.is_as_before()


#: On each database; SQLite has all there are. The others differ in what records say, which no database changes.
EVERYWHERE = [(0, 1, 2, 3), (1, 3, 0, 2), (2, 0, 3, 1), (3, 2, 1, 0)]


def test_22_anon_three_times_then_gdpr_is_revealed_in_every_order(small_community: Community) -> None:
    """3 is the gdpr, which removes everything at whatever depth. The rows are there from its reveal on, and Ann's again after the
    last of the four.
    """
    ann = small_community.ann
    mine = {(model, name): ann.owns(model, name) for model, name in OWNER_COLUMNS}
    rounds = [small_community.everybody(ANON) for _ in range(3)]
    rounds.append(ann.applies(GDPR, with_key=True))
    alone = [(Story, "user"), (Comment, "user"), (Vote, "user")]
    for model, name in alone:
        assert not model.objects.filter(pk__in=mine[model, name]).exists()
    orders = [*permutations(range(4))] if connection.vendor == "sqlite" else EVERYWHERE
    #: What the others' disguises leave when Ann has everything, in the application's tables and in edna's.
    left: list[tuple[Any, Any]] = []

    def go_on(begun: tuple[int, ...]) -> None:
        """Whatever may follow these reveals: each way is gone from here, and gone back."""
        if len(begun) == 4:
            others_come_back(begun)
            return
        for number in sorted({order[len(begun)] for order in orders if order[: len(begun)] == begun}):
            with gone_back():
                ann.takes_back(rounds[number])
                revealed = {*begun, number}
                for model, name in alone:
                    there = model.objects.filter(pk__in=mine[model, name])
                    assert there.count() == (len(mine[model, name]) if 3 in revealed else 0)
                    assert len(revealed) == 4 or small_community.is_pseudonymous(*there.values_list(name, flat=True))
                go_on((*begun, number))

    def others_come_back(order: tuple[int, ...]) -> None:
        assert {(model, name): ann.owns(model, name) for model, name in OWNER_COLUMNS} == mine
        now = state(), edna_dump()
        if now in left and order not in EVERYWHERE:
            return  # to the byte what they have come back from
        left.append(now)
        for number in order[:3] if 3 not in order[:3] else (2, 0, 1):
            small_community.bob.takes_back(rounds[number])
            small_community.cat.takes_back(rounds[2 - number])
        assert small_community.is_as_before()

    go_on(())
    assert len(left) >= len(EVERYWHERE)


@contextlib.contextmanager
def gone_back() -> Iterator[None]:
    """What the block does is undone."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.once
@pytest.mark.parametrize("name", [CLEAR_MESSAGES, GDPR])
def test_23_the_co_owner_of_a_row_that_was_removed_and_revealed_is_still_its_owner(
    community: Community, name: str
) -> None:
    """Bob did nothing; a second removal and reveal works as the first."""
    ann, bob = community.ann, community.bob
    received = bob.owns(Message, "recipient")
    for _ in range(2):
        removed = ann.applies(name)
        assert bob.owns(Message, "recipient") == received
        ann.takes_back(removed)
        assert bob.owns(Message, "recipient") == received
        assert community.is_as_before()


STRANGE: dict[str, list[Any]] = {
    "text": [
        "",
        "NULL",
        "True",
        "'; DROP TABLE x; --",
        'a "quote"',
        "back\\slash",
        "%s %(x)s",
        " blanks ",
        "\N{PILE OF POO}\U0010ffff",
        "e\u0301 \u00e9",
    ],
    "code": ["007", "", "1e3", "nan", "é", "\N{PILE OF POO}", "\r\n\t"],
    "blob": [b"", b"\x00", b"\xff\xfe\x80 not text", b"'\\\"", bytes(range(256)), b"NULL"],
    "big": [2**63 - 1, -(2**63), 0, -1],
    "amount": [decimal.Decimal("1.500000"), decimal.Decimal("-0.000001"), decimal.Decimal("99999999999999.999999")],
    "moment": [
        datetime.datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=datetime.UTC),
        datetime.datetime(2024, 3, 31, 2, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=45))),
        datetime.datetime(1, 1, 2, tzinfo=datetime.UTC),
    ],
    "data": [Value(None, JSONField()), "null", "", 0, False, [], {"b": 1.5, "a": [None, "\N{PILE OF POO}"]}],
}


@pytest.mark.parametrize("name", [CLEAR_DRAFTS, REDACT_DRAFTS])
def test_24_values_survive_exactly(community: Community, name: str) -> None:
    """Each strange value in a row whose other columns are NULL; and a row of nothing but NULL."""
    ann = community.ann
    Draft.objects.create(user=ann.user)
    for column, values in STRANGE.items():
        for value in values:
            Draft.objects.create(user=ann.user, **{column: value})
    before = state()

    disguised = ann.applies(name)
    changed = set(state()["lobsters_draft"]) - set(before["lobsters_draft"])
    assert len(changed) == (0 if name == CLEAR_DRAFTS else len(before["lobsters_draft"]))

    ann.takes_back(disguised)
    assert state() == before


def test_25_a_placeholder_is_drawn_for_each_row_and_unique_columns_stay_unique(community: Community) -> None:
    redacted, hidden = community.everybody(REDACT_COMMENTS), community.everybody(HIDE_PROFILE)
    for values in (
        list(Comment.objects.values_list("text", flat=True)),
        list(User.objects.values_list("username", flat=True)),
        list(User.objects.values_list("email", flat=True)),
    ):
        assert len(set(values)) == len(values)
    community.all_take_back(hidden, redacted)
    assert community.is_as_before()


@pytest.mark.parametrize("author_first", [True, False])
def test_26_a_modification_for_everybody_is_undone_by_whoever_comes_back_last(
    community: Community, author_first: bool
) -> None:
    """The accounts stay, and the message names both: it is changed for each of them, so that neither reads it while the other is away."""
    ann, bob = community.ann, community.bob
    message = Message.objects.get(author=ann.pk, recipient=bob.pk)
    redacted = community.everybody(REDACT_MESSAGES)
    first, last = (ann, bob) if author_first else (bob, ann)

    first.tries_to_take_back(redacted)
    message.refresh_from_db()
    assert message.body == "[redacted]"

    last.tries_to_take_back(redacted)
    message.refresh_from_db()
    assert message.body == TO_THE_NEXT
    community.cat.tries_to_take_back(redacted)
    for member in (ann, bob):
        for entry in member.history():
            assert member.reveal(entry.receipt).complete
    assert community.is_as_before()


@pytest.mark.parametrize("author_first", [True, False])
def test_26_both_owners_modify_a_row_to_the_same_value(community: Community, author_first: bool) -> None:
    """The second one lies over the first although the value is the same: what was there comes back with whoever comes back last."""
    ann, bob = community.ann, community.bob
    [theirs] = Message.objects.filter(author=ann.pk, recipient=bob.pk)
    rounds = [(ann, ann.applies(REDACT_MESSAGES)), (bob, bob.applies(REDACT_MESSAGES))]
    first, redacted = rounds[0 if author_first else 1]
    held = first.tries_to_take_back(redacted) if author_first else first.takes_back(redacted)
    assert {each.reason for each in held or ()} == ({Reason.OWNER_AWAY} if author_first else set())
    assert Message.objects.get(pk=theirs.pk).body == "[redacted]"
    for member, receipts in rounds[::-1]:
        if member is not first:
            member.takes_back(receipts)
    assert Message.objects.get(pk=theirs.pk) == theirs
    if author_first:
        first.takes_back(redacted)  # nothing is left of it
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("name", [REDACT_MESSAGES, CLEAR_MESSAGES, GDPR])
def test_26_a_co_owner_cannot_reveal_somebody_elses_disguise(community: Community, name: str) -> None:
    """Not with their own key, not with the receipt of the other; and not the other way round."""
    for member, other in ((community.ann, community.bob), (community.bob, community.ann)):
        disguised = member.applies(name)
        [receipt] = disguised[member.pk]
        assert other.history() == []
        with nothing_changes(), pytest.raises(errors.ReceiptForeign):
            other.reveal(receipt)
        member.takes_back(disguised)
        assert community.is_as_before()


#: Until the fixture has put 0 there.
THE_SITE = -1


@pytest.fixture
def odd_owners(community: Community) -> tuple[Community, User]:
    """Rows whose other owner is nobody, the site itself (0, which has no row), or somebody without a key."""
    stranger = User.objects.create(username="stranger")
    ann = community.ann.pk
    for other in (None, THE_SITE, stranger.pk):
        Moderation.objects.create(moderator_id=other, user_id=ann, action="moderated")
        Moderation.objects.create(moderator_id=ann, user_id=other, action="moderated")
    for other in (None, stranger.pk):
        Message.objects.create(author_id=other, recipient_id=ann, body="A message")
        Message.objects.create(author_id=ann, recipient_id=other, body="A message")
    Moderation.objects.create(moderator_id=THE_SITE, user_id=None, action="moderated itself")
    for name in ("moderator", "user"):
        # On MariaDB, Django refuses to write 0 into a reference to an automatic key, and databases are full of them.
        Moderation.objects.filter(**{name: THE_SITE}).update(**{name: Value(0, IntegerField())})
    community.before = state()
    return community, stranger


def test_27_missing_sentinel_and_unregistered_owners_are_left_by_one_owners_disguise(
    odd_owners: tuple[Community, User],
) -> None:
    """Nobody and the site do not keep a message alive; somebody without a key is a person as any other, and does."""
    community, stranger = odd_owners
    ann = community.ann.pk
    kept = Message.objects.filter(author=stranger.pk).count() + Message.objects.filter(recipient=stranger.pk).count()

    gdpr = community.ann.applies(GDPR)

    assert kept == 2
    for name in ("author", "recipient"):
        assert not Message.objects.filter(**{f"{name}__isnull": True}).exists()
        assert Message.objects.filter(**{name: stranger.pk}).count() == 1
    for name in ("moderator", "user"):
        assert Moderation.objects.filter(**{name: 0}).count() >= 1
        assert not Moderation.objects.filter(**{name: ann}).exists()
    community.ann.takes_back(gdpr)
    assert community.is_as_before()


def test_27_a_global_disguise_leaves_owners_that_are_nobody(odd_owners: tuple[Community, User]) -> None:
    community, stranger = odd_owners
    Moderation.objects.filter(moderator=stranger.pk).delete()
    Moderation.objects.filter(user=stranger.pk).delete()
    stranger.delete()
    community.before = state()
    empty = [
        Moderation.objects.filter(**{name: other}).count() for name in ("moderator", "user") for other in (0, None)
    ]

    preview = edna.plan_all(ANON)
    meant = sum(owner != 0 for owner in community.owners())

    anon = community.everybody(ANON)

    assert preview.pseudoprincipals == meant
    assert sum(table.rows for table in preview.tables) == preview.rows
    assert empty == [
        Moderation.objects.filter(**{name: other}).count() for name in ("moderator", "user") for other in (0, None)
    ]
    assert community.is_pseudonymous(*(owner for owner in community.owners() if owner != 0))
    community.all_take_back(anon)
    assert community.is_as_before()


@pytest.mark.once
def test_27_a_global_disguise_refuses_owners_without_a_key(odd_owners: tuple[Community, User]) -> None:
    with nothing_changes(), pytest.raises(errors.UnregisteredOwners, match=r"1 owner\(s\)"):
        edna.disguise_all(ANON)


@pytest.mark.once
def test_28_a_wrong_key_password_or_receipt_is_an_error_and_changes_nothing(community: Community) -> None:
    ann, bob = community.ann, community.bob
    [receipt] = ann.applies(GDPR)[ann.pk]
    [other] = bob.applies(CLEAR_MESSAGES)[bob.pk]
    text = str(receipt)
    wrong: list[tuple[type[errors.EdnaError], Callable[[], Any]]] = [
        (errors.PrincipalNotRegistered, lambda: edna.unlock(secret_key=SecretKey.generate())),
        (errors.WrongCredentials, lambda: edna.unlock(identifier="ann", password="wrong")),
        (errors.ReceiptForeign, lambda: bob.reveal(receipt)),
        (errors.ReceiptForeign, lambda: ann.reveal(other)),
        (errors.ReceiptMalformed, lambda: ann.reveal(text[:-1])),
        (errors.ReceiptMalformed, lambda: ann.reveal(text.replace(GDPR, ANON))),
        (errors.ReceiptUnknown, lambda: ann.reveal(edna.Receipt(GDPR, type(receipt.locator).new()))),
    ]
    for error, attempt in wrong:
        with nothing_changes(), pytest.raises(error):
            attempt()
    ann.reveal(text)
    with nothing_changes(), pytest.raises(errors.ReceiptUnknown):
        ann.reveal(text)


@pytest.mark.django_db(transaction=True)
def test_29_restarting_the_process_loses_nothing(community: Community) -> None:
    """One process disguises two members and ends; another, with nothing but their keys and receipts as text, reveals."""
    ann, bob = community.ann, community.bob
    key = ann.secret_key.expose_text()
    reading, writing = os.pipe()

    def disguise() -> None:
        receipts = [str(member.applies(GDPR)[member.pk][0]) for member in (ann, bob)]
        os.write(writing, "\n".join(receipts).encode())

    assert in_another_process(disguise) == 0
    os.close(writing)
    with os.fdopen(reading) as pipe:
        mine, others = pipe.read().split("\n")
    assert not User.objects.filter(pk__in=[ann.pk, bob.pk]).exists()

    def reveal() -> None:
        with edna.unlock(secret_key=key) as unlocked:
            edna.reveal(mine, unlocked)

    assert in_another_process(reveal) == 0
    assert bob.reveal(others).complete
    # A comment of Ann's stood below one of Bob's, and waited for it.
    assert in_another_process(reveal) == 0
    assert community.is_as_before()


class _Stop(Exception):
    pass


class _FailAt:
    """Raises before the n-th statement that changes something. ``reached``: whether there was one."""

    def __init__(self, number: int) -> None:
        self.number, self.seen = number, 0

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.split(" ", 1)[0] in ("INSERT", "UPDATE", "DELETE"):
            self.seen += 1
            if self.reached:
                raise _Stop
        return execute(sql, params, many, context)

    @property
    def reached(self) -> bool:
        return self.seen >= self.number


def test_30_an_error_in_the_middle_leaves_the_database_as_before(small_community: Community) -> None:
    """Before each statement that changes something. `tests.faults` kills the process instead, at each of them."""
    ann = small_community.ann
    anon = small_community.everybody(ANON)
    gdpr: list[Any] = []
    assert _fails_everywhere(lambda: gdpr.append(ann.disguise(GDPR, with_key=True))) > 10
    assert _fails_everywhere(lambda: ann.reveal(gdpr[0])) > 10
    small_community.all_take_back(anon)
    assert small_community.is_as_before()


def _fails_everywhere(work: Callable[[], Any]) -> int:
    """Try ``work`` with an error at each place in turn until it gets through; how many places there are."""
    number = 0
    while True:
        number += 1
        failing = _FailAt(number)
        before = state(), edna_dump()
        try:
            with connection.execute_wrapper(failing):
                work()
        except _Stop:
            assert (state(), edna_dump()) == before
        if not failing.reached:
            return number - 1


def _swap(own: Bag, other: Bag) -> None:
    # As rows that have each other's index and number: one with the index alone is found by nobody (`edna_verify`: bag_index).
    Bag.objects.filter(pk=other.pk).update(sealed=own.sealed)
    Bag.objects.filter(pk=own.pk).update(sealed=other.sealed)


def _copy(own: Bag, other: Bag) -> None:
    Bag.objects.filter(pk=own.pk).update(sealed=other.sealed)


def _edit(own: Bag, _: Bag) -> None:
    Bag.objects.filter(pk=own.pk).update(sealed=flipped(bytes(own.sealed), len(own.sealed) // 2))


@first_everywhere("tamper", [_swap, _copy, _edit])
@first_everywhere("whose", ["one's own", "somebody else's"])
def test_31_a_swapped_or_edited_bag_is_refused_and_kept(
    community: Community, tamper: Callable[[Bag, Bag], None], whose: str
) -> None:
    """With a bag of the same person, and with one that another person's key opens."""
    ann = community.ann
    [receipt] = ann.applies(REDACT_COMMENTS)[ann.pk]
    own = Bag.objects.get()
    (ann if whose == "one's own" else community.bob).applies(HIDE_PROFILE)
    tamper(own, Bag.objects.exclude(pk=own.pk).get())
    with nothing_changes(), pytest.raises((errors.BagError, errors.ReceiptForeign)):
        ann.reveal(receipt)


@pytest.mark.once
def test_31_a_forged_bag_is_refused_and_kept(community: Community) -> None:
    """Whoever can write to the database knows every public key and can make a bag; only this site's MAC key makes it valid."""
    ann = community.ann
    own = settings.EDNA["MAC_KEYS"]  # without them, whose key it is would not be believed
    with with_server_keys("a key that this site does not have", *own):
        [receipt] = ann.applies(CLEAR_MESSAGES)[ann.pk]
    vouch_for_what_is_there()
    with nothing_changes(), pytest.raises(errors.BagForged):
        ann.reveal(receipt)


@pytest.mark.once
def test_31_a_bag_that_is_put_back_after_its_reveal_is_refused_and_kept(community: Community) -> None:
    ann = community.ann
    [receipt] = ann.applies(CLEAR_MESSAGES)[ann.pk]
    bags = list(Bag.objects.all())
    ann.reveal(receipt)
    Bag.objects.bulk_create(bags)
    with nothing_changes(), pytest.raises(errors.BagError):
        ann.reveal(receipt)


def test_32_primary_keys_of_pseudoprincipals_do_not_collide_with_real_or_future_rows(community: Community) -> None:
    """Real keys count up from 1; those of pseudoprincipals are below zero, and the counter does not notice them."""
    last = User.objects.create(username="last").pk
    User.objects.filter(pk=last).delete()
    rounds = [community.everybody(ANON) for _ in range(2)]
    assert community.pseudoprincipals()
    assert max(community.pseudoprincipals()) < 0
    assert User.objects.create(username="next").pk == last + 1

    gdpr = community.ann.applies(GDPR, with_key=True)
    assert User.objects.create(username="next but one").pk == last + 2
    community.ann.takes_back(gdpr)
    User.objects.filter(username__startswith="next").delete()
    community.all_take_back(rounds[1], rounds[0])
    assert community.is_as_before()


@pytest.mark.slow
def test_33_cycles_of_disguise_and_reveal_leave_no_residue(small_community: Community) -> None:
    """300 on SQLite, 50 elsewhere: of account removals, and of a message that both owners remove."""
    cycles = 300 if connection.vendor == "sqlite" else 50
    ann, bob = small_community.ann, small_community.bob
    rows = counts()
    for cycle in range(cycles):
        if cycle % 10:
            name = (CLEAR_MESSAGES, REDACT_COMMENTS)[cycle % 2]
            receipts = [(member, member.disguise(name)) for member in (ann, bob)]
        else:
            receipts = [(ann, ann.disguise(ANON)), (ann, ann.disguise(GDPR, with_key=True))]
        for member, receipt in receipts[:: -1 if cycle % 4 else 1]:
            assert member.reveal(receipt).held == []
        assert cycle % 100 or counts() == rows
    assert small_community.is_as_before()
