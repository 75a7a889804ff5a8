"""``manage.py hotcrp_seed``: as many rows as there are said to be, the same ones each time, and everybody can leave."""

from __future__ import annotations

import random
import re
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

import edna
from apps.hotcrp_sim import models as m
from apps.hotcrp_sim import seeding
from apps.hotcrp_sim.auth import identifier
from apps.hotcrp_sim.management.commands.hotcrp_seed import DEMO_PASSWORD

from .conftest import ANONYMIZE, REMOVE, dump, nobody_left, owned_by

pytestmark = pytest.mark.long

USERS, PC, PAPERS = 20, 12, 22


def seed(**options: Any) -> str:
    output = StringIO()
    call_command(
        "hotcrp_seed", stdout=output, stderr=StringIO(), **{"users": USERS, "pc": PC, "papers": PAPERS, **options}
    )
    return output.getvalue()


@pytest.mark.django_db
def test_every_paper_has_what_a_paper_has() -> None:
    seed(no_register=True)
    assert m.ContactInfo.objects.count() == USERS + PC
    assert m.ContactInfo.objects.filter(roles=m.PC).count() == PC
    assert m.ContactInfo.objects.get(email=seeding.DEMO_CHAIR).roles == m.CHAIR | m.ADMINISTRATOR
    assert m.Paper.objects.filter(outcome__gt=0).count() == PAPERS / seeding.PAPERS_PER_ACCEPTED
    for paper in m.Paper.objects.all():
        authors = [author.contact for author in paper.authors.order_by("position")]
        assert len({*authors}) == 2
        assert not any(author.roles for author in authors)
        assert paper.lead_contact == authors[0]
        assert paper.manager_contact.is_pc
        assert (paper.shepherd_contact is None) == (paper.outcome < 0)
        conflicts = Counter(paper.conflicts.values_list("conflict_type", flat=True))
        assert conflicts == {m.AUTHOR: 2, m.COLLABORATOR: 2}
        reviewers = set(paper.reviews.values_list("contact", flat=True))
        assert len(reviewers) == 8
        assert not reviewers & set(paper.conflicts.values_list("contact", flat=True))
        assert set(paper.preferences.values_list("contact", flat=True)) == reviewers
        assert set(paper.watches.values_list("contact", flat=True)) == reviewers | {author.pk for author in authors}
        assert Counter(bool(kind & m.BY_AUTHOR) for kind in paper.comments.values_list("comment_type", flat=True)) == {
            True: 3,
            False: 3,
        }
        assert paper.topics.exists()


@pytest.mark.django_db
def test_every_kind_of_row_and_some_of_everything_for_the_demo_people() -> None:
    seed(no_register=True)
    empty = [name for name, rows in dump().items() if not rows]
    assert empty == []
    bea, rae = (m.ContactInfo.objects.get(email=email) for email in (seeding.DEMO_AUTHOR, seeding.DEMO_REVIEWER))
    assert {"PaperAuthor.contact", "PaperConflict.contact", "PaperWatch.contact", "Paper.lead_contact"} <= set(
        owned_by([bea.pk])
    )
    assert {"PaperReview.contact", "PaperReviewPreference.contact", "ReviewRating.contact"} <= set(owned_by([rae.pk]))
    assert m.Paper.objects.filter(shepherd_contact=0).exists()
    assert m.PaperReview.objects.filter(requested_by=0).exists()


@pytest.mark.slow
def test_at_the_published_scale_a_member_of_the_pc_has_200_to_300_rows() -> None:
    """Counted on what is drawn, without storing it."""
    source = random.Random(1)
    people = seeding.make_people(3000, 80, "", source)
    for number, person in enumerate(people.everybody, start=1):
        person.pk = number
    topics = [m.TopicArea(pk=number) for number in range(1, 21)]
    papers = []
    for number, (paper, authors) in enumerate(seeding.make_papers(550, people, source), start=1):
        paper.pk = number
        papers.append((paper, authors))
    everything = [rows.rows for _, rows in seeding.about_papers(papers, people, topics, source)]
    everything.append(seeding.about_people(people, topics, source).rows)
    counts: Counter[int] = Counter()
    for row in (
        *(paper for paper, _ in papers),
        *(row for rows in everything for table in rows.values() for row in table),
    ):
        owners = {
            getattr(row, field.attname)
            for field in row._meta.local_fields  # type: ignore[attr-defined]
            if field.related_model is m.ContactInfo
        }
        counts.update(owners - {0, None})
    pc = sorted(counts[person.pk] for person in people.pc)
    assert 200 <= pc[0] <= pc[-1] <= 300
    assert len(people.everybody) == 3080
    assert sum(paper.outcome > 0 for paper, _ in papers) == 50
    assert len({person.email for person in people.everybody}) == 3080


