"""The twenty tables of Lobsters: users, stories, comments, votes, and what is around them.

Tables and columns are named as the original names them; beyond its columns there are only a password and the moderator's badge of
a user. There are real foreign keys. Text that may be NULL there may be NULL here. Whose a row is, and what refers to what, is all
here; what happens to it when somebody leaves is in `disguises`, and how votes become an order in `scores`.
Long, because the schema is: the models of one application belong together.
"""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models
from django.utils import timezone

from .fields import (
    MediumTextField,
    SecondsField,
    ShortTextField,
    SingleFloatField,
    TinyIntegerField,
    UnsignedAutoField,
    UnsignedBigAutoField,
)

SHORT_ID_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_short_id() -> str:
    """What names a story, comment or message in URLs."""
    return "".join(secrets.choice(SHORT_ID_ALPHABET) for _ in range(10))


class Timestamped(models.Model):
    created_at = SecondsField(default=timezone.now, editable=False)
    updated_at = SecondsField(auto_now=True)

    class Meta:
        abstract = True


class UserManager(BaseUserManager["User"]):
    def create_user(self, username: str, email: str, password: str | None = None, **fields: Any) -> User:
        if not username:
            raise ValueError("An account needs a user name.")
        user = self.model(username=username, email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """A member; or, with ``deleted_at``, a placeholder to whom nothing can be traced and as whom nobody can log in."""

    id = models.BigAutoField(primary_key=True)
    username = models.CharField(max_length=50, unique=True)
    karma = models.IntegerField(default=0)
    last_login = SecondsField(null=True, blank=True, editable=False)
    password = models.CharField(max_length=128, db_column="password_digest")
    password_reset_token = models.CharField(max_length=250, null=True, blank=True, editable=False)  # noqa: DJ001
    rss_token = models.CharField(max_length=250, null=True, blank=True, editable=False)  # noqa: DJ001
    session_token = models.CharField(max_length=250, null=True, blank=True, editable=False)  # noqa: DJ001
    email = models.CharField("e-mail address", max_length=250)
    created_at = SecondsField(default=timezone.now, editable=False)
    deleted_at = SecondsField(null=True, blank=True, editable=False)
    is_moderator = models.BooleanField("moderator", default=False)

    objects = UserManager()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ["email"]

    #: What the admin site asks before it lets somebody in: that is for the accounts of `AUTH_USER_MODEL`.
    is_staff = False

    class Meta:
        db_table = "users"
        verbose_name = "account"
        ordering = ("pk",)

    def __str__(self) -> str:
        # Not the user name: str() ends up in log lines and in the admin site's history, which outlive the account.
        return f"account {self.pk}"

    @property
    def is_active(self) -> bool:
        """Whether somebody may log in."""
        return self.deleted_at is None

    def has_perm(self, perm: str, obj: object = None) -> bool:
        return False

    def has_module_perms(self, app_label: str) -> bool:
        return False


class Tag(models.Model):
    id = UnsignedAutoField(primary_key=True)
    tag = models.CharField(max_length=25, unique=True)
    description = models.CharField(max_length=100, blank=True, default="")
    privileged = models.BooleanField(default=False)
    is_media = models.BooleanField(default=False)
    inactive = models.BooleanField(default=False)
    hotness_mod = SingleFloatField(default=0)

    class Meta:
        db_table = "tags"
        ordering = ("tag",)

    def __str__(self) -> str:
        return self.tag


class Story(models.Model):
    """A link, or a text, that a member submitted. ``upvotes``, ``downvotes`` and ``comments_count`` agree with the rows that they
    count as long as nobody has disguised their own; ``hotness`` is smallest on top of the front page."""

    id = UnsignedAutoField(primary_key=True)
    created_at = SecondsField(default=timezone.now, editable=False)
    user = models.ForeignKey(User, models.PROTECT, related_name="stories")
    url = models.CharField(max_length=250, blank=True, default="")
    title = models.CharField(max_length=150)
    description = MediumTextField(blank=True, default="")
    short_id = models.CharField(max_length=30, unique=True, default=new_short_id, editable=False)
    is_expired = models.BooleanField(default=False)
    upvotes = models.PositiveIntegerField(default=0)
    downvotes = models.PositiveIntegerField(default=0)
    is_moderated = models.BooleanField(default=False)
    hotness = models.DecimalField(max_digits=20, decimal_places=10, default=0)
    markeddown_description = MediumTextField(blank=True, default="")
    story_cache = MediumTextField(blank=True, default="")
    comments_count = models.IntegerField(default=0)
    merged_story = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="merged_stories")
    unavailable_at = SecondsField(null=True, blank=True)
    twitter_id = models.CharField(max_length=20, null=True, blank=True)  # noqa: DJ001
    user_is_author = models.BooleanField(default=False)
    tags = models.ManyToManyField(Tag, through="Tagging", related_name="stories")

    class Meta:
        db_table = "stories"
        indexes = [
            models.Index(fields=["hotness"], name="stories_hotness"),
            models.Index(fields=["created_at"], name="stories_created_at"),
        ]
        verbose_name_plural = "stories"
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"story {self.short_id}"

    @property
    def score(self) -> int:
        return self.upvotes - self.downvotes


