"""Students, staff, lectures, questions and answers."""

from __future__ import annotations

import datetime
import secrets
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.db import models
from django.utils import timezone


def new_apikey() -> str:
    """A fresh token for scripts."""
    return secrets.token_hex(16)


def today() -> datetime.date:
    """The date in the site's time zone (a named function, because migrations must be able to refer to it)."""
    return timezone.localdate()


class UserManager(BaseUserManager["User"]):
    """Makes accounts; e-mail addresses are kept in lower case, so that a login is found however it was typed."""

    @classmethod
    def normalize_email(cls, email: str | None) -> str:
        return (email or "").strip().lower()

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        if not email:
            raise ValueError("An account needs an e-mail address.")
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, **{**fields, "is_admin": True})

    def get_by_natural_key(self, email: str | None) -> User:
        return self.get(email=self.normalize_email(email))


class User(AbstractBaseUser):
    """A student, a member of staff, or (``is_anon``) the placeholder author of anonymised answers."""

    email = models.EmailField("e-mail address", unique=True)
    apikey = models.CharField("API key", max_length=64, unique=True, default=new_apikey, editable=False)
    is_admin = models.BooleanField("staff", default=False)
    is_anon = models.BooleanField("anonymous", default=False, editable=False)
    is_active = models.BooleanField("may log in", default=True)
    joined_on = models.DateField(null=True, blank=True, default=today, editable=False)

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: list[str] = []

    class Meta:
        verbose_name = "account"
        ordering = ("pk",)

    def __str__(self) -> str:
        # Not the e-mail address: str() ends up in log lines and in the admin site's history, which outlive the account.
        return f"account {self.pk}"

    @property
    def is_staff(self) -> bool:
        """What the admin site asks before it lets somebody in."""
        return self.is_admin

    def has_perm(self, perm: str, obj: object = None) -> bool:
        return self.is_active and self.is_admin

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_active and self.is_admin


class Lecture(models.Model):
    """One session of the course."""

    label = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.label


class Question(models.Model):
    """A homework question; numbers count from 1 within a lecture."""

    lecture = models.ForeignKey(Lecture, on_delete=models.CASCADE, related_name="questions")
    number = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ("lecture", "number")
        constraints = (models.UniqueConstraint(fields=["lecture", "number"], name="websubmit_question_number"),)

    def __str__(self) -> str:
        return f"{self.lecture}, question {self.number}"


class Answer(models.Model):
    """What one author handed in for one question."""

    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="answers")
    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="answers")
    text = models.TextField()
    submitted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=["author", "question"], name="websubmit_one_answer"),)

    def __str__(self) -> str:
        return f"answer {self.pk}"
