"""What the pages of devices ask for. Codes and keys are never rendered back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from edna import conf
from edna.pages.forms import KeyForm, SecretInput, password_field
from edna.visitors import has_password

_LONGEST_NAME = 60


def name_field() -> forms.CharField:
    """What a device is called."""
    return forms.CharField(
        label=gettext_lazy("What you call the device"),
        max_length=_LONGEST_NAME,
        help_text=gettext_lazy("Your phone, for example. Only your devices see this name."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class FirstDeviceForm(KeyForm):
    """The key, and what this device is called."""

    name = name_field()
    keep_password = forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("My password goes on opening my key"),
        help_text=gettext_lazy("Without this only your devices open it; and if you lose all of them, nothing does."),
    )
    field_order = ("name", "identifier", "password", "keep_password", "recovery_code", "secret_key")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if conf.custody() == "server" and not has_password(self.user):
            del self.fields["keep_password"]

    def clean_password(self) -> str:
        return _own_password(self.user, self.cleaned_data["password"])

    def kept_password(self) -> str:
        """The password that goes on opening the key; empty: none."""
        return str(self.cleaned_data["password"]) if self.cleaned_data.get("keep_password") else ""


class CodeForm(forms.Form):
    """What the new device shows, and what it is called."""

    code = forms.CharField(
        label=gettext_lazy("The code that the new device shows"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )
    name = name_field()


class NameForm(forms.Form):
    """What a device, or a key on paper, is called."""

    name = name_field()


class NewKeyForm(forms.Form):
    """The password, if it is to open the new key, too."""

    password = password_field(
        label=gettext_lazy("Your password"),
        autocomplete="current-password",
        required=False,
        help_text=gettext_lazy(
            "Your key is replaced. With your password here it opens the new one, too; without it only your devices do."
        ),
    )

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user
        if conf.custody() != "server":
            password = self.fields["password"]
            password.label, password.widget = (
                gettext("The password of your key"),
                SecretInput(attrs=password.widget.attrs),
            )
        elif not has_password(user):
            del self.fields["password"]

    def clean_password(self) -> str:
        return _own_password(self.user, self.cleaned_data["password"])

    def kept_password(self) -> str:
        """As `FirstDeviceForm.kept_password`."""
        return str(self.cleaned_data.get("password", ""))


def _own_password(user: Any, password: str) -> str:
    """
    Raises:
        ValidationError: it logs somebody else in, or nobody. One password is for both, where the server alone uses keys.
    """
    if conf.custody() == "server" and password and has_password(user) and not user.check_password(password):
        raise ValidationError(gettext("This is not your password."))
    return password