class Tagging(models.Model):
    id = UnsignedAutoField(primary_key=True)
    story = models.ForeignKey(Story, models.CASCADE, related_name="taggings", db_index=False)
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="taggings")

    class Meta:
        db_table = "taggings"
        constraints = [models.UniqueConstraint(fields=["story", "tag"], name="taggings_story_tag")]

    def __str__(self) -> str:
        return f"tagging {self.pk}"


class Hat(Timestamped):
    """Who somebody is, as far as a moderator has seen proof: "Maintainer of ..."."""

    id = models.AutoField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="hats")
    granted_by_user = models.ForeignKey(User, models.PROTECT, related_name="granted_hats")
    hat = models.CharField(max_length=255)
    link = models.CharField(max_length=255, null=True, blank=True)  # noqa: DJ001
    modlog_use = models.BooleanField(default=False)
    doffed_at = SecondsField(null=True, blank=True)

    class Meta:
        db_table = "hats"
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"hat {self.pk}"


class HatRequest(Timestamped):
    id = models.AutoField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="hat_requests")
    hat = models.CharField(max_length=255)
    link = models.CharField(max_length=255)
    comment = ShortTextField()

    class Meta:
        db_table = "hat_requests"

    def __str__(self) -> str:
        return f"request {self.pk} for a hat"


class Comment(Timestamped):
    """A comment below a story. ``thread_id`` is the number of the top comment above it, or its own."""

    id = UnsignedAutoField(primary_key=True)
    short_id = models.CharField(max_length=30, unique=True, default=new_short_id, editable=False)
    story = models.ForeignKey(Story, models.CASCADE, related_name="comments")
    user = models.ForeignKey(User, models.PROTECT, related_name="comments")
    parent_comment = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="replies")
    thread_id = models.PositiveIntegerField(default=0, db_index=True)
    comment = MediumTextField()
    upvotes = models.IntegerField(default=0)
    downvotes = models.IntegerField(default=0)
    confidence = models.DecimalField(max_digits=20, decimal_places=19, default=0)
    markeddown_comment = MediumTextField(blank=True, default="")
    is_deleted = models.BooleanField(default=False)
    is_moderated = models.BooleanField(default=False)
    is_from_email = models.BooleanField(default=False)
    hat = models.ForeignKey(Hat, models.SET_NULL, null=True, blank=True, related_name="comments")

    class Meta:
        db_table = "comments"
        ordering = ("pk",)
        indexes = [models.Index(fields=["created_at"], name="comments_created_at")]

    def __str__(self) -> str:
        return f"comment {self.short_id}"

    @property
    def score(self) -> int:
        return self.upvotes - self.downvotes


class Vote(models.Model):
    """One vote for a story (without ``comment``) or for a comment of that story; ``vote`` is 1 or -1."""

    id = UnsignedBigAutoField(primary_key=True)
    user = models.ForeignKey(User, models.PROTECT, related_name="votes", db_index=False)
    story = models.ForeignKey(Story, models.CASCADE, related_name="votes")
    comment = models.ForeignKey(Comment, models.CASCADE, null=True, blank=True, related_name="votes")
    vote = TinyIntegerField()
    reason = models.CharField(max_length=1, blank=True, default="")

    class Meta:
        db_table = "votes"
        ordering = ("pk",)
        indexes = [
            models.Index(fields=["user", "story"], name="votes_user_story"),
            models.Index(fields=["user", "comment"], name="votes_user_comment"),
        ]

    def __str__(self) -> str:
        return f"vote {self.pk}"


class Message(models.Model):
    """A private message, which is both people's. Either may delete it for themselves."""

    id = UnsignedAutoField(primary_key=True)
    created_at = SecondsField(default=timezone.now, editable=False)
    author_user = models.ForeignKey(User, models.PROTECT, related_name="sent_messages")
    recipient_user = models.ForeignKey(User, models.PROTECT, related_name="received_messages")
    has_been_read = models.BooleanField(default=False)
    subject = models.CharField(max_length=100)
    body = MediumTextField()
    short_id = models.CharField(max_length=30, unique=True, default=new_short_id, editable=False)
    deleted_by_author = models.BooleanField(default=False)
    deleted_by_recipient = models.BooleanField(default=False)

    class Meta:
        db_table = "messages"
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"message {self.short_id}"


