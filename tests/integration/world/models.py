"""Three kinds of principals, and what they own. The tables are made by the `world` fixture."""

from __future__ import annotations

import uuid

from django.core.files.storage import InMemoryStorage
from django.db import models


class Person(models.Model):
    """A principal with a UUID key."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    handle = models.CharField(max_length=40, unique=True)

    class Meta:
        app_label = "world"


class Tag(models.Model):
    name = models.CharField(max_length=20)

    class Meta:
        app_label = "world"


class Note(models.Model):
    """A tree, and a many-to-many table that no model names."""

    author = models.ForeignKey(Person, models.CASCADE, related_name="notes")
    reply_to = models.ForeignKey("self", models.SET_NULL, null=True, related_name="replies")
    text = models.TextField()
    slug = models.CharField(max_length=20, unique=True, null=True)
    topic = models.ForeignKey(
        Tag, models.PROTECT, null=True, related_name="topics"
    )  # after the tree's own key, on purpose
    tags = models.ManyToManyField(Tag)

    class Meta:
        app_label = "world"


class Pin(models.Model):
    """Its primary key is a foreign key."""

    note = models.OneToOneField(Note, models.CASCADE, primary_key=True)
    place = models.CharField(max_length=20)

    class Meta:
        app_label = "world"


class Like(models.Model):
    person = models.ForeignKey(Person, models.CASCADE, related_name="likes")
    note = models.ForeignKey(Note, models.CASCADE, related_name="likes")

    class Meta:
        app_label = "world"
        constraints = (models.UniqueConstraint(fields=["person", "note"], name="world_one_like"),)


class Everything(models.Model):
    """One column of every type."""

    owner = models.ForeignKey(Person, models.CASCADE)
    text = models.TextField(null=True)
    name = models.CharField(max_length=200, null=True)
    slug = models.CharField(max_length=40, unique=True, null=True)
    blob = models.BinaryField(null=True)
    whole = models.IntegerField(null=True)
    big = models.BigIntegerField(null=True)
    small = models.PositiveSmallIntegerField(null=True)
    amount = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    ratio = models.FloatField(null=True)
    flag = models.BooleanField(null=True)
    day = models.DateField(null=True)
    moment = models.DateTimeField(null=True)
    clock = models.TimeField(null=True)
    span = models.DurationField(null=True)
    data = models.JSONField(null=True)
    unique_id = models.UUIDField(null=True)
    address = models.GenericIPAddressField(null=True)

    class Meta:
        app_label = "world"


#: Files that are nowhere but in the memory of the process.
memory = InMemoryStorage()


class Document(models.Model):
    """A row that names files, in two storages."""

    owner = models.ForeignKey(Person, models.CASCADE, related_name="documents")
    scan = models.FileField(upload_to="scans", blank=True)
    draft = models.FileField(upload_to="drafts", storage=memory, null=True)
    title = models.CharField(max_length=40, default="")

    class Meta:
        app_label = "world"


class Portrait(models.Model):
    """An image, whose size the row has too, and which everybody has one of."""

    owner = models.OneToOneField(Person, models.CASCADE)
    image = models.ImageField(
        upload_to="portraits", default="portraits/nobody.png", width_field="width", height_field="height"
    )
    width = models.IntegerField(null=True)
    height = models.IntegerField(null=True)

    class Meta:
        app_label = "world"


class Contract(models.Model):
    """As much the one's as the other's."""

    first = models.ForeignKey(Person, models.CASCADE, related_name="+")
    second = models.ForeignKey(Person, models.CASCADE, related_name="+")
    scan = models.FileField(upload_to="contracts")

    class Meta:
        app_label = "world"


class Copy(models.Model):
    """Somebody else's table that may name the same file."""

    scan = models.FileField(upload_to="scans")

    class Meta:
        app_label = "world"


class Villager(models.Model):
    """A principal with few possible keys."""

    id = models.SmallAutoField(primary_key=True)
    name = models.CharField(max_length=20, default="")

    class Meta:
        app_label = "world"


class Hut(models.Model):
    owner = models.ForeignKey(Villager, models.CASCADE)
    number = models.IntegerField()

    class Meta:
        app_label = "world"


class Member(models.Model):
    """A principal with a natural key."""

    code = models.CharField(max_length=40, primary_key=True)
    joined = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "world"


class Badge(models.Model):
    owner = models.ForeignKey(Member, models.CASCADE, null=True)
    title = models.CharField(max_length=40)

    class Meta:
        app_label = "world"


class Seat(models.Model):
    """A row with a key of two columns."""

    pk = models.CompositePrimaryKey("room", "number")
    room = models.CharField(max_length=10)
    number = models.IntegerField()
    owner = models.ForeignKey(Member, models.CASCADE)

    class Meta:
        app_label = "world"


#: In an order in which the tables can be made.
MODELS = (
    Person,
    Tag,
    Note,
    Pin,
    Like,
    Everything,
    Document,
    Portrait,
    Contract,
    Copy,
    Villager,
    Hut,
    Member,
    Badge,
    Seat,
)
