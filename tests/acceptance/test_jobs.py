"""Rows with several owners in a job, whose owners are in different batches: as if everybody had been disguised at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

import edna
from edna import Decorrelate, Disguise, Modify, placeholders
from edna.engine.chunks import everybody
from edna.engine.disguising import execute as disguising
from edna.engine.planning import division
from edna.operations import jobs
from edna.operations.jobs import JobState
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.installed import registering
from tests.lobsters import specs
from tests.lobsters.community import Community
from tests.lobsters.models import MODELS, Message, Moderation, User
from tests.lobsters.specs import ANON

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

DISGUISES = [specs.ANON, specs.GDPR, specs.DECAY, specs.CLEAR_MESSAGES, specs.REDACT_MESSAGES, specs.REDACT_COMMENTS]


def outcome(community: Community) -> dict[str, Any]:
    """What the disguise has come to, but for keys, which are random."""
    sizes = {model.__name__: model.objects.count() for model in MODELS}
    bodies = Counter(Message.objects.values_list("body", flat=True))
    anonymous = community.pseudoprincipals()
    owners = Counter(
        tuple("anonymous" if owner in anonymous else owner for owner in pair)
        for pair in Moderation.objects.values_list("moderator", "user")
    )
    histories = {member.pk: len(member.history()) for member in community.members}
    return {"sizes": sizes, "bodies": bodies, "moderations": owners, "histories": histories}


@first_everywhere("batch", [1, 2, 50])
@pytest.mark.parametrize("name", DISGUISES)
def test_shared_rows_across_batches(
    name: str, batch: int, community: Community, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who comes first leaves first: in the same order, and as many at once.
    monkeypatch.setattr(everybody, "_AT_ONCE", batch)
    monkeypatch.setattr("edna.operations.jobs.runner.secrets.randbelow", lambda _: 0)
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": batch}
    with transaction.atomic():
        edna.disguise_all(name)
        at_once = outcome(community)
        transaction.set_rollback(True)
    report = jobs.run(jobs.start(name).id)
    assert (report.state, report.done, report.failed) == (JobState.FINISHED, len(community.members), 0)
    if batch != 2:  # of three people, which two come first is chance
        assert outcome(community) == at_once
    for _ in range(4):
        for member in community.members:
            for entry in member.history():
                member.reveal(entry.receipt)
    assert application_dump() == community.before


# Whose first owner takes no part

BOTH = ("moderator", "user")


class Reword(Disguise):
    """What was said goes with the names."""

    name = "lobsters.reword"
    transformations = (Modify(Moderation, BOTH, {"action": "[gone]"}), Decorrelate(Moderation, BOTH))


def in_one() -> None:
    edna.disguise_all(Reword.name, staff=False)


def in_parts() -> None:
    edna.disguise_all(Reword.name, staff=False, atomic=False)


def in_a_job() -> None:
    report = jobs.run(jobs.start(Reword.name).id)
    assert (report.state, report.failed, report.left) == (JobState.FINISHED, 0, 0)


@pytest.fixture(params=[in_one, in_parts, in_a_job])
def everybody_one_by_one(
    request: Any, settings: Any, community: Community, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], None]]:
    """But for the first member, who runs the site."""
    staff = {"lobsters.user": {"username": community.members[0].user.username}}
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": 1, "STAFF": staff}
    monkeypatch.setattr(everybody, "_AT_ONCE", 1)
    Moderation.objects.all().delete()
    with registering(Reword):
        yield request.param


def actions() -> set[str]:
    return set(Moderation.objects.values_list("action", flat=True))


def test_a_row_whose_first_owner_takes_no_part_is_the_next_ones(
    community: Community, everybody_one_by_one: Callable[[], None]
) -> None:
    """Behaviours 27: of nobody, of NULL, and of somebody who is left out. The names went, and the words stayed."""
    operator, *others = community.members
    for first in (None, 998_877, operator.pk):
        for other in others:
            Moderation.objects.create(moderator_id=first, user=other.user, action=f"secret of {other.pk}")
    before = application_dump()
    everybody_one_by_one()
    assert actions() == {"[gone]"}
    assert not Moderation.objects.filter(user__in=[other.pk for other in others]).exists()
    for member in community.members:
        member.reveal_everything()
    assert application_dump() == before


def test_a_row_of_two_who_take_part_is_modified_once(
    community: Community, everybody_one_by_one: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the first of them, whoever's turn comes first: also where a pseudoprincipal has taken that one's place."""
    _, one, other = community.members
    for first, second in ((one, other), (other, one)):
        Moderation.objects.create(moderator=first.user, user=second.user, action=f"secret of {first.pk}")
    before, taken, real = application_dump(), Counter[Any](), division._first_owners

    def first_owners(rows: Sequence[Any], *args: Any) -> Any:
        found = real(rows, *args)
        taken.update(row[0] for row, target in found if target is not None)
        return found

    monkeypatch.setattr(division, "_first_owners", first_owners)
    everybody_one_by_one()
    assert sorted(taken.values()) == [1, 1]
    assert actions() == {"[gone]"}
    away = {one.pk, other.pk}
    for member in community.members:
        for entry in member.history():
            member.reveal(entry.receipt)
        away.discard(member.pk)
        assert not away or actions() == {"[gone]"}  # what both own waits for the last of them
    for member in community.members:
        member.reveal_everything()
    assert application_dump() == before


