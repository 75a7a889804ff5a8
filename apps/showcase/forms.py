"""What the forms of all applications share: fields for passwords and recovery codes, the forms that set or ask for a password, and those
with which people leave and come back.

Does not know how people of an application are called, nor what opens their keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

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


class FinalForm(forms.Form):
    """Said beside the key: mixed into the form that asks for it."""

    final = forms.BooleanField(
        label="I know that this is final, and that nobody can bring it back.",
        error_messages={"required": "Tick this box if you want to give it up. Nothing was changed."},
    )


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


class LeaveForm(PasswordForm):
    """Leaving: the password, and what of the key's is to go along."""

    everything = forms.BooleanField(
        required=False,
        label="Remove what was anonymised earlier, as well",
        help_text="Your password opens your key, which finds it. Without this, it stays as anonymous as it is.",
    )
    recovery_code = RecoveryCodeField(label="Recovery code, if your password does not open your key")

    def credentials(self, identifier: str) -> dict[str, str]:
        """What to unlock with; nothing if nobody wants the key to find more."""
        data = self.cleaned_data
        if data["recovery_code"]:
            return {"recovery_code": data["recovery_code"]}
        return {"identifier": identifier, "password": data["password"]} if data["everything"] else {}


class _AskingForm(NewPasswordForm):
    """Asks for some of its fields only those who need them."""

    #: The field for another name to come back with, because somebody else has one's own by now.
    other_name: ClassVar[str]
    if_needed: ClassVar[tuple[str, ...]]

    def __init__(self, *args: Any, asked: Iterable[str] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        for name in self.if_needed:
            if name not in asked and not self._is_needed(name):
                del self.fields[name]

    def _is_needed(self, field: str) -> bool:
        """Whether this form was sent from a page that asked for the field."""
        return field in self.data

    def receipt_text(self) -> str:
        """The receipt that was given, if one was."""
        return str(self.cleaned_data.get("receipt", ""))

    def name(self) -> str:
        """The other name, if one was given."""
        return str(self.cleaned_data.get(self.other_name, ""))


class BackForm(_AskingForm):
    """Coming back; to be mixed into the form that asks for the key, by password or by recovery code.

    A password belongs to a name. Under another name, whoever gave the password keeps it, and whoever came by recovery code chooses one.
    """

    #: What nobody has to fill in beside a recovery code.
    with_password: ClassVar[tuple[str, ...]]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "new_password" in self.fields:
            for name in self.with_password:
                del self.fields[name]

    def _is_needed(self, field: str) -> bool:
        chooses = self.other_name in self.data and str(self.data.get("recovery_code", "")).strip()
        return super()._is_needed(field) or (field in ("new_password", "again") and bool(chooses))

    @property
    def by_code(self) -> bool:
        return bool(self.cleaned_data.get("recovery_code"))

    def fields_for_a_name(self) -> tuple[str, ...]:
        return (self.other_name, "new_password", "again") if self.by_code else (self.other_name,)

    def password(self) -> str:
        """The password to set, for the login and for the key; none for whoever comes back as they were."""
        if "new_password" in self.cleaned_data:
            return str(self.cleaned_data["new_password"])
        return str(self.cleaned_data["password"]) if self.name() else ""


class RecoverForm(_AskingForm):
    """The recovery code, and a new password: for those who are here and have forgotten theirs, as for those who are away."""

    by_code = True

    recovery_code = RecoveryCodeField(label="Recovery code", required=True)

    def credentials(self) -> dict[str, str]:
        return {"recovery_code": self.cleaned_data["recovery_code"]}

    def fields_for_a_name(self) -> tuple[str, ...]:
        return (self.other_name,)

    def password(self) -> str:
        return str(self.cleaned_data["new_password"])
