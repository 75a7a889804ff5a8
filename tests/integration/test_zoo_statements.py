"""In the whole zoo, the number of statements does not depend on the number of rows (constant statements)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import Model

import edna
from edna.db import rows as raw
from edna.testing import Person
from tests.support import statements
from tests.zoo import specs
from tests.zoo.models import MODELS, court, lending, shop, studio, town
from tests.zoo.tables import zoo, zoo_tables  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db

FEW = 10
#: On SQLite as many as its limit of parameters would notice; servers have none that so many rows or five times as many come near.
MANY = 1000 if connection.vendor == "sqlite" else 200
DISGUISES = [cls for cls in specs.ALL if hasattr(cls, "transformations")]


class Numbers:
    """Primary keys and unique values, each once, far from those that the database gives."""

    def __init__(self) -> None:
        self.last = 1_000_000

    def __call__(self) -> int:
        self.last += 1
        return self.last


def citizens(one: Any, number: int, new: Numbers) -> None:
    """A citizen with so many rows of everything."""
    bulk(town.Decree, [town.Decree(mayor_id=one.pk, text="x") for _ in range(number)])
    posts = bulk(
        town.Post, [town.Post(id=new(), author=one, title=f"{new()}", body="x", score=2) for _ in range(number)]
    )
    tag = town.Tag.objects.create(name="x")
    bulk(town.Post.tags.through, [town.Post.tags.through(post=post, tag=tag) for post in posts])
    kind = ContentType.objects.get_for_model(town.Post)
    bulk(town.Flag, [town.Flag(content_type=kind, object_id=post.pk, note="x") for post in posts])
    comments = bulk(town.Comment, [town.Comment(id=new(), author=one, post=post, text="x") for post in posts])
    other = town.Citizen.objects.create(email=f"other{new()}@example.org")
    bulk(
        town.Comment,
        [town.Comment(author=other, post=post, parent=up, text="x") for post, up in zip(posts, comments, strict=True)],
    )
    elsewhere = town.Post.objects.create(author=other, title=f"{new()}", body="x")
    bulk(town.Comment, [town.Comment(author=other, post=elsewhere, parent=comment, text="x") for comment in comments])
    bulk(town.Attachment, [town.Attachment(comment=comment, text="x") for comment in comments])
    bulk(town.Mention, [town.Mention(comment=comment, text="x") for comment in comments])
    bulk(town.Mention, [town.Mention(post=post, text="x") for post in posts])
    bulk(town.Vote, [town.Vote(voter=one, post=post) for post in posts])
    clubs = bulk(town.Club, [town.Club(id=new(), name="x") for _ in range(number)])
    bulk(town.Membership, [town.Membership(club=club, member=one) for club in clubs])


def parties(one: Any, number: int, new: Numbers) -> None:
    """A third are one's own, a third are shared with somebody, a third with somebody's pseudoprincipals."""
    other = person(court.Party, name="other")
    own = [(one, one)] * number + [(one, other.user)] * number
    made = bulk(court.Message, [court.Message(id=new(), author=a, recipient=b, text="x") for a, b in own])
    bulk(court.Moderation, [court.Moderation(moderator=one, user=other.user, reason="x") for _ in range(number)])
    bulk(court.Treaty, [court.Treaty(first=one, second=other.user, number=n, text="x") for n in range(number)])
    other.disguise("zoo.court-mask")
    made += bulk(
        court.Message, [court.Message(id=new(), author=other.user, recipient=one, text="x") for _ in range(number)]
    )
    bulk(court.Seal, [court.Seal(message=message, text="x") for message in made])


def readers(one: Any, number: int, new: Numbers) -> None:
    bulk(lending.Wish, [lending.Wish(reader=one, title="x") for _ in range(number)])
    bulk(lending.Review, [lending.Review(reader=one, text="x") for _ in range(number)])
    bulk(lending.Loan, [lending.Loan(reader=one, number=n, book="x") for n in range(number)])
    shelves = bulk(lending.Shelf, [lending.Shelf(label=f"shelf {new()}", reader=one) for _ in range(number)])
    bulk(lending.Copy, [lending.Copy(shelf=shelf, text="x") for shelf in shelves])
    bulk(lending.Card, [lending.Card(reader=one, text="x")])
    slip = {"note": "x", "desk": "x"}
    bulk(lending.Call, [lending.Call(reader_code=one.code, text="x", slip=slip) for _ in range(number)])


def artists(one: Any, number: int, new: Numbers) -> None:
    works = bulk(studio.Work, [studio.Work(id=new(), artist=one, title="x") for _ in range(3 * number)])
    # Children of rows that are there already: multi-table models cannot be made in bulk.
    for child, parents in ((studio.Song, works[:number]), (studio.Painting, works[number : 2 * number])):
        for work in parents:
            child(work_ptr=work).save_base(raw=True)
    studio.Song.objects.filter(artist=one).update(singer=one)
    bulk(studio.Showing, [studio.Showing(work_id=work.pk, text="x") for work in works])
    bulk(studio.Sketch, [studio.Sketch(artist=one, text="x") for _ in range(number)])
    bulk(studio.LegacyNote, [studio.LegacyNote(number=new(), artist=one, text="x") for _ in range(number)])


def customers(one: Any, number: int, new: Numbers) -> None:
    for model in shop.MODELS[1:-2]:
        bulk(model, [model(customer=one, text="x") for _ in range(number)])
    bulk(shop.Parcel, [shop.Parcel(customer=one, weight=n + 1) for n in range(number)])
    bulk(shop.Slot, [shop.Slot(customer=one, number=n, text="x") for n in range(number)])


HABITATS: dict[str, tuple[Callable[[int], Any], Callable[[Any, int, Numbers], None]]] = {
    "town": (lambda n: person(town.Citizen, email=f"citizen{n}@example.org"), citizens),
    "court": (lambda n: person(court.Party, name=f"party {n}"), parties),
    "lending": (lambda n: person(lending.Reader, code=f"reader {n}", email=f"reader{n}@example.org"), readers),
    "studio": (lambda n: person(studio.Artist, handle=f"artist {n}"), artists),
    "shop": (lambda n: person(shop.Customer, username=f"customer {n}"), customers),
}


def bulk(model: type[Model], rows: list[Any]) -> list[Any]:
    return list(model._base_manager.bulk_create(rows))


def person(model: Any, **fields: Any) -> Person:
    user = model.objects.create(**fields)
    key = edna.register_principal(user).secret_key
    assert key is not None
    return Person(user, key)


def counted(work: Callable[[], Any]) -> tuple[int, Any]:
    results: list[Any] = []
    return len(statements(lambda: results.append(work()))), results[0]


@pytest.mark.slow
@pytest.mark.parametrize("habitat", HABITATS)
def test_as_many_statements_for_1000_rows_as_for_10(
    zoo: Any,  # noqa: F811
    habitat: str,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    """Of every disguise, and of its reveal; two people, one with ten rows of everything and one with very many."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 20_000}  # one chunk, and one segment of a bag
    # What servers take in one packet is another matter: a thousand shared rows are a thousand bags.
    for module in ("edna.db.rows", "edna.db.rows.binding"):
        monkeypatch.setattr(f"{module}.MAX_STATEMENT_BYTES", 15 * 2**20)
    make, fill = HABITATS[habitat]
    new = Numbers()
    # Each row that is shared with somebody else's pseudoprincipal is a bag, and each bag is opened: a fifth are bags enough.
    many = MANY // 5 if habitat == "court" else MANY
    people = {rows: make(number) for number, rows in enumerate((FEW, many))}
    for rows, one in people.items():
        fill(one.user, rows, new)
    if connection.vendor == "postgresql":
        # Of a table that others have made it is asked once in each process.
        for model in (each for each in MODELS if not each._meta.managed):
            raw.can_leave_taken(raw.table_of(model), using="default")
    differing = {}
    for cls in DISGUISES:
        if not cls.name.startswith(f"zoo.{habitat}-"):
            continue
        params = dict.fromkeys(cls.params, 2)
        seen = []
        for rows, one in people.items():
            with one.unlock() as unlocked:
                work = functools.partial(edna.disguise, cls.name, one.user, params=params, unlocked=unlocked)
                going, receipt = counted(work)
                coming, outcome = counted(functools.partial(edna.reveal, receipt, unlocked))
            assert outcome.complete, outcome
            # Some are about the account alone.
            assert sum(outcome.restored.values()) >= (rows if any(step.owners for step in cls.steps()) else 1)
            seen.append((going, coming))
        if seen[0] != seen[1]:
            differing[cls.name] = seen
    assert differing == {}
    connection.check_constraints()


