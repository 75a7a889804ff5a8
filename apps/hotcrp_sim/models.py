"""The tables of a conference review site, with the names, columns and keys that they have in HotCRP.

Left as it is there: text in columns of bytes, moments as seconds, keys of several columns, and 0 for nobody. Three things differ.

- References are foreign keys, which the database watches wherever 0 is not possible.
- A line of ``Paper.author_information`` is empty where the author has an account: that author is a row of ``PaperAuthor``. Out
  of one text that several people share, nobody could take their part away and bring it back independently of the others.
- ``PaperReviewRefused`` names somebody with an account by ``contact`` alone. The address there is a part of the key, so it
  cannot be taken away; such rows have a random one that leads nowhere.

What knows about access, pages and mails is elsewhere. Longer than most modules, since it is one table after the other.
"""

from __future__ import annotations

import json
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models
from django.utils import timezone

from .fields import Digest, Float, Key, OrNobody, Seconds, TinyInteger, Varbinary

#: Bits of `ContactInfo.roles`.
PC, ADMINISTRATOR, CHAIR = 1, 2, 4
#: `PaperConflict.conflict_type`: from `AUTHOR` on, the conflict is that one wrote the paper.
COLLABORATOR, AUTHOR, CONTACT_AUTHOR = 2, 32, 64
#: `PaperReview.review_type`.
EXTERNAL_REVIEW, PC_REVIEW, SECONDARY_REVIEW, PRIMARY_REVIEW = 1, 2, 3, 4
#: `PaperComment.comment_type`: who may read it, and whether an author wrote it.
BY_AUTHOR, FOR_ADMINISTRATORS, FOR_PC, FOR_REVIEWERS, FOR_AUTHORS = 4, 0x10000, 0x20000, 0x30000, 0x40000
WATCH_REVIEWS = 2
#: The texts of a review, by their names in `PaperReview.tfields`, and who reads them.
REVIEW_TEXTS = {"t01": "Paper summary", "t02": "Comments for authors", "t03": "Comments for the PC"}


def rating_number() -> int:
    """A number for a rating. Drawn, not counted: the number of one that was taken away is not given again."""
    return secrets.randbelow(2**31 - 2) + 1


class ContactManager(BaseUserManager["ContactInfo"]):
    """Makes accounts; e-mail addresses are kept in lower case, so that a login is found however it was typed."""

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        return (email or "").strip().lower()

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> ContactInfo:
        if not email:
            raise ValueError("An account needs an e-mail address.")
        now = timezone.now()
        contact = self.model(email=self.normalize_email(email), **{"creation_time": now, "update_time": now, **fields})
        contact.unaccented_name = contact.unaccented_name or unaccented(contact.name)
        contact.set_password(password)
        contact.save(using=self._db)
        return contact

    def get_by_natural_key(self, email: str | None) -> ContactInfo:
        return self.get(email=self.normalize_email(email))


class ContactInfo(AbstractBaseUser):
    """An account: author, reviewer or chair, often several of these; or (``is_guise``) a placeholder who owns what somebody gave up."""

    contact_id = Key(primary_key=True, db_column="contactId")
    first_name = Varbinary(max_length=120, db_column="firstName", default="", blank=True)
    last_name = Varbinary(max_length=120, db_column="lastName", default="", blank=True)
    unaccented_name = Varbinary(max_length=240, db_column="unaccentedName", default="", blank=True, editable=False)
    email = models.EmailField("e-mail address", max_length=120, unique=True, db_column="email")
    preferred_email = models.CharField(  # noqa: DJ001 - as in the original, where NULL says that there is none
        max_length=120, null=True, blank=True, db_column="preferredEmail"
    )
    affiliation = Varbinary(max_length=2048, db_column="affiliation", default="", blank=True)
    phone = Varbinary(max_length=64, null=True, blank=True, db_column="phone")
    country = Varbinary(max_length=256, null=True, blank=True, db_column="country")
    password = Varbinary(max_length=2048, db_column="password", default="", editable=False)
    password_time = Seconds(db_column="passwordTime", editable=False)
    password_use_time = Seconds(db_column="passwordUseTime", editable=False)
    collaborators = Varbinary(max_length=8192, null=True, blank=True, db_column="collaborators")
    creation_time = Seconds(db_column="creationTime", editable=False)
    update_time = Seconds(db_column="updateTime", editable=False)
    last_login = Seconds(db_column="lastLogin", editable=False)
    default_watch = models.IntegerField(db_column="defaultWatch", default=WATCH_REVIEWS)
    roles = TinyInteger(db_column="roles", default=0)
    disabled = models.BooleanField(db_column="disabled", default=False)
    contact_tags = Varbinary(max_length=4096, null=True, blank=True, db_column="contactTags")
    birthday = models.IntegerField(null=True, blank=True, db_column="birthday")
    gender = Varbinary(max_length=24, null=True, blank=True, db_column="gender")
    data = Varbinary(max_length=32767, null=True, blank=True, db_column="data")
    is_guise = models.BooleanField(db_column="isGuise", default=False, editable=False)

    objects = ContactManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: list[str] = []
    #: What the admin site asks; its people are those of another application.
    is_staff = is_superuser = False

    class Meta:
        db_table = "ContactInfo"
        verbose_name = "account"
        ordering = ("pk",)

    def __str__(self) -> str:
        # Neither name nor address: str() ends up in log lines, which outlive the account.
        return f"account {self.pk}"

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def is_active(self) -> bool:
        return not self.disabled and not self.is_guise

    @property
    def is_covered(self) -> bool:
        """The conference was anonymised: the address is a random one, and one logs in with the old one all the same."""
        return self.email.endswith("@anonymous.invalid")

    @property
    def is_pc(self) -> bool:
        return bool(self.roles & PC)

    @property
    def is_chair(self) -> bool:
        return bool(self.roles & CHAIR)


