"""What the pages of guardians ask for. As in `edna.pages.forms`, nothing secret is rendered back but the code of a request."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from edna import api
from edna.errors import RecoveryCodeMalformed
from edna.pages.forms import KeyForm, SecretInput, name_of_identifier, password_field
from edna.pages.keys.forms import NewPasswordForm
from edna.pages.people import People

_LONGEST = 1000
_SHORTEST_PIN = 4


class EnrollForm(KeyForm):
    """Where guardians reach somebody, a PIN if they want one, and the key."""

    contact = forms.EmailField(
        label=gettext_lazy("Where the guardians reach you"),
        help_text=gettext_lazy("An e-mail address that you will still have when you have lost everything else."),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    pin = password_field(
        label=gettext_lazy("A PIN, if you want one"),
        autocomplete="off",
        required=False,
        help_text=gettext_lazy(
            "It is needed then, too, so that the guardians together cannot open your key. If you forget it, they cannot help you."
        ),
    )
    pin_again = password_field(label=gettext_lazy("The PIN again"), autocomplete="off", required=False)
    field_order = ("contact", "pin", "pin_again", "identifier", "password", "recovery_code", "secret_key")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("pin", "pin_again"):
            self.fields[name].widget = SecretInput(attrs=self.fields[name].widget.attrs)

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        pin = data.get("pin", "")
        if pin != data.get("pin_again", ""):
            self.add_error("pin_again", gettext("The two PINs differ."))
        elif pin and len(pin) < _SHORTEST_PIN:
            self.add_error("pin", gettext("A PIN has at least four characters."))
        return data


class AskForm(forms.Form):
    """Who asks for help."""

    identifier = forms.CharField(max_length=_LONGEST, widget=forms.TextInput(attrs={"autocomplete": "username"}))

    def __init__(self, *args: Any, pages: People, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["identifier"].label = name_of_identifier(pages)


class RequestForm(AskForm):
    """A request that was made before."""

    request_code = forms.CharField(
        max_length=_LONGEST,
        label=gettext_lazy("The code of your request"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}),
    )

    def clean_request_code(self) -> api.RecoveryCode:
        try:
            return api.RecoveryCode.parse(self.cleaned_data["request_code"])
        except RecoveryCodeMalformed:
            raise ValidationError(
                gettext("The code is incomplete or mistyped. It has seven groups of four characters.")
            ) from None


class GuardianCodeForm(forms.Form):
    """What a guardian has sent or handed over to the one who asks."""

    number = forms.IntegerField(min_value=1, max_value=255, widget=forms.HiddenInput)
    code = forms.CharField(
        max_length=100,
        label=gettext_lazy("The code that it gave you"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )


class FinishForm(NewPasswordForm):
    """The PIN, if there is one, and a new password."""

    pin = password_field(label=gettext_lazy("Your PIN, if you chose one"), autocomplete="off", required=False)
    field_order = ("pin", "new_password", "again")