@pytest.mark.slow
def test_as_many_statements_for_what_was_handed_over_in_100_bags_as_in_10(zoo: Any, settings: Any) -> None:  # noqa: F811
    """What waits for somebody's hundred pseudoprincipals lies in a hundred bags: handed over, and brought back by them."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 20_000}
    seen = []
    for number, rows in enumerate((FEW, 10 * FEW)):
        one, other = (person(court.Party, name=f"{name} {number}") for name in ("one", "other"))
        made = [court.Message(author=one.user, recipient=other.user, text="x") for _ in range(rows)]
        messages = court.Message.objects.filter(pk__in=[message.pk for message in bulk(court.Message, made)])
        hushed = one.disguise("zoo.court-hush")
        other.disguise("zoo.court-mask")
        with other.unlock() as unlocked:
            also_hushed = edna.disguise("zoo.court-hush", other.user, unlocked=unlocked)
        with one.unlock() as unlocked:
            handing, outcome = counted(functools.partial(edna.reveal, hushed, unlocked))
        assert len(outcome.held) == rows
        assert messages.filter(text="[hushed]").count() == rows
        with other.unlock() as unlocked:
            coming, outcome = counted(functools.partial(edna.reveal, also_hushed, unlocked))
        assert outcome.complete, outcome
        assert messages.filter(text="x").count() == rows
        seen.append((handing, coming))
    assert seen[0] == seen[1]
