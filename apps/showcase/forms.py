"""What the forms of all applications share: fields for passwords and recovery codes, and the forms that set or ask for a password.

Does not know how people of an application are called, nor what opens their keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

LONGEST_PASSWORD = 1000


def password_field(label: str, autocomplete: str, **options: Any) -> forms.CharField:
    # Never stripped: a password may begin or end with a space. Never rendered back.
    return forms.CharField(
        label=label,
        strip=False,
        max_length=LONGEST_PASSWORD,
        widget=forms.PasswordInput(attrs={"autocomplete": autocomplete}),
        **options,
    )


class RecoveryCodeField(forms.CharField):
    """Optional: it stands beside a password."""

    def __init__(self, **options: Any) -> None:
        hints = {"autocomplete": "off", "spellcheck": "false", "placeholder": "XXXX-XXXX-XXXX-XXXX-XXXX-XXXX-XXXX"}
        super().__init__(**{"required": False, "max_length": 200, "widget": forms.TextInput(attrs=hints), **options})


class NewPasswordForm(forms.Form):
    """A new password, twice."""

    new_password = password_field(
        "New password", "new-password", help_text="At least 8 characters, not only digits, and nothing common."
    )
    again = password_field("The same password again", "new-password")

    def account(self, data: Mapping[str, Any]) -> Any:
        """Whose password it will be, as far as the form says: it must not be like what it protects."""
        return None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        password, again = data.get("new_password"), data.get("again")
        if password and again and password != again:
            self.add_error("again", "The two passwords differ.")
        elif password:
            try:
                validate_password(password, self.account(data))
            except ValidationError as error:
                self.add_error("new_password", error)
        return data


class PasswordForm(forms.Form):
    """The account's own password, to confirm that it is still the same person."""

    password = password_field("Your password", "current-password")

    def __init__(self, user: Any, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self._user.check_password(password):
            raise ValidationError("This is not your password.")
        return password


class ChangePasswordForm(PasswordForm, NewPasswordForm):
    field_order = ("password", "new_password", "again")

    def account(self, data: Mapping[str, Any]) -> Any:
        return self._user


class ConfirmForm(forms.Form):
    """Typing a given phrase, before something that cannot be undone by the one who does it."""

    confirmation = forms.CharField(widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}))

    def __init__(self, phrase: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._phrase = phrase
        self.fields["confirmation"].label = f"Type “{phrase}” to confirm"

    def clean_confirmation(self) -> str:
        confirmation: str = self.cleaned_data["confirmation"]
        if confirmation.strip().casefold() != self._phrase.casefold():
            raise ValidationError(f"Type exactly “{self._phrase}”.")
        return confirmation