def test_a_pseudoprincipal_whose_row_is_gone_is_nobody(
    community: Community, everybody_one_by_one: Callable[[], None]
) -> None:
    """Deleted behind edna's back, with an entry that stays."""
    _, one, other = community.members
    row = Moderation.objects.create(moderator=one.user, user=other.user, action="secret")
    one.disguise(ANON)
    row.refresh_from_db()
    assert row.moderator_id != one.pk
    QuerySet(User).filter(pk=row.moderator_id)._raw_delete(using="default")
    everybody_one_by_one()
    assert actions() == {"[gone]"}


# Whose first owner takes no turn after all


def pair(community: Community) -> tuple[Any, Any]:
    """Two of the members, with a row of both for each order of them."""
    _, one, other = community.members
    Moderation.objects.all().delete()
    for first, second in ((one, other), (other, one)):
        Moderation.objects.create(moderator=first.user, user=second.user, action=f"secret of {first.pk}")
    return one, other


@pytest.fixture
def reword(settings: Any) -> Iterator[None]:
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": 1}
    with registering(Reword):
        yield


def everybody_returns(community: Community, before: Any) -> None:
    for _ in range(2):
        for member in community.members:
            for entry in member.history():
                member.reveal(entry.receipt)
    assert application_dump() == before


@pytest.mark.usefixtures("reword")
def test_a_row_is_modified_also_if_one_of_its_owners_fails(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever's turn comes takes it: it was left to the first owner listed, who failed."""
    one, _ = pair(community)
    before, real = application_dump(), disguising.execute

    def execute(plan: Any, **kwargs: Any) -> Any:
        if any(target.entry.reference == str(one.pk) for target in plan.targets):
            raise IntegrityError("refused")
        return real(plan, **kwargs)

    monkeypatch.setattr(disguising, "execute", execute)
    report = jobs.run(jobs.start(Reword.name).id)
    assert (report.failed, report.left) == (1, 0)
    assert actions() == {"[gone]"}
    monkeypatch.undo()
    assert jobs.run(jobs.retry(report.id).id).failed == 0
    assert actions() == {"[gone]"}
    assert not Moderation.objects.filter(user=one.pk).exists()
    everybody_returns(community, before)


@pytest.mark.usefixtures("reword")
def test_a_row_is_modified_also_if_one_of_its_owners_has_left_a_pseudoprincipal_in_their_place(
    community: Community,
) -> None:
    """By another disguise, after the list was made: it counted as somebody whose turn had been."""
    one, _ = pair(community)
    before = application_dump()
    job = jobs.start(Reword.name)
    one.disguise(ANON)
    assert not Moderation.objects.filter(moderator=one.pk).exists()
    assert jobs.run(job.id).failed == 0
    assert actions() == {"[gone]"}
    everybody_returns(community, before)


@pytest.mark.usefixtures("reword")
def test_a_row_is_modified_also_if_one_of_its_owners_is_left_out(community: Community) -> None:
    one, _ = pair(community)
    before = application_dump()
    jobs.run(jobs.start(Reword.name, but=[one.user]).id)
    assert actions() == {"[gone]"}
    everybody_returns(community, before)


@pytest.mark.usefixtures("reword")
@pytest.mark.parametrize("name", [ANON, specs.GDPR])
def test_a_row_is_modified_also_if_one_of_its_owners_leaves_before_their_part(
    community: Community, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Between two parts: the row of both had been left to whoever has gone."""
    both = pair(community)
    before = application_dump()
    monkeypatch.setattr(everybody, "_AT_ONCE", 1)
    gone: list[int] = []

    def progress(done: int, total: int) -> None:
        waiting = [each for each in both if not each.history()]
        if len(waiting) == 1 and not gone:
            gone.append(waiting[0].pk)
            waiting[0].disguise(name)

    edna.disguise_all(Reword.name, atomic=False, progress=progress)
    assert len(gone) == 1
    assert {*Moderation.objects.values_list("action", flat=True)} <= {"[gone]"}
    everybody_returns(community, before)


class Scramble(Disguise):
    """What is put there tells nobody that it was."""

    name = "lobsters.scramble"
    transformations = (
        Modify(Moderation, BOTH, {"action": placeholders.random_string()}),
        Decorrelate(Moderation, BOTH),
    )


@pytest.mark.parametrize("leaves", [True, False])
def test_what_is_drawn_anew_is_put_there_twice_where_nobody_can_tell(
    community: Community, settings: Any, *, leaves: bool
) -> None:
    settings.EDNA = {**settings.EDNA, "JOB_BATCH": 1}
    one, _ = pair(community)
    with registering(Scramble):
        before = application_dump()
        job = jobs.start(Scramble.name)
        if leaves:
            one.disguise(ANON)
        assert jobs.run(job.id).failed == 0
        assert not any("secret" in action for action in actions())
        everybody_returns(community, before)