class _Moderated(Timestamped):
    """Something that a moderator did, to a story, a comment or a user. It is the moderator's and the user's."""

    id = models.AutoField(primary_key=True)
    moderator_user = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="%(class)ss_made")
    story = models.ForeignKey(Story, models.SET_NULL, null=True, blank=True, related_name="%(class)ss")
    comment = models.ForeignKey(Comment, models.SET_NULL, null=True, blank=True, related_name="%(class)ss")
    user = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="%(class)ss")
    action = MediumTextField(blank=True, default="")
    reason = MediumTextField(blank=True, default="")
    is_from_suggestions = models.BooleanField(default=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class Moderation(_Moderated):
    """An entry of the moderation log, for everybody to read."""

    class Meta:
        db_table = "moderations"
        ordering = ("pk",)
        indexes = [models.Index(fields=["created_at"], name="moderations_created_at")]


class ModNote(_Moderated):
    """A note that moderators keep for each other."""

    class Meta:
        db_table = "mod_notes"
        ordering = ("pk",)


class HiddenStory(models.Model):
    id = models.AutoField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="hidden_stories", db_index=False)
    story = models.ForeignKey(Story, models.CASCADE, related_name="hidden_by")

    class Meta:
        db_table = "hidden_stories"
        constraints = [models.UniqueConstraint(fields=["user", "story"], name="hidden_stories_user_story")]
        verbose_name_plural = "hidden stories"

    def __str__(self) -> str:
        return f"hidden story {self.pk}"


class SavedStory(Timestamped):
    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="saved_stories", db_index=False)
    story = models.ForeignKey(Story, models.CASCADE, related_name="saved_by")

    class Meta:
        db_table = "saved_stories"
        constraints = [models.UniqueConstraint(fields=["user", "story"], name="saved_stories_user_story")]
        verbose_name_plural = "saved stories"

    def __str__(self) -> str:
        return f"saved story {self.pk}"


class ReadRibbon(Timestamped):
    """How far somebody has read below a story."""

    id = models.BigAutoField(primary_key=True)
    is_following = models.BooleanField(default=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="read_ribbons", db_index=False)
    story = models.ForeignKey(Story, models.CASCADE, related_name="read_ribbons")

    class Meta:
        db_table = "read_ribbons"
        indexes = [models.Index(fields=["user", "story"], name="read_ribbons_user_story")]

    def __str__(self) -> str:
        return f"ribbon {self.pk}"


class SuggestedTagging(models.Model):
    id = models.AutoField(primary_key=True)
    story = models.ForeignKey(Story, models.CASCADE, related_name="suggested_taggings")
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="suggested_taggings")
    user = models.ForeignKey(User, models.CASCADE, related_name="suggested_taggings")

    class Meta:
        db_table = "suggested_taggings"

    def __str__(self) -> str:
        return f"suggested tagging {self.pk}"


class SuggestedTitle(models.Model):
    id = models.AutoField(primary_key=True)
    story = models.ForeignKey(Story, models.CASCADE, related_name="suggested_titles")
    user = models.ForeignKey(User, models.CASCADE, related_name="suggested_titles")
    title = models.CharField(max_length=150)

    class Meta:
        db_table = "suggested_titles"

    def __str__(self) -> str:
        return f"suggested title {self.pk}"


class TagFilter(Timestamped):
    """A tag whose stories somebody does not want to see."""

    id = models.AutoField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="tag_filters")
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="filters")

    class Meta:
        db_table = "tag_filters"

    def __str__(self) -> str:
        return f"tag filter {self.pk}"


class Invitation(Timestamped):
    """A member invites somebody, who has no account yet, by e-mail."""

    id = models.AutoField(primary_key=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="invitations")
    email = models.CharField(max_length=255)
    code = models.CharField(max_length=255)
    memo = MediumTextField(blank=True, default="")

    class Meta:
        db_table = "invitations"

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class InvitationRequest(Timestamped):
    """Somebody without an account asks for one. Nobody's: it is deleted once it is answered."""

    id = models.AutoField(primary_key=True)
    code = models.CharField(max_length=255)
    is_verified = models.BooleanField(default=False)
    email = models.CharField(max_length=255)
    name = models.CharField(max_length=255)
    memo = ShortTextField(blank=True, default="")
    ip_address = models.CharField(max_length=255)

    class Meta:
        db_table = "invitation_requests"

    def __str__(self) -> str:
        return f"request {self.pk} for an invitation"


class Keystore(models.Model):
    """Numbers of the whole site, such as its traffic.

    The original also counts each member's unread messages, stories and comments here, under keys that hold the member's number. No
    relation leads to those, so they would outlive the member: count rows instead.
    """

    key = models.CharField(max_length=50, primary_key=True)
    value = models.BigIntegerField(default=0)

    class Meta:
        db_table = "keystores"

    def __str__(self) -> str:
        return self.key
