"""The forms that ask for passwords and keys, beside those of edna's pages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from edna.pages.applying import ConfirmForm
from edna.pages.forms import KeyForm
from edna.pages.keys.forms import NewPasswordForm

from .forms import NewUsernameField, ProseField, UsernameField
from .models import User


class LoginForm(AuthenticationForm):
    """Django's own, for members of this site."""

    username = UsernameField()
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": "No account has this user name and password. If you left, or were away for long, you can come back.",
    }

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if data.get("username") and data.get("password"):
            given = {"lobsters_username": data["username"], "password": data["password"]}
            self.user_cache = authenticate(self.request, **given)
            if self.user_cache is None:
                raise self.get_invalid_login_error()
        return data


class RegisterForm(NewPasswordForm):
    username = NewUsernameField()
    email = forms.EmailField(label="E-mail address", max_length=250, help_text="Nobody sees it.")
    field_order = ("username", "email", "new_password", "again")

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        self.user = User(
            username=data.get("username", ""), email=data.get("email", "")
        )  # a password must not be like it
        return super().clean()

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


class TagForm(forms.Form):
    tag = forms.CharField(
        label="Tag",
        max_length=25,
        widget=forms.TextInput(attrs={"list": "tags", "autocomplete": "off", "autocapitalize": "none"}),
    )


class TopicForm(ConfirmForm):
    """The topic travels in the page and back, never in an address."""

    tag = forms.CharField(widget=forms.HiddenInput, max_length=25)


class EditForm(KeyForm):
    """The text of something that stands under nobody's name, and the key of whoever wrote it."""

    kind = forms.ChoiceField(choices=(("story", "story"), ("comment", "comment")), widget=forms.HiddenInput)
    short_id = forms.CharField(max_length=30, widget=forms.HiddenInput)
    title = forms.CharField(label="Title", min_length=3, max_length=150, required=False)
    text = ProseField(label="Text", required=False, rows=8)
    field_order = ("title", "text", "identifier", "password", "recovery_code", "secret_key")

    def __init__(self, *args: Any, is_story: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not is_story:
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
