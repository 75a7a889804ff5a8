"""What the pages of the key ask for: a password to confirm, a new password, a recovery code, a part of it, a phrase to type.

Knows no keys and no tables.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.password_validation import password_validators_help_text_html, validate_password
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from edna import api, conf
from edna.pages.forms import ReceiptsForm, SecretInput, password_field, secret_field
from edna.visitors import has_password

#: Characters of a recovery code that are alike, as those who read one may write them.
_ALIKE = str.maketrans({"O": "0", "I": "1", "L": "1"})


class PasswordForm(forms.Form):
    """The password of who is logged in, to see that it is still the same person; nothing, of an account that has none."""

    password = password_field(label=gettext_lazy("Your password"), autocomplete="current-password")

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user
        if not has_password(user):
            del self.fields["password"]

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise ValidationError(gettext("This is not your password."))
        return password


class NewPasswordForm(forms.Form):
    """A new password, twice."""

    new_password = password_field(label=gettext_lazy("New password"), autocomplete="new-password")
    again = password_field(label=gettext_lazy("The new password again"), autocomplete="new-password")

    #: Whose it will be, as far as one knows: it must not be like what it protects.
    user: Any = None

    def __init__(self, *args: Any, user: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user
        self.fields["new_password"].help_text = password_validators_help_text_html()

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        password, again = data.get("new_password"), data.get("again")
        if password and again and password != again:
            self.add_error("again", gettext("The two passwords differ."))
        elif password:
            try:
                validate_password(password, self.user if self.user and self.user.is_authenticated else None)
            except ValidationError as error:
                self.add_error("new_password", error)
        return data


class ForgottenForm(NewPasswordForm):
    """The recovery code, and a new password."""

    recovery_code = secret_field(label=gettext_lazy("Recovery code"))
    field_order = ("recovery_code", "new_password", "again")

    def credentials(self) -> dict[str, Any]:
        return {"recovery_code": self.cleaned_data["recovery_code"].strip()}


class ReplaceKeyForm(ReceiptsForm, NewPasswordForm):
    """The key that there is, and the password of the new one."""

    field_order = ("password", "new_password", "again", "receipts", "recovery_code", "secret_key")

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, user=user, **options)
        self.user = user
        if conf.custody() == "browser":
            # The page has its own, which nobody sends; and where receipts are the only way, a browser makes no new key.
            self.fields.pop("receipts", None)
        if conf.custody() == "browser" or (user.is_authenticated and not has_password(user)):
            del self.fields["new_password"], self.fields["again"]
        elif conf.custody() == "both":
            for name in ("new_password", "again"):
                self.fields[name].widget = SecretInput(attrs=self.fields[name].widget.attrs)

    def clean_new_password(self) -> str:
        password: str = self.cleaned_data["new_password"]
        if self.user.check_password(password):
            raise ValidationError(gettext("This is the password that you have. Choose another one."))
        return password


class LastCharactersForm(forms.Form):
    """How the recovery code ends: whoever knows that has kept it."""

    typed = secret_field(label=gettext_lazy("The last four characters of your recovery code"))

    def __init__(self, code: api.RecoveryCode, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._code = code

    def clean_typed(self) -> str:
        typed = "".join(self.cleaned_data["typed"].upper().replace("-", " ").split()).translate(_ALIKE)
        if len(typed) < 4 or not str(self._code).replace("-", "").endswith(typed):
            raise ValidationError(gettext("Your recovery code ends otherwise. Look at it where you have kept it."))
        return typed


class PhraseForm(forms.Form):
    """A phrase that is typed before what cannot be undone."""

    phrase = forms.CharField(
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["phrase"].label = gettext("Type “%(phrase)s” to confirm") % {"phrase": self.expected()}
        # A script looks before it opens the key.
        self.fields["phrase"].widget.attrs["data-edna-phrase"] = self.expected()

    @staticmethod
    def expected() -> str:
        return gettext("delete for good")

    def clean_phrase(self) -> str:
        phrase: str = self.cleaned_data["phrase"]
        if " ".join(phrase.split()).casefold() != self.expected().casefold():
            raise ValidationError(gettext("Type exactly “%(phrase)s”.") % {"phrase": self.expected()})
        return phrase
