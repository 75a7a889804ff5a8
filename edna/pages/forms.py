"""The forms of the pages. Passwords, codes and keys are never rendered back; what was wrong is said once.

Knows of people only what they log in with.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from edna import api, conf, registry
from edna.errors import ReceiptMalformed
from edna.pages import words
from edna.pages.people import People

_LONGEST = 1000
#: The field by which a browser that keeps the key sends what an act needs instead of it.
HANDED = "handed"


class SecretInput(forms.PasswordInput):
    """Where keys stay in browsers it has no name: none sends what is typed into it, whatever becomes of the script that takes it."""

    def __init__(self, *, attrs: dict[str, Any], is_shown: bool = False) -> None:
        super().__init__(attrs=attrs)
        self.input_type = "text" if is_shown else "password"

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        if conf.custody() != "server":
            context["widget"]["attrs"]["data-edna-secret"] = name
        if conf.custody() == "browser":
            context["widget"]["name"] = ""
        return context

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        return None if conf.custody() == "browser" else super().value_from_datadict(data, files, name)


def password_field(*, label: Any, autocomplete: str, **options: Any) -> forms.CharField:
    """Never stripped: a password may begin or end with a space."""
    return forms.CharField(
        label=label,
        strip=False,
        max_length=_LONGEST,
        widget=forms.PasswordInput(attrs={"autocomplete": autocomplete}),
        **options,
    )


def secret_field(*, label: Any, **options: Any) -> forms.CharField:
    """A recovery code or a secret key: to be read while it is copied, and kept by no browser."""
    attributes = {"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
    widget = SecretInput(attrs=attributes, is_shown=True)
    return forms.CharField(label=label, max_length=_LONGEST, widget=widget, **options)


class KeyForm(forms.Form):
    """Asks for the key, by exactly one of password, recovery code and secret key.

    Beside a password, who is not logged in says who they are. Where browsers keep keys, what they hand over takes the place of it all.
    """

    #: Shown first; `other_ways` are folded away.
    identifier = forms.CharField(
        required=False, max_length=_LONGEST, widget=forms.TextInput(attrs={"autocomplete": "username"})
    )
    password = password_field(label=gettext_lazy("Your password"), autocomplete="current-password", required=False)
    recovery_code = secret_field(label=gettext_lazy("Recovery code"), required=False)
    secret_key = secret_field(label=gettext_lazy("Secret key"), required=False)

    #: The names of the fields that stand in for the password.
    other_ways = ("recovery_code", "secret_key")

    def __init__(
        self,
        *args: Any,
        user: Any = None,
        pages: People | None = None,
        is_brought: bool = False,
        waits_for_log_in: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.user: Any = user or AnonymousUser()
        #: Whether the browser brings something along that opens the key: then nothing has to be typed.
        self.is_brought = is_brought
        #: Whether that opens it only once its person has logged in.
        self.waits_for_log_in = waits_for_log_in
        self.pages = pages or People()
        if not self.pages.asks_for_name(self.user):
            del self.fields["identifier"]
        else:
            self.fields["identifier"].label = name_of_identifier(self.pages)
        if conf.custody() != "server":
            password = self.fields["password"]
            password.label = gettext("The password of your key")
            password.widget = SecretInput(attrs=password.widget.attrs)

    def asks_for_name(self) -> bool:
        return "identifier" in self.fields

    def is_handed(self) -> bool:
        """Whether a browser that keeps the key has sent this."""
        return conf.custody() != "server" and HANDED in self.data

    def first_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self.other_ways]

    def other_fields(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name in self.other_ways]

    def other_ways_are_used(self) -> bool:
        return self.is_bound and any(
            self.data.get(self.add_prefix(name)) or name in self.errors for name in self.other_ways
        )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if self.is_handed():
            return data
        if conf.custody() == "browser":
            raise ValidationError(
                gettext("Nothing was changed: the script of this page did not run, and only it can use your key.")
            )
        given = [name for name in ("password", *self.other_ways) if data.get(name)]
        if not given and self.is_brought:
            return data
        if not self.errors and len(given) != 1:
            if given:
                raise ValidationError(
                    gettext("Please give one of them: the password, the recovery code or the secret key.")
                )
            raise ValidationError(gettext("Please give your password or your recovery code."))
        if given == ["password"] and "identifier" in self.fields and not data.get("identifier"):
            name = self.fields["identifier"].label  # as the page calls it
            self.add_error(
                "identifier",
                gettext("Please say this, too: a password opens nothing without “%(name)s”.") % {"name": name},
            )
        return data

    def credentials(self) -> dict[str, Any]:
        """What to unlock with; nothing, if a browser hands over what it has opened, or brings a key along."""
        data = self.cleaned_data
        if self.is_handed() or not (data.get("password") or any(data.get(name) for name in self.other_ways)):
            return {}
        for name in self.other_ways:
            if data.get(name):
                return {name: data[name].strip()}
        asks = "identifier" in self.fields
        identifier = self.pages.identifier(data["identifier"]) if asks else self.pages.identifier_of(self.user)
        return {"password": data["password"], "identifier": identifier}


class ReceiptsForm(KeyForm):
    """Asks for the receipts, too, where the site keeps nothing else that leads to what they stand for."""

    receipts = forms.CharField(
        required=False,
        label=gettext_lazy("Your receipts, one a line"),
        help_text=gettext_lazy("All that you have: what none of them leads to is not found."),
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if not registry.any_unlisted():
            del self.fields["receipts"]

    def clean_receipts(self) -> list[api.Receipt]:
        lines = self.cleaned_data["receipts"].splitlines()
        try:
            return [api.Receipt.parse(line) for line in lines if line.strip()]
        except ReceiptMalformed as error:
            raise ValidationError(words.explain(error)) from None

    def credentials(self) -> dict[str, Any]:
        return {**super().credentials(), "receipts": self.cleaned_data.get("receipts", [])}


def name_of_identifier(pages: People) -> str:
    """What people of these pages log in with: "Username", "Email address"."""
    model: Any = pages.model
    try:
        field: Any = model._meta.get_field(pages.login_field or model.USERNAME_FIELD)
    except (AttributeError, FieldDoesNotExist):
        return gettext("User name")
    return capfirst(str(field.verbose_name))