@pytest.mark.once
@pytest.mark.slow
@pytest.mark.django_db
def test_the_same_seed_makes_the_same_data() -> None:
    seen = []
    for number in (5, 5, 6):
        seed(seed=number, no_register=True)
        rows = dump()
        # Numbers that the database gave go on counting when everything is deleted.
        seen.append((rows["Settings"], [row[1:] for row in rows["ContactInfo"]], [row[1:4] for row in rows["Paper"]]))
        for model in (
            m.ReviewRating,
            m.PaperReview,
            m.Paper,
            m.ContactInfo,
            m.TopicArea,
            m.Settings,
            m.Capability,
            m.ActionLog,
        ):
            model.objects.all().delete()
    assert seen[0] == seen[1] != seen[2]


@pytest.mark.once
@pytest.mark.django_db
def test_everybody_has_a_key_and_the_demo_people_a_password(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    output = seed(keys_file=path)
    keys = dict(line.split(",") for line in path.read_text().splitlines())
    assert path.stat().st_mode & 0o077 == 0
    assert len(keys) == USERS + PC
    assert edna.unregistered(list(m.ContactInfo.objects.all())) == []
    found = re.search(r"Recovery code of bea@example.org: (\S+)", output)
    assert found
    with edna.unlock(recovery_code=found[1]) as unlocked:
        assert edna.principal(unlocked) == m.ContactInfo.objects.get(email=seeding.DEMO_AUTHOR)
    for email in (seeding.DEMO_AUTHOR, seeding.DEMO_REVIEWER, seeding.DEMO_CHAIR):
        with edna.unlock(identifier=identifier(email), password=DEMO_PASSWORD) as unlocked:
            assert edna.principal(unlocked) == m.ContactInfo.objects.get(email=email)


@pytest.mark.django_db
def test_a_seeded_conference_can_be_left_and_anonymised_and_be_as_before(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    seed(keys_file=path)
    keys = dict(line.split(",") for line in path.read_text().splitlines())
    before = dump()
    rae = m.ContactInfo.objects.get(email=seeding.DEMO_REVIEWER)
    edna.disguise_all(ANONYMIZE)
    with edna.unlock(secret_key=keys[seeding.DEMO_REVIEWER]) as unlocked:
        edna.disguise(REMOVE, rae, unlocked=unlocked)
    for key in keys.values():
        with edna.unlock(secret_key=key) as unlocked:
            for entry in edna.history(unlocked):
                assert not edna.reveal(entry.receipt, unlocked).held
    assert nobody_left()
    assert dump() == before


@pytest.mark.once
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"pc": 9}, "--pc 10"),
        ({"users": 2}, "--users 3"),
        ({"papers": 0}, "--papers 1"),
        ({"scale": 0.0}, "--scale"),
        ({"no_register": True, "keys_file": "x"}, "makes no keys"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        seed(**options)
    assert not m.ContactInfo.objects.exists()


@pytest.mark.once
@pytest.mark.django_db
def test_a_scale_makes_a_smaller_conference() -> None:
    seed(users=40, pc=100, papers=100, scale=0.05, no_register=True)
    on_the_pc = m.ContactInfo.objects.filter(roles=m.PC).count()
    assert (m.ContactInfo.objects.count() - on_the_pc, on_the_pc, m.Paper.objects.count()) == (3, 10, 5)


@pytest.mark.once
@pytest.mark.django_db
def test_existing_data_is_never_touched() -> None:
    m.ContactInfo.objects.create_user("ada@example.org")
    with pytest.raises(CommandError, match="data already"):
        seed()
    assert m.ContactInfo.objects.count() == 1