def unaccented(name: str) -> str:
    """The name as it is sorted and searched: without accents, in lower case."""
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()


class Row(models.Model):
    """What all tables below have in common."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class Paper(models.Model):
    """A submission. ``outcome`` is positive once accepted, negative once rejected."""

    paper_id = Key(primary_key=True, db_column="paperId")
    title = Varbinary(max_length=512, null=True, db_column="title")
    author_information = Varbinary(max_length=8192, null=True, blank=True, db_column="authorInformation")
    abstract = Varbinary(max_length=16384, null=True, db_column="abstract")
    collaborators = Varbinary(max_length=8192, null=True, blank=True, db_column="collaborators")
    time_submitted = Seconds(db_column="timeSubmitted")
    time_withdrawn = Seconds(db_column="timeWithdrawn")
    time_final_submitted = Seconds(db_column="timeFinalSubmitted")
    time_modified = Seconds(db_column="timeModified")
    paper_storage_id = models.IntegerField(db_column="paperStorageId", default=0)
    sha1 = Digest(max_length=64, db_column="sha1", default=b"")
    final_paper_storage_id = models.IntegerField(db_column="finalPaperStorageId", default=0)
    blind = models.BooleanField(db_column="blind", default=True)
    outcome = TinyInteger(db_column="outcome", default=0)
    lead_contact = OrNobody(ContactInfo, db_column="leadContactId")
    shepherd_contact = OrNobody(ContactInfo, db_column="shepherdContactId")
    manager_contact = OrNobody(ContactInfo, db_column="managerContactId")
    cap_version = models.IntegerField(db_column="capVersion", default=0)
    size = models.IntegerField(db_column="size", default=0)
    mimetype = Varbinary(max_length=80, db_column="mimetype", default="")
    timestamp = Seconds(db_column="timestamp")
    pdf_format_status = models.BigIntegerField(db_column="pdfFormatStatus", default=0)
    withdraw_reason = Varbinary(max_length=1024, null=True, blank=True, db_column="withdrawReason")
    paper_format = TinyInteger(null=True, db_column="paperFormat")
    data_overflow = Varbinary(max_length=4096, null=True, db_column="dataOverflow")

    class Meta:
        db_table = "Paper"
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"#{self.pk} {self.title}"

    def author_list(self) -> list[Author]:
        """All authors in their order, those without an account among them. One statement, or none after ``prefetch_related("authors")``."""
        lines = enumerate((self.author_information or "").split("\n"), start=1)
        found = {position: Author.parse(line) for position, line in lines if line.strip()}
        for row in self.authors.all():
            found[row.position] = Author(row.first_name, row.last_name, row.email, row.affiliation)
        return [author for _, author in sorted(found.items())]


@dataclass(frozen=True)
class Author:
    """What stands on a paper about one author."""

    first_name: str
    last_name: str
    email: str
    affiliation: str

    @classmethod
    def parse(cls, line: str) -> Author:
        """From a line of ``Paper.author_information``: four texts with tabs between them."""
        first, last, email, affiliation, *_ = [*line.split("\t"), "", "", "", ""]
        return cls(first, last, email, affiliation)

    @property
    def line(self) -> str:
        return "\t".join((self.first_name, self.last_name, self.email, self.affiliation))

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()


class PaperAuthor(models.Model):
    """An author of a paper who has an account: the ``position``th, counted from 1.

    ``collaborators`` are people who must not review what this author wrote.
    """

    paper_author_id = Key(primary_key=True, db_column="paperAuthorId")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="authors")
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="authorships")
    position = models.IntegerField(db_column="position")
    first_name = Varbinary(max_length=120, db_column="firstName", default="")
    last_name = Varbinary(max_length=120, db_column="lastName", default="")
    email = models.CharField(max_length=120, db_column="email")
    affiliation = Varbinary(max_length=2048, db_column="affiliation", default="")
    collaborators = Varbinary(max_length=8192, null=True, blank=True, db_column="collaborators")

    class Meta:
        db_table = "PaperAuthor"
        verbose_name = "authorship"

    def __str__(self) -> str:
        return f"author {self.position} of paper {self.paper_id}"


class PaperReviewPreference(Row):
    """How much a member of the PC would like to review a paper: -100 to 100."""

    paper_rev_pref_id = Key(primary_key=True, db_column="paperRevPrefId")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="preferences")
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="preferences")
    preference = models.IntegerField(db_column="preference", default=0)
    expertise = models.IntegerField(null=True, db_column="expertise")

    class Meta:
        db_table = "PaperReviewPreference"
        verbose_name = "preference"
        ordering = ("pk",)


class PaperWatch(Row):
    """Who gets mail about what happens to a paper."""

    paper_watch_id = Key(primary_key=True, db_column="paperWatchId")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="watches")
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="watches")
    watch = models.IntegerField(db_column="watch", default=0)

    class Meta:
        db_table = "PaperWatch"
        verbose_name = "watch on a paper"
        verbose_name_plural = "watches on papers"
        ordering = ("pk",)


class PaperConflict(Row):
    """Why somebody may not review a paper; being its author is one reason."""

    paper_conflict_id = Key(primary_key=True, db_column="paperConflictId")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="conflicts")
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="conflicts")
    conflict_type = TinyInteger(db_column="conflictType", default=0)

    class Meta:
        db_table = "PaperConflict"
        verbose_name = "conflict"
        ordering = ("pk",)


class TopicArea(models.Model):
    """A subject that papers are about."""

    topic_id = Key(primary_key=True, db_column="topicId")
    topic_name = Varbinary(max_length=1024, null=True, db_column="topicName")

    class Meta:
        db_table = "TopicArea"
        verbose_name = "topic"

    def __str__(self) -> str:
        return self.topic_name or ""


class TopicInterest(Row):
    """How well a reviewer likes a subject: -2 to 2."""

    topic_interest_id = Key(primary_key=True, db_column="topicInterestId")
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="interests")
    topic = models.ForeignKey(TopicArea, models.CASCADE, db_column="topicId", related_name="interests")
    interest = models.IntegerField(db_column="interest", default=0)

    class Meta:
        db_table = "TopicInterest"
        verbose_name = "interest"
        ordering = ("pk",)


class PaperTopic(Row):
    """A subject of a paper."""

    pk = models.CompositePrimaryKey("paper_id", "topic_id")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="topics")
    topic = models.ForeignKey(TopicArea, models.CASCADE, db_column="topicId", related_name="papers")

    class Meta:
        db_table = "PaperTopic"
        verbose_name = "topic of a paper"
        verbose_name_plural = "topics of papers"


class PaperTag(Row):
    """A word that the PC put on a paper. Private tags, whose names begin with the number of an account, are not offered here."""

    pk = models.CompositePrimaryKey("paper_id", "tag")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="tags")
    tag = models.CharField(max_length=80, db_column="tag")
    tag_index = Float(db_column="tagIndex", default=0.0)

    class Meta:
        db_table = "PaperTag"
        verbose_name = "tag"


class ReviewNumber(models.IntegerField):
    """The number of a review: the next one, unless given. A part of the key, so the database cannot count it everywhere."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        if add and getattr(model_instance, self.attname) is None:
            rows = type(model_instance)._base_manager.using(model_instance._state.db)
            highest = rows.aggregate(models.Max(self.attname))[f"{self.attname}__max"]
            setattr(model_instance, self.attname, (highest or 0) + 1)
        return super().pre_save(model_instance, add)


