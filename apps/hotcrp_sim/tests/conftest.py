"""A small conference in which everybody has a bit of everything, and ways to compare and to search the whole database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db.models import ForeignKey
from django.utils import timezone

import edna
from apps.hotcrp_sim import models as m
from apps.hotcrp_sim.auth import identifier
from apps.showcase.tests import tables
from apps.showcase.tests.tables import Rows

PASSWORD = "a long walk home"
REMOVE, ANONYMIZE = "hotcrp.remove-account", "hotcrp.anonymize-conference"
#: The steps leave these alone when the conference is anonymised: links to set a password, which say nothing about papers.
NOT_ANONYMISED = "Capability.contact"


@dataclass
class Person:
    """Somebody with an account and a key. Every text of theirs begins with their name."""

    contact: m.ContactInfo
    secret_key: Any
    recovery_code: str

    @property
    def pk(self) -> int:
        return self.contact.pk

    @property
    def name(self) -> str:
        return self.contact.email.partition("@")[0]

    @property
    def traces(self) -> list[str]:
        """What would show in a copy of the database who it was. Long: random bytes must not look like it."""
        first = f"{self.name.title()}-first"
        return [f"{self.name}@example", f"{self.name}@preferred", f"{self.name}-personal", first, self.address]

    @property
    def address(self) -> str:
        """The one from which they use the site."""
        return f"2001:db8:{len(self.name)}:{ord(self.name[0])}"

    def unlock(self) -> edna.Unlocked:
        return edna.unlock(secret_key=self.secret_key)

    def remove(self, *, with_key: bool = False) -> edna.Receipt:
        if not with_key:
            return edna.disguise(REMOVE, self.contact)
        with self.unlock() as unlocked:
            return edna.disguise(REMOVE, edna.principal(unlocked), unlocked=unlocked)

    def reveal(self, receipt: edna.Receipt) -> edna.Outcome:
        with self.unlock() as unlocked:
            return edna.reveal(receipt, unlocked)

    def reveal_all(self, name: str) -> int:
        """Whatever this disguise did to the person, and to placeholders of theirs; how many receipts there were."""
        with self.unlock() as unlocked:
            receipts = [entry.receipt for entry in edna.history(unlocked) if entry.name == name]
            for receipt in receipts:
                assert not edna.reveal(receipt, unlocked).held
        return len(receipts)

    def history(self) -> dict[str, edna.Receipt]:
        with self.unlock() as unlocked:
            return {entry.name: entry.receipt for entry in edna.history(unlocked)}

    def owned(self) -> Counter[str]:
        """How many rows name this person, by table and owner column; their own account among them."""
        return owned_by([self.pk])


@dataclass
class Conference:
    """Bea and Carl wrote two papers, Rae and Sam review them, and there is a chair."""

    bea: Person
    carl: Person
    rae: Person
    sam: Person
    chair: Person

    @property
    def everybody(self) -> list[Person]:
        return [self.bea, self.carl, self.rae, self.sam, self.chair]


@pytest.fixture
def conference(db: None) -> Conference:
    roles = {"bea": 0, "carl": 0, "rae": m.PC, "sam": m.PC, "chair": m.CHAIR | m.ADMINISTRATOR}
    people = Conference(**{name: enrol(name, number) for name, number in roles.items()})
    topics = [m.TopicArea.objects.create(topic_name=name) for name in ("Logs", "Locks")]
    papers = [
        m.Paper.objects.create(
            title="Reversible Logs",
            author_information="\n\nGuest\tOutside\tguest@example.net\tNowhere",
            sha1=b"\0\xff'\\",
            lead_contact=people.bea.contact,
            manager_contact=people.rae.contact,
            shepherd_contact=people.sam.contact,
            outcome=1,
        ),
        m.Paper.objects.create(
            title="Fair Locks", author_information="\n", lead_contact=people.carl.contact, outcome=-1
        ),
        m.Paper.objects.create(title="Nobody's", author_information=""),
    ]
    for paper in papers[:2]:
        fill(paper, people, topics)
    for person in people.everybody:
        m.Capability.objects.create(contact=person.contact, capability_type=1, salt=f"salt-{person.pk}")
        for topic in topics:
            m.TopicInterest.objects.create(contact=person.contact, topic=topic, interest=person.pk % 3)
    m.Capability.objects.create(paper=papers[0], capability_type=2, salt="salt-of-a-paper")
    m.ActionLog.objects.create(action="The clock struck twelve")
    return people


def enrol(name: str, roles: int = 0) -> Person:
    """Somebody who has filled in the whole form."""
    contact = m.ContactInfo.objects.create_user(
        f"{name}@example.org",
        PASSWORD,
        first_name=f"{name.title()}-first",
        last_name=f"{name}-personal-last",
        affiliation=f"{name}-personal-university",
        preferred_email=f"{name}@preferred.example.org",
        phone=f"{name}-personal-phone",
        country=f"{name}-personal-land",
        collaborators=f"{name}-personal-collaborator",
        contact_tags=f"{name}-personal-tag",
        birthday=19700101,
        gender=f"{name}-personal-gender",
        data=f"{name}-personal-data",
        roles=roles,
    )
    registration = edna.register_principal(contact, password=PASSWORD, identifier=identifier(contact.email))
    return Person(contact, registration.secret_key, str(registration.recovery_code))


def fill(paper: m.Paper, people: Conference, topics: list[m.TopicArea]) -> None:
    bea, carl, rae, sam, chair = (person.contact for person in people.everybody)
    now = timezone.now()
    for position, person in enumerate((people.bea, people.carl), start=1):
        names = {
            "first_name": f"{person.name.title()}-first",
            "last_name": f"{person.name}-personal-last",
            "email": person.contact.email,
        }
        collaborators = f"{person.name}-personal-collaborator"
        m.PaperAuthor.objects.create(
            paper=paper, contact=person.contact, position=position, collaborators=collaborators, **names
        )
        m.PaperConflict.objects.create(paper=paper, contact=person.contact, conflict_type=m.AUTHOR)
    m.PaperConflict.objects.create(paper=paper, contact=chair, conflict_type=m.COLLABORATOR)
    written = [
        m.PaperReview.objects.create(
            paper=paper, contact=reviewer, requested_by=asked_by, review_submitted=now, review_ordinal=place
        )
        for place, (reviewer, asked_by) in enumerate(((rae, chair), (sam, rae), (rae, None)), start=1)
    ]
    for person in people.everybody:
        contact = person.contact
        m.PaperWatch.objects.create(paper=paper, contact=contact, watch=m.WATCH_REVIEWS)
        m.PaperReviewPreference.objects.create(paper=paper, contact=contact, preference=contact.pk)
        m.PaperComment.objects.create(paper=paper, contact=contact, comment="I agree.", comment_type=m.FOR_AUTHORS)
        m.ReviewRating.objects.create(paper=paper, review=written[contact.pk % 3], contact=contact, rating=1)
        address = person.address
        m.ActionLog.objects.create(
            contact=contact, dest_contact=bea, paper=paper, ipaddr=address, action="Looked at it"
        )
        m.ActionLog.objects.create(contact=contact, paper=paper, action="Sent by a program")
    m.ActionLog.objects.create(
        contact=rae,
        dest_contact=sam,
        true_contact=chair,
        paper=paper,
        ipaddr=people.chair.address,
        action="Acted as",
    )
    m.PaperReviewRefused.objects.create(paper=paper, contact=rae, requested_by=sam, refused_by=rae)
    m.PaperReviewRefused.objects.create(paper=paper, contact=carl, requested_by=rae, refused_by=chair)
    m.PaperReviewRefused.objects.create(paper=paper, email="other@example.net", first_name="Other", requested_by=chair)
    m.PaperTopic.objects.create(paper=paper, topic=topics[0])
    m.PaperTag.objects.create(paper=paper, tag="discuss")


# Looking at the database


def owner_columns() -> Iterator[tuple[type[Any], ForeignKey[Any, Any]]]:
    """Every column of the application that names an account."""
    for model in apps.get_app_config("hotcrp_sim").get_models():
        for field in model._meta.local_fields:
            if isinstance(field, ForeignKey) and field.related_model is m.ContactInfo:
                yield model, field


def owned_by(keys: list[int]) -> Counter[str]:
    found = {
        f"{model.__name__}.{field.name}": model.objects.filter(**{f"{field.name}__in": keys}).count()
        for model, field in owner_columns()
    }
    found["ContactInfo"] = m.ContactInfo.objects.filter(pk__in=keys).count()
    return Counter({name: count for name, count in found.items() if count})


def dump() -> dict[str, Rows]:
    return tables.dump("hotcrp_sim")


def nobody_left() -> bool:
    """No placeholder remains."""
    return not m.ContactInfo.objects.filter(is_guise=True).exists()


@pytest.fixture
def anonymised(conference: Conference) -> Callable[[], dict[str, edna.Receipt]]:
    """Anonymises the conference; returns everybody's receipt, by name."""

    def run() -> dict[str, edna.Receipt]:
        edna.disguise_all(ANONYMIZE)
        return {person.name: person.history()[ANONYMIZE] for person in conference.everybody}

    return run
