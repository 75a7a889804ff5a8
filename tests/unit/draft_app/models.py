"""A site whose first disguise is drafted: each relation to its patrons is of another kind."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models


class Guard:
    """What a library puts around an `on_delete`, as django-polymorphic does."""

    def __init__(self, action: Any) -> None:
        self.action = action

    def __call__(self, *arguments: Any) -> None:
        self.action(*arguments)


def usual_length() -> int:
    return 25


class Table(models.Model):
    class Meta:
        abstract = True
        app_label = "draft_app"


class Book(Table):
    title = models.CharField(max_length=40)


class Preferences(Table):
    """A patron's alone, though the key stands in the account."""

    second_email = models.EmailField(blank=True)
    followed = models.ManyToManyField(Book)


class Locker(Table):
    """A patron's for now: the key outlasts them."""

    label_email = models.EmailField(blank=True)


class LockerKey(Table):
    locker = models.ForeignKey(Locker, models.CASCADE)


class Patron(Table):
    """The principal. Nothing but a value says how one is filled in."""

    number = models.IntegerField(unique=True)
    email = models.EmailField(unique=True)
    handle = models.CharField(max_length=40, unique=True, null=True)
    is_staff = models.BooleanField(default=False)
    is_accounting_officer = models.BooleanField(default=False)
    is_lending_office = models.BooleanField(default=False)
    is_owner_notified = models.BooleanField(default=False)
    warden = models.ForeignKey("self", models.CASCADE, null=True)
    wishes = models.ManyToManyField(Book)
    preferences = models.OneToOneField(Preferences, models.SET_NULL, null=True)
    locker = models.OneToOneField(Locker, models.SET_NULL, null=True, related_name="holder")


class Librarian(Patron):
    """A patron who was made one by another: their account, and not a row of that one's."""

    named_by = models.ForeignKey(Patron, models.SET_NULL, null=True, related_name="+")

    class Meta:
        app_label = "draft_app"


class Seat(Table):
    """Another library stands between its references and what Django does."""

    patron = models.ForeignKey(Patron, Guard(models.CASCADE))  # type: ignore[arg-type]
    booked_by = models.ForeignKey(Patron, Guard(models.SET_NULL), null=True, related_name="+")  # type: ignore[arg-type]


class Sticker(Table):
    """May be on any row, and some rows know which are on them."""

    content_type = models.ForeignKey(ContentType, models.CASCADE)
    object_id = models.BigIntegerField()
    on = GenericForeignKey()


class GoldenSticker(Sticker):
    """Has its parent's key, and none of its own."""

    class Meta:
        app_label = "draft_app"


class Notice(Table):
    """Goes with its book."""

    book = models.ForeignKey(Book, models.CASCADE)


class PatronNotice(Notice):
    """What it needs is the parent's."""

    patron = models.ForeignKey(Patron, models.CASCADE)

    class Meta:
        app_label = "draft_app"


class Dossier(Table):
    """The profile."""

    patron = models.OneToOneField(Patron, models.CASCADE)
    about = models.TextField()
    rows_per_page = models.IntegerField(choices=[(10, "ten"), (25, "twenty-five")], default=usual_length)


class Answer(Table):
    """Another application has a model of this name."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    stickers = GenericRelation(Sticker, related_query_name="answer")


class AnswerLine(Table):
    answer = models.ForeignKey(Answer, models.CASCADE)


class LineMark(Table):
    """Two tables away from the answers."""

    line = models.ForeignKey(AnswerLine, models.CASCADE)


class Branch(Table):
    """A tree of everybody's."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    parent = models.ForeignKey("self", models.CASCADE, null=True)
    text = models.TextField()


class Folder(Table):
    patron = models.ForeignKey(Patron, models.CASCADE)


class Entry(Table):
    """A tree inside of what goes."""

    folder = models.ForeignKey(Folder, models.CASCADE)
    parent = models.ForeignKey("self", models.CASCADE, null=True)