class PaperReview(Row):
    """A review, asked for or written. While it is a draft, ``review_submitted`` is None and ``review_ordinal`` 0."""

    pk = models.CompositePrimaryKey("paper_id", "review_id")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="reviews")
    review_id = ReviewNumber(unique=True, db_column="reviewId")
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="reviews")
    review_token = models.IntegerField(db_column="reviewToken", default=0)
    review_type = TinyInteger(db_column="reviewType", default=PC_REVIEW)
    review_round = models.IntegerField(db_column="reviewRound", default=0)
    requested_by = OrNobody(ContactInfo, db_column="requestedBy")
    time_requested = Seconds(db_column="timeRequested")
    time_request_notified = Seconds(db_column="timeRequestNotified")
    review_blind = models.BooleanField(db_column="reviewBlind", default=True)
    review_modified = Seconds(db_column="reviewModified")
    review_author_modified = Seconds(null=True, db_column="reviewAuthorModified")
    review_submitted = Seconds(null=True, db_column="reviewSubmitted")
    review_notified = Seconds(null=True, db_column="reviewNotified")
    review_author_notified = Seconds(db_column="reviewAuthorNotified")
    review_author_seen = Seconds(null=True, db_column="reviewAuthorSeen")
    review_ordinal = models.IntegerField(db_column="reviewOrdinal", default=0)
    review_view_score = TinyInteger(db_column="reviewViewScore", default=-3)
    time_displayed = Seconds(db_column="timeDisplayed")
    time_approval_requested = Seconds(db_column="timeApprovalRequested")
    review_edit_version = models.IntegerField(db_column="reviewEditVersion", default=0)
    review_needs_submit = TinyInteger(db_column="reviewNeedsSubmit", default=1)
    review_word_count = models.IntegerField(null=True, db_column="reviewWordCount")
    review_format = TinyInteger(null=True, db_column="reviewFormat")
    over_all_merit = TinyInteger(db_column="overAllMerit", default=0)
    reviewer_qualification = TinyInteger(db_column="reviewerQualification", default=0)
    novelty = TinyInteger(db_column="novelty", default=0)
    technical_merit = TinyInteger(db_column="technicalMerit", default=0)
    interest_to_community = TinyInteger(db_column="interestToCommunity", default=0)
    longevity = TinyInteger(db_column="longevity", default=0)
    grammar = TinyInteger(db_column="grammar", default=0)
    likely_presentation = TinyInteger(db_column="likelyPresentation", default=0)
    suitable_for_short = TinyInteger(db_column="suitableForShort", default=0)
    potential = TinyInteger(db_column="potential", default=0)
    fixability = TinyInteger(db_column="fixability", default=0)
    tfields = Varbinary(max_length=4096, null=True, blank=True, db_column="tfields")
    sfields = Varbinary(max_length=2048, null=True, blank=True, db_column="sfields")
    data = Varbinary(max_length=8192, null=True, blank=True, db_column="data")

    class Meta:
        db_table = "PaperReview"
        verbose_name = "review"
        ordering = ("pk",)

    @property
    def texts(self) -> dict[str, str]:
        """What the review says, by the names in `REVIEW_TEXTS`."""
        return {**dict.fromkeys(REVIEW_TEXTS, ""), **json.loads(self.tfields or "{}")}

    @texts.setter
    def texts(self, texts: Mapping[str, str]) -> None:
        self.tfields = json.dumps(dict(texts), ensure_ascii=False, separators=(",", ":"))


