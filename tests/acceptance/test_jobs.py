"""Rows with several owners in a job, whose owners are in different batches: as if everybody had been disguised at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.db import transaction

import edna
from edna.engine.chunks import everybody
from edna.operations import jobs
from edna.operations.jobs import JobState
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.lobsters import specs
from tests.lobsters.community import Community
from tests.lobsters.models import MODELS, Message, Moderation

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
