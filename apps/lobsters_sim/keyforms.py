"""The forms that ask for passwords, keys and receipts, in the words of a member."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from apps.showcase.forms import (
    BackForm,
    FinalForm,
    NewPasswordForm,
    PasswordForm,
    RecoverForm,
    RecoveryCodeField,
    password_field,
)

from .forms import USERNAME, NewUsernameField, ProseField, UsernameField
from .keys import identifier
from .models import User


class LoginForm(forms.Form):
    username = UsernameField()
    password = password_field("Password", "current-password")


class RegisterForm(NewPasswordForm):
    username = NewUsernameField()
    email = forms.EmailField(label="E-mail address", max_length=250, help_text="Nobody sees it.")
    field_order = ("username", "email", "new_password", "again")

    def account(self, data: Mapping[str, Any]) -> User:
        return User(username=data.get("username", ""), email=data.get("email", ""))

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"]
        if User.objects.filter(username=username).exists():
            raise ValidationError("Somebody has this user name already.")
        return username


class EmailForm(forms.ModelForm):
    class Meta:
        model = User
        fields = ("email",)
        field_classes = {"email": forms.EmailField}
        labels = {"email": "E-mail address"}
        help_texts = {"email": "Receipts are sent there. Nobody sees it."}


class DeleteForm(PasswordForm):
    disowned = forms.BooleanField(
        label="Also what I took my name off earlier",
        required=False,
        initial=True,
        help_text="Your password opens your key, which finds it. Without this it stays as it is now, under nobody’s name.",
    )


class KeyForm(forms.Form):
    """Password or recovery code: two ways to the same key. Who is logged in need not type their name."""

    username = UsernameField(required=False, help_text="Not needed with a recovery code.")
    password = password_field("Password", "current-password", required=False)
    recovery_code = RecoveryCodeField(label="or recovery code")

    def __init__(self, viewer: User | None, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._viewer = viewer
        if viewer is not None:
            del self.fields["username"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors or data.get("recovery_code"):
            return data
        if not data.get("password"):
            raise ValidationError("Enter your password or your recovery code.")
        if self._viewer is None and not data.get("username"):
            self.add_error("username", "A password opens your key only together with your user name.")
        return data

    def credentials(self) -> dict[str, str]:
        """What to unlock with. A recovery code wins: a browser may have filled in the password unasked."""
        if code := self.cleaned_data.get("recovery_code"):
            return {"recovery_code": code}
        username = self._viewer.username if self._viewer else self.cleaned_data["username"]
        return {"identifier": identifier(username), "password": self.cleaned_data["password"]}


class ReclaimForm(KeyForm):
    # The receipt travels in the page and back, never in a URL or a session.
    receipt = forms.CharField(widget=forms.HiddenInput, max_length=1000)


class GiveUpForm(KeyForm, FinalForm):
    field_order = ("username", "password", "recovery_code", "final")


class OtherNameField(NewUsernameField):
    def __init__(self) -> None:
        super().__init__(
            label="Another user name to come back with",
            required=False,
            validators=[RegexValidator(USERNAME, "Letters, digits, - and _, at most 25.")],
        )


class ReturnForm(BackForm, KeyForm):
    receipt = forms.CharField(
        label="Receipt (if you have it at hand)",
        required=False,
        max_length=1000,
        widget=forms.Textarea(
            attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false", "placeholder": "edna1:…"}
        ),
        help_text="It was in the mail. Without it we look for the account that your key opens.",
    )
    new_username = OtherNameField()
    other_name = "new_username"
    if_needed = ("new_username", "new_password", "again")
    with_password = ("username", "password")
    field_order = ("username", "password", "recovery_code", "receipt", "new_username", "new_password", "again")

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(None, data, **options)


class NewPasswordByCodeForm(RecoverForm):
    new_username = OtherNameField()
    other_name = "new_username"
    if_needed = ("new_username",)
    field_order = ("recovery_code", "new_username", "new_password", "again")


class EditForm(KeyForm):
    """The text of something that stands under nobody's name, and the key of whoever wrote it."""

    kind = forms.ChoiceField(choices=(("story", "story"), ("comment", "comment")), widget=forms.HiddenInput)
    short_id = forms.CharField(max_length=30, widget=forms.HiddenInput)
    title = forms.CharField(label="Title", min_length=3, max_length=150, required=False)
    text = ProseField(label="Text", required=False, rows=8)
    field_order = ("title", "text", "username", "password", "recovery_code")

    def __init__(self, kind: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if kind == "comment":
            del self.fields["title"]

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.get("kind") == "comment" and not data.get("text"):
            self.add_error(
                "text",
                "A comment cannot be emptied while it stands under nobody’s name. Reclaim it first, then delete it.",
            )
        if data.get("kind") == "story" and not data.get("title"):
            self.add_error("title", "A story needs a title.")
        return data