class ReviewRating(Row):
    """What a reader thought of a review: a person rates each review once."""

    pk = models.CompositePrimaryKey("paper_id", "review_id", "contact_id")
    rating_id = models.IntegerField(unique=True, default=rating_number, db_column="ratingId")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="ratings")
    review = models.ForeignKey(
        PaperReview, models.CASCADE, to_field="review_id", db_column="reviewId", related_name="ratings"
    )
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="ratings")
    rating = TinyInteger(db_column="rating", default=0)

    class Meta:
        db_table = "ReviewRating"
        verbose_name = "rating"
        ordering = ("pk",)


def no_address() -> str:
    """Fills the place of an address in a key."""
    return f"{secrets.token_hex(16)}@account.invalid"


class PaperReviewRefused(Row):
    """A review that somebody was asked for and did not write.

    Who was asked is ``contact``; without an account, ``email`` and the names. ``refused_by`` is who said no: the same person, or a chair
    who did not want the request to be sent.
    """

    pk = models.CompositePrimaryKey("paper_id", "email")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="refusals")
    email = models.CharField(max_length=120, default=no_address, db_column="email")
    first_name = Varbinary(max_length=120, null=True, db_column="firstName")
    last_name = Varbinary(max_length=120, null=True, db_column="lastName")
    affiliation = Varbinary(max_length=2048, null=True, db_column="affiliation")
    contact = OrNobody(ContactInfo, db_column="contactId", related_name="refusals")
    requested_by = OrNobody(ContactInfo, db_column="requestedBy")
    time_requested = Seconds(null=True, db_column="timeRequested")
    refused_by = models.ForeignKey(ContactInfo, models.CASCADE, null=True, db_column="refusedBy", related_name="+")
    time_refused = Seconds(null=True, db_column="timeRefused")
    review_type = TinyInteger(db_column="reviewType", default=0)
    review_round = models.IntegerField(null=True, db_column="reviewRound")
    data = Varbinary(max_length=8192, null=True, db_column="data")
    reason = Varbinary(max_length=32767, null=True, blank=True, db_column="reason")

    class Meta:
        db_table = "PaperReviewRefused"
        verbose_name = "refused review"
        ordering = ("pk",)

    @property
    def who(self) -> str:
        """The name of who was asked, or else the address; empty if neither is to be seen."""
        name = self.contact.name if self.contact else f"{self.first_name or ''} {self.last_name or ''}".strip()
        return name or ("" if self.contact else self.email)


