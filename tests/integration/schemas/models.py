"""The shapes that real applications bring: inheritance, keys that are references, cycles, columns that compute themselves.

Each theme has a principal of its own, so that removing one needs to cover its own theme only. Tables are made by the
`schemas` fixture.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower


class Table(models.Model):
    class Meta:
        abstract = True
        app_label = "schemas"


# Inheritance


class Keeper(Table):
    """A principal that has children tables."""

    name = models.CharField(max_length=40, unique=True)


class Warden(Keeper):
    """Some keepers are wardens."""

    badge = models.CharField(max_length=20, unique=True)

    class Meta(Table.Meta):
        abstract = False


class Gate(Table):
    """Belongs to a keeper who is a warden."""

    warden = models.ForeignKey(Warden, models.CASCADE)
    name = models.CharField(max_length=20)


class Animal(Table):
    """The owner is on the parent."""

    keeper = models.ForeignKey(Keeper, models.CASCADE, related_name="animals")
    name = models.CharField(max_length=40)
    chip = models.CharField(max_length=40, unique=True, null=True)


class Bird(Animal):
    """And another one on the child."""

    trainer = models.ForeignKey(Keeper, models.CASCADE, null=True, related_name="trained")
    wingspan = models.IntegerField()

    class Meta(Table.Meta):
        abstract = False


class Parrot(Bird):
    vocabulary = models.TextField()

    class Meta(Table.Meta):
        abstract = False


class Swimmer(Animal):
    """An animal may have a row here and among the birds: ducks do."""

    depth = models.IntegerField()

    class Meta(Table.Meta):
        abstract = False


class Sighting(Table):
    animal = models.ForeignKey(Animal, models.CASCADE, related_name="sightings")
    text = models.CharField(max_length=40)


class Walker(Table):
    walker_id = models.BigAutoField(primary_key=True)
    keeper = models.ForeignKey(Keeper, models.CASCADE)
    legs = models.IntegerField()


class Diver(Table):
    diver_id = models.BigAutoField(primary_key=True)
    depth = models.IntegerField()


class Frog(Walker, Diver):
    """One object in three tables."""

    colour = models.CharField(max_length=20)

    class Meta(Table.Meta):
        abstract = False


# Foreign keys to other columns than the primary key


class Citizen(Table):
    email = models.EmailField(unique=True)
    passport = models.CharField(max_length=40, unique=True)


class Petition(Table):
    author = models.ForeignKey(Citizen, models.CASCADE, to_field="email", related_name="petitions")
    second = models.ForeignKey(Citizen, models.SET_NULL, to_field="email", null=True, related_name="seconded")
    text = models.CharField(max_length=40)


class Visa(Table):
    holder = models.OneToOneField(Citizen, models.CASCADE, to_field="passport")
    country = models.CharField(max_length=20)


class Stamp(Table):
    """Belongs to a citizen by a path whose first step is not by primary key either."""

    petition = models.ForeignKey(Petition, models.CASCADE)
    place = models.CharField(max_length=20)


# Keys that say whose the row is


class Player(Table):
    name = models.CharField(max_length=40, unique=True)


class Profile(Table):
    """Its primary key is its owner."""

    player = models.OneToOneField(Player, models.CASCADE, primary_key=True)
    motto = models.CharField(max_length=40)


class Club(Table):
    name = models.CharField(max_length=20)


class Membership(Table):
    pk = models.CompositePrimaryKey("club", "player")
    club = models.ForeignKey(Club, models.PROTECT)
    player = models.ForeignKey(Player, models.CASCADE)
    number = models.IntegerField()
    note = models.CharField(max_length=40, default="")

    class Meta(Table.Meta):
        abstract = False
        constraints = (models.UniqueConstraint(fields=["club", "number"], name="schemas_one_number"),)


class Match(Table):
    """Both halves of its key are owners."""

    pk = models.CompositePrimaryKey("home", "away")
    home = models.ForeignKey(Player, models.CASCADE, related_name="home_matches")
    away = models.ForeignKey(Player, models.CASCADE, related_name="away_matches")
    score = models.CharField(max_length=40)


# Relations


def sentinel() -> Actor:
    """Django's usual way to say "somebody who is no longer here"."""
    return Actor.objects.get_or_create(name="sentinel")[0]


class Actor(Table):
    name = models.CharField(max_length=40, unique=True)


class Star(Actor):
    """A proxy of the principal."""

    class Meta(Table.Meta):
        abstract = False
        proxy = True


class Mark(Table):
    content_type = models.ForeignKey(ContentType, models.CASCADE)
    object_id = models.BigIntegerField()
    on = GenericForeignKey()
    text = models.CharField(max_length=20)


class Play(Table):
    author = models.ForeignKey(Actor, models.CASCADE, related_name="plays")
    title = models.CharField(max_length=40)
    cast = models.ManyToManyField(Actor, through="Part", related_name="played_in")
    fans = models.ManyToManyField(Actor, related_name="favourites")
    marks = GenericRelation(Mark, related_query_name="play")


class Comedy(Play):
    """A proxy with a manager that hides rows: edna looks at all of them."""

    class Hiding(models.Manager):  # type: ignore[type-arg]  # no type arguments at run time
        def get_queryset(self) -> Any:
            return super().get_queryset().none()

    objects = Hiding()

    class Meta(Table.Meta):
        abstract = False
        proxy = True


