"""People, and what points at them in every way that Django knows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

from django.contrib.auth.models import Group
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models


class FromDatabase:
    """Stands in for `models.DB_CASCADE`, which Django 6.1 brought."""

    __name__ = "DB_CASCADE"

    def __call__(self, *_: Any) -> None:
        pass

    def on_delete_sql(self, _: Any) -> str:
        return "ON DELETE CASCADE"


def new_token() -> str:
    return "token"


class Table(models.Model):
    class Meta:
        abstract = True
        app_label = "checks_app"


class Person(Table):
    """The principal."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=50)
    is_active = models.BooleanField(default=True)
    manager = models.ForeignKey("self", models.SET_NULL, null=True)


class Nickname(Person):
    class Meta:
        proxy = True
        app_label = "checks_app"


class Stranger(Table):
    """Nobody's principal."""


class Tag(Table):
    label = models.CharField(max_length=20)


class TaggedItem(Table):
    content_type = models.ForeignKey(ContentType, models.CASCADE)
    object_id = models.BigIntegerField()
    content_object = GenericForeignKey()


class Post(Table):
    author = models.ForeignKey(Person, models.CASCADE, related_name="posts")
    stranger = models.ForeignKey(Stranger, models.CASCADE, null=True)
    slug = models.CharField(max_length=50, unique=True)
    code = models.CharField(max_length=10, unique=True, null=True)
    title = models.CharField(max_length=50)
    body = models.TextField()
    rating = models.IntegerField(default=0)
    published_on = models.DateField(null=True)
    labels = models.ManyToManyField(Tag)
    tagged = GenericRelation(TaggedItem, related_query_name="post")

    class Meta(Table.Meta):
        abstract = False
        constraints = (models.UniqueConstraint(fields=["author", "title"], name="checks_app_title"),)


class Comment(Table):
    post = models.ForeignKey(Post, models.CASCADE)
    author = models.ForeignKey(Person, models.CASCADE, related_name="comments")


class Pin(Table):
    """Points at comments, and nothing else does."""

    comment = models.ForeignKey(Comment, models.DO_NOTHING)


class LoosePin(Table):
    comment = models.ForeignKey(Comment, models.DO_NOTHING, db_constraint=False)


class DatabasePin(Table):
    comment = models.ForeignKey(Comment, FromDatabase())


class NullPin(Table):
    comment = models.ForeignKey(Comment, models.SET_NULL, null=True)


class Letter(Table):
    """Nothing points here."""

    author = models.ForeignKey(Person, models.CASCADE)
    readers = models.ManyToManyField(Person, related_name="letters_read")
    text = models.TextField()
    entries = GenericRelation("admin.LogEntry", related_query_name="letter")


class Card(Table):
    """Its key says whose it is."""

    person = models.OneToOneField(Person, models.CASCADE, primary_key=True)
    holder = models.ForeignKey(Person, models.CASCADE, to_field="email", related_name="cards_held")


class Place(Table):
    owner = models.ForeignKey(Person, models.CASCADE)


class Shop(Place):
    class Meta:
        app_label = "checks_app"


class Bench(Table):
    place = models.ForeignKey(Place, models.CASCADE)


class Till(Table):
    shop = models.ForeignKey(Shop, models.CASCADE)


class Wallet(Table):
    """Its key says whose it is, and others refer to it by that."""

    person = models.OneToOneField(Person, models.CASCADE, primary_key=True)
    banker = models.ForeignKey(Person, models.CASCADE, null=True, related_name="banked")
    note = models.CharField(max_length=10, default="")


class Purse(Wallet):
    """Another name for the same rows."""

    class Meta:
        app_label = "checks_app"
        proxy = True


class Coin(Table):
    wallet = models.ForeignKey(Wallet, models.CASCADE)


class Seat(Table):
    pk = models.CompositePrimaryKey("person", "row")
    person = models.ForeignKey(Person, models.CASCADE)
    row = models.IntegerField()
    note = models.CharField(max_length=20)


class Duel(Table):
    pk = models.CompositePrimaryKey("challenger", "challenged")
    challenger = models.ForeignKey(Person, models.CASCADE, related_name="+")
    challenged = models.ForeignKey(Person, models.CASCADE, related_name="+")


class Remark(Table):
    """Stays when its author goes, with what it says of them."""

    author = models.ForeignKey(Person, models.SET_NULL, null=True)
    author_email = models.EmailField()
    author_name = models.CharField(max_length=50, null=True)  # null, so that its hint has to say None
    title = models.CharField(max_length=50)


class Swap(Table):
    """Of two people at once."""

    giver = models.ForeignKey(Person, models.CASCADE, related_name="+")
    taker = models.ForeignKey(Person, models.CASCADE, related_name="+")