class PaperComment(Row):
    """A comment of an author, a reviewer or a chair."""

    comment_id = Key(primary_key=True, db_column="commentId")
    paper = models.ForeignKey(Paper, models.CASCADE, db_column="paperId", related_name="comments")
    contact = models.ForeignKey(ContactInfo, models.CASCADE, db_column="contactId", related_name="comments")
    time_modified = Seconds(db_column="timeModified")
    time_notified = Seconds(db_column="timeNotified")
    time_displayed = Seconds(db_column="timeDisplayed")
    comment = Varbinary(max_length=32767, null=True, db_column="comment")
    comment_type = models.IntegerField(db_column="commentType", default=0)
    reply_to = OrNobody("self", db_column="replyTo")
    ordinal = models.IntegerField(db_column="ordinal", default=0)
    author_ordinal = models.IntegerField(db_column="authorOrdinal", default=0)
    comment_tags = Varbinary(max_length=1024, null=True, blank=True, db_column="commentTags")
    comment_round = models.IntegerField(db_column="commentRound", default=0)
    comment_format = TinyInteger(null=True, db_column="commentFormat")
    comment_overflow = Varbinary(max_length=4096, null=True, db_column="commentOverflow")

    class Meta:
        db_table = "PaperComment"
        verbose_name = "comment"
        ordering = ("pk",)


class ActionLog(Row):
    """Who did what. ``dest_contact`` is who it was done to; ``true_contact`` who really did it, where a chair acted as ``contact``."""

    log_id = Key(primary_key=True, db_column="logId")
    contact = OrNobody(ContactInfo, db_column="contactId")
    dest_contact = models.ForeignKey(
        ContactInfo, models.CASCADE, null=True, db_column="destContactId", related_name="+"
    )
    true_contact = models.ForeignKey(
        ContactInfo, models.CASCADE, null=True, db_column="trueContactId", related_name="+"
    )
    paper = models.ForeignKey(Paper, models.SET_NULL, null=True, db_column="paperId", related_name="+")
    timestamp = Seconds(db_column="timestamp")
    ipaddr = Varbinary(max_length=39, null=True, db_column="ipaddr")
    action = Varbinary(max_length=4096, db_column="action")
    data = Varbinary(max_length=8192, null=True, db_column="data")

    class Meta:
        db_table = "ActionLog"
        verbose_name = "entry of the log"
        verbose_name_plural = "entries of the log"
        ordering = ("pk",)


class Capability(Row):
    """A link in a mail that lets somebody in: an account (to set a password) or a paper, never both."""

    capability_type = models.IntegerField(db_column="capabilityType")
    contact = OrNobody(ContactInfo, db_column="contactId")
    paper = OrNobody(Paper, db_column="paperId")
    time_expires = Seconds(db_column="timeExpires")
    salt = Varbinary(max_length=255, primary_key=True, db_column="salt")
    data = Varbinary(max_length=4096, null=True, db_column="data")

    class Meta:
        db_table = "Capability"
        verbose_name = "link in a mail"
        verbose_name_plural = "links in mails"


class Settings(Row):
    """What the chairs chose for the conference, such as whether the names are taken off."""

    name = Varbinary(max_length=256, primary_key=True, db_column="name")
    value = models.BigIntegerField(db_column="value", default=0)
    data = Varbinary(max_length=32767, null=True, db_column="data")

    class Meta:
        db_table = "Settings"
        verbose_name_plural = "settings"