class Chain(Table):
    """Each link needs the one before it."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    previous = models.ForeignKey("self", models.CASCADE)


class ReadingToken(Table):
    patron = models.ForeignKey(Patron, models.CASCADE)


class AddressConfirmation(Table):
    """A link in a mail."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    key = models.CharField(max_length=40)


class PatronActivation(Table):
    """Until somebody has followed the link in a mail."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    activation_key = models.CharField(max_length=40)


class MailSettings(Table):
    """To whom a letter goes: several in one column."""

    title = models.CharField(max_length=40)
    cc_list = models.TextField(default="")
    watchers = models.JSONField(default=list)
    recipients = models.ManyToManyField(Patron, related_name="letters")
    cc = models.BooleanField(default=False)


class CodeDevice(Table):
    patron = models.ForeignKey(Patron, models.CASCADE)


class CodeToken(Table):
    """To type in when the telephone is lost."""

    device = models.ForeignKey(CodeDevice, models.CASCADE)
    token = models.CharField(max_length=16)


class DoorAttempt(Table):
    """Knows people by what they typed."""

    username = models.CharField(max_length=40)
    tried_at = models.DateTimeField()


class ResearchGrant(Table):
    """Money, and no half of a login."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    title = models.CharField(max_length=40)


class ActivityLog(Table):
    patron = models.ForeignKey(Patron, models.DO_NOTHING, db_constraint=False)


class Address(Table):
    """Whose it is, is said elsewhere."""

    street = models.CharField(max_length=40)


class LetterDrawer(Table):
    """Of whoever has this address, and of nobody by a key."""

    email = models.EmailField()


class Complaint(Table):
    """Of somebody who may have no account, and of the patron who deals with it."""

    assigned_to = models.ForeignKey(Patron, models.SET_NULL, null=True, related_name="+")
    submitter_email = models.EmailField(blank=True)
    email_folder = models.CharField(max_length=60)
    cc = models.CharField(max_length=200, blank=True)
    bcc = models.TextField(blank=True)
    to = models.CharField(max_length=200, blank=True)
    reply_to = models.CharField(max_length=200, blank=True)
    belongs_to = models.CharField(max_length=200, blank=True)


class SentMail(Table):
    """What was sent, by whom and to whom; nobody's row. A row about times is none."""

    sender = models.EmailField()
    to = models.TextField()


class OpeningHours(Table):
    valid_from = models.CharField(max_length=20)
    to = models.CharField(max_length=20)


class Correspondent(Table):
    """Known by the address, which is the key."""

    address = models.EmailField(primary_key=True)
    to = models.CharField(max_length=60)
    mail_domain = models.CharField(max_length=60)


class Letter(Table):
    correspondent = models.ForeignKey(Correspondent, models.CASCADE)
    text = models.TextField()


class Enclosure(Table):
    letter = models.ForeignKey(Letter, models.CASCADE)


class Pass(Table):
    """Who may do what with which row."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    permission = models.ForeignKey(Permission, models.CASCADE)
    content_type = models.ForeignKey(ContentType, models.CASCADE)
    object_pk = models.CharField(max_length=60)
    to = GenericForeignKey(fk_field="object_pk")


class ChangeLog(Table):
    """Another package's: what any row held before and after each change, and who changed it."""

    content_type = models.ForeignKey(ContentType, models.CASCADE)
    object_pk = models.CharField(max_length=60, db_index=True)
    changes = models.JSONField(default=dict)
    actor = models.ForeignKey(Patron, models.SET_NULL, null=True)


class Loan(Table):
    """The library keeps these, with what happened to them."""

    patron = models.ForeignKey(Patron, models.PROTECT)
    email = models.EmailField()
    remarks = models.TextField()
    sent_to = models.ForeignKey(Address, models.PROTECT)


class Fine(Table):
    loan = models.ForeignKey(Loan, models.CASCADE)


class Shelf(Table):
    """Goes with its patron, if it were not for what stands on it."""

    patron = models.ForeignKey(Patron, models.CASCADE)


class Copy(Table):
    shelf = models.ForeignKey(Shelf, models.PROTECT)