class Officer(Table):
    """A principal with rights."""

    is_staff = models.BooleanField(default=False)
    roles = models.IntegerField(default=0)
    photo = models.FileField(null=True)
    groups = models.ManyToManyField(Group)


class Crew(Table):
    """A site's own: who is in it may do more, and whom it has for admins yet more."""

    members = models.ManyToManyField(Officer, related_name="teams")
    admins = models.ManyToManyField(Officer, related_name="+")
    fans = models.ManyToManyField(Officer, related_name="likes")


class Posting(Table):
    """An officer in a crew, and what they may do there."""

    class Rank(models.TextChoices):
        HAND = "h"
        MATE = "m"

    officer = models.ForeignKey(Officer, models.CASCADE)
    crew = models.ForeignKey(Crew, models.CASCADE)
    role = models.CharField(max_length=1, choices=Rank.choices, default=Rank.HAND)
    is_owner = models.BooleanField(default=False)


class Casting(Table):
    """What somebody plays is no right."""

    officer = models.ForeignKey(Officer, models.CASCADE)
    role = models.CharField(max_length=40)


class Agent(Person):
    """Principals who are something more."""

    class Meta:
        app_label = "checks_app"


class Band(Table):
    """In a circle with its songs."""

    founder = models.ForeignKey(Person, models.CASCADE)
    anthem = models.OneToOneField("Song", models.CASCADE, null=True, related_name="+")


class Song(Table):
    band = models.ForeignKey(Band, models.CASCADE)
    composer = models.ForeignKey(Person, models.SET_NULL, null=True)


class Guest(Table):
    """A principal that nothing can be decorrelated from: the generator has much to fill."""

    token = models.CharField(max_length=64, unique=True, default=new_token)
    born_on = models.DateField()
    visits = models.IntegerField()
    ticket = models.BinaryField()
    nick = models.CharField(max_length=20, blank=True)


class Visit(Table):
    guest = models.ForeignKey(Guest, models.CASCADE)


class UnsignedPerson(Table):
    id = models.PositiveBigIntegerField(primary_key=True)


class UnsignedThing(Table):
    owner = models.ForeignKey(UnsignedPerson, models.CASCADE)


class SmallPerson(Table):
    id = models.SmallAutoField(primary_key=True)


class SmallThing(Table):
    owner = models.ForeignKey(SmallPerson, models.CASCADE)


class MoneyPerson(Table):
    id = models.DecimalField(primary_key=True, max_digits=5, decimal_places=2)


class MoneyThing(Table):
    owner = models.ForeignKey(MoneyPerson, models.CASCADE)


class Party(Table):
    pass


class Member(Party):
    class Meta:
        app_label = "checks_app"


class MemberThing(Table):
    owner = models.ForeignKey(Member, models.CASCADE)


class Outline(Table):
    """A tree by path, as a library keeps it."""

    node_order_by: ClassVar[list[str]] = ["title"]

    author = models.ForeignKey(Person, models.SET_NULL, null=True)
    title = models.CharField(max_length=20)
    path = models.CharField(max_length=255, unique=True)
    depth = models.PositiveIntegerField()
    numchild = models.PositiveIntegerField(default=0)


class Thread(Table):
    """Nested sets beside a foreign key, under names of the site's own."""

    author = models.ForeignKey(Person, models.SET_NULL, null=True)
    parent = models.ForeignKey("self", models.CASCADE, null=True)
    begin = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    root = models.PositiveIntegerField()
    height = models.PositiveIntegerField()

    _mptt_meta = SimpleNamespace(left_attr="begin", right_attr="end", tree_id_attr="root", level_attr="height")


class Diary(Table):
    """A table whose rows a package copies."""

    author = models.ForeignKey(Person, models.SET_NULL, null=True)
    body = models.TextField()
    meta = models.JSONField(null=True)


class History(Table):
    """What django-simple-history adds to the columns."""

    history_id = models.AutoField(primary_key=True)
    history_date = models.DateTimeField()
    history_type = models.CharField(max_length=1)
    history_user = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="+")

    class Meta(Table.Meta):
        abstract = True


class HistoricalDiary(History):
    id = models.BigIntegerField(db_index=True)
    author = models.ForeignKey(Person, models.SET_NULL, null=True, related_name="+")
    body = models.TextField()
    meta = models.JSONField(null=True)

    instance_type = Diary


class HistoricalGuest(History):
    """Copies of accounts: nothing in them leads to a person."""

    id = models.BigIntegerField(db_index=True)
    author_name = models.CharField(max_length=40, null=True)

    instance_type = Guest