class Part(Table):
    """An explicit many-to-many table."""

    play = models.ForeignKey(Play, models.CASCADE)
    actor = models.ForeignKey(Actor, models.CASCADE)
    role = models.CharField(max_length=20)


class Contract(Table):
    """Refers to a proxy of the principal."""

    actor = models.ForeignKey(Star, models.PROTECT)
    pay = models.IntegerField()


class Booking(Table):
    actor = models.ForeignKey(Actor, models.RESTRICT)
    room = models.IntegerField()


class Review(Table):
    actor = models.ForeignKey(Actor, models.SET_NULL, null=True)
    text = models.CharField(max_length=20)


class Credit(Table):
    actor = models.ForeignKey(Actor, models.SET_DEFAULT, null=True, default=None)
    text = models.CharField(max_length=20)


class Quote(Table):
    actor = models.ForeignKey(Actor, models.SET(sentinel))
    text = models.CharField(max_length=20)


class Trace(Table):
    """Nothing in the database watches this reference."""

    actor = models.ForeignKey(Actor, models.DO_NOTHING, db_constraint=False)
    text = models.CharField(max_length=20)


class Company(Table):
    """In a circle with its shows."""

    owner = models.ForeignKey(Actor, models.CASCADE)
    name = models.CharField(max_length=20)
    first_show = models.ForeignKey("Show", models.SET_NULL, null=True, related_name="+")


class Show(Table):
    company = models.ForeignKey(Company, models.CASCADE)
    title = models.CharField(max_length=20)
    sequel = models.ForeignKey("self", models.SET_NULL, null=True)


class Left(Table):
    """In a circle that no row can leave empty: only a database that checks at the end takes it."""

    owner = models.ForeignKey(Actor, models.CASCADE)
    right = models.OneToOneField("Right", models.CASCADE)
    code = models.CharField(max_length=20, unique=True, null=True)


class Right(Table):
    left = models.OneToOneField(Left, models.CASCADE)
    word = models.CharField(max_length=20)


# Columns


class Colour(NamedTuple):
    red: int
    green: int
    blue: int


class ColourField(models.Field):  # type: ignore[type-arg]  # no type arguments at run time
    """Six hexadecimal digits in the table, three numbers in Python."""

    def db_type(self, connection: Any) -> str:
        return "char(6)"

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Colour | None:
        return None if value is None else Colour(*bytes.fromhex(value))

    def to_python(self, value: Any) -> Any:
        return value if value is None or isinstance(value, Colour) else Colour(*value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else bytes(value).hex()


class Painter(Table):
    name = models.CharField(max_length=40, unique=True)


class Shown(models.Manager):  # type: ignore[type-arg]  # no type arguments at run time
    def get_queryset(self) -> Any:
        return super().get_queryset().filter(hidden=False)


class Painting(Table):
    owner = models.ForeignKey(Painter, models.CASCADE, db_column="own er")
    title = models.CharField(max_length=40, db_column="Ti-tle")
    wall = models.CharField(max_length=40, default="", db_column="order")
    hidden = models.BooleanField(default=False)
    width = models.IntegerField()
    height = models.IntegerField()
    area = models.GeneratedField(
        expression=F("width") * F("height"), output_field=models.BigIntegerField(), db_persist=True
    )
    colour = ColourField(null=True)
    changed_at = models.DateTimeField(auto_now=True)
    made_at = models.DateTimeField(auto_now_add=True)

    objects = Shown()

    class Meta(Table.Meta):
        abstract = False
        default_manager_name = "objects"
        base_manager_name = "objects"
        constraints = (
            models.CheckConstraint(condition=Q(width__gt=0), name="schemas_wide"),
            models.UniqueConstraint(fields=["title"], condition=Q(hidden=False), name="schemas_title"),
            models.UniqueConstraint(Lower("wall"), "width", "height", condition=~Q(wall=""), name="schemas_one_place"),
        )


class Place(Table):
    """Places in a row, which PostgreSQL may compare at the end only."""

    owner = models.ForeignKey(Painter, models.CASCADE)
    position = models.IntegerField()

    class Meta(Table.Meta):
        abstract = False
        constraints = (
            models.UniqueConstraint(
                fields=["position"], name="schemas_one_position", deferrable=models.Deferrable.DEFERRED
            ),
        )


class Sketch(Table):
    """A table of another program."""

    owner = models.ForeignKey(Painter, models.DO_NOTHING, db_column="who")
    text = models.CharField(max_length=40)

    class Meta(Table.Meta):
        abstract = False
        managed = False
        db_table = "old_sketches"


#: In an order in which the tables can be made; those in a circle are completed by the schema editor at its end.
MODELS = (
    *(Keeper, Warden, Gate, Animal, Bird, Parrot, Swimmer, Sighting, Walker, Diver, Frog),
    *(Citizen, Petition, Visa, Stamp),
    *(Player, Profile, Club, Membership, Match),
    *(Actor, Mark, Play, Part, Contract, Booking, Review, Credit, Quote, Trace, Company, Show, Left, Right),
    *(Painter, Painting, Place, Sketch),
)
PRINCIPALS = ("schemas.keeper", "schemas.citizen", "schemas.player", "schemas.actor", "schemas.painter")