class Novel(Table):
    """Others' as well; it can do without its shelf, and none may go while something stands there."""

    shelf = models.ForeignKey(Shelf, models.PROTECT, null=True)


class Blurb(Table):
    novel = models.ForeignKey(Novel, models.CASCADE, null=True)


class Swap(Table):
    giver = models.ForeignKey(Patron, models.CASCADE, related_name="+")
    taker = models.ForeignKey(Patron, models.CASCADE, related_name="+")


class SwapNote(Table):
    swap = models.ForeignKey(Swap, models.CASCADE)


class Guestbook(Table):
    patron = models.ForeignKey(Patron, models.SET_NULL, null=True)
    author_name = models.CharField(max_length=40, null=True)
    author_email = models.EmailField(default="")
    ip_address = models.GenericIPAddressField()


class Review(Table):
    """Says of several people who they are, beside the key to each."""

    author = models.ForeignKey(Patron, models.SET_NULL, null=True, related_name="+")
    author_name = models.CharField(max_length=40)
    author_handle = models.CharField(max_length=40)
    author_shelf = models.CharField(max_length=40)
    hidden_by = models.ForeignKey(Patron, models.SET_NULL, null=True, related_name="+")
    hidden_by_name = models.CharField(max_length=40, null=True)
    hidden_by_handle = models.CharField(max_length=40, null=True)


class Counter(Table):
    """A view that somebody else keeps."""

    folder = models.ForeignKey(Folder, models.DO_NOTHING, db_constraint=False)


class Outline(Table):
    """A tree of everybody's, by path: no foreign key says what is below."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    path = models.CharField(max_length=255, unique=True)
    depth = models.PositiveIntegerField()
    numchild = models.PositiveIntegerField(default=0)


class Will(Table):
    """The library keeps these, and a package keeps copies of them."""

    patron = models.ForeignKey(Patron, models.PROTECT)
    body = models.TextField()


class HistoricalWill(Table):
    id = models.BigIntegerField(db_index=True)
    patron = models.ForeignKey(Patron, models.DO_NOTHING, null=True, db_constraint=False, related_name="+")
    body = models.TextField()
    contact_email = models.EmailField()
    history_id = models.AutoField(primary_key=True)
    history_date = models.DateTimeField()
    history_type = models.CharField(max_length=1)
    history_user = models.ForeignKey(Patron, models.SET_NULL, null=True, related_name="+")

    instance_type = Will


class Team(Table):
    members = models.ManyToManyField(Patron)


class PatronSession(Table):
    """Somebody is logged in."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    session_key = models.CharField(max_length=40)


class ReadingSession(Table):
    """Somebody reads aloud, and others may have paid for it."""

    patron = models.ForeignKey(Patron, models.CASCADE)
    book = models.ForeignKey(Book, models.CASCADE)


class Machine(Table):
    """Its name is a thing's, though somebody hears of it."""

    name = models.CharField(max_length=40)
    warning_email = models.EmailField(blank=True)
    keeper = models.ForeignKey(Patron, models.SET_NULL, null=True)


class Contact(Table):
    """Its name is a person's."""

    name = models.CharField(max_length=40)
    work_email = models.EmailField(blank=True)
    kept_by = models.ForeignKey(Patron, models.SET_NULL, null=True)


class Press(Table):
    """Not what it is, but what somebody is there, says that they may do more."""

    superusers = models.ManyToManyField(Patron)


class Guild(Table):
    title = models.CharField(max_length=40)


class Apprentice(Table):
    """A principal whose row needs another one."""

    name = models.CharField(max_length=40, default="")
    label = models.CharField(max_length=40, unique=True)
    is_active = models.BooleanField(default=True)
    guild = models.ForeignKey(Guild, models.CASCADE)


class Masterpiece(Table):
    apprentice = models.ForeignKey(Apprentice, models.PROTECT)
    maker = models.ForeignKey(Apprentice, models.SET_NULL, null=True, related_name="+")
    maker_name = models.CharField(max_length=40)
    maker_label = models.CharField(max_length=40)
