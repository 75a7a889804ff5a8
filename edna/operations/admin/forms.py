"""What an operator types: whom, with which parameters, and the name of the disguise to confirm it.

Keeps: whom they chose travels in the body of the request and in the page, never in an address or a session, both of which are kept. A
form that was confirmed carries the number of the job that it starts, signed, so that sending it twice starts one job.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.contrib.admin.widgets import AdminRadioSelect
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.signing import BadSignature, TimestampSigner
from django.db.models import Model

from edna import registry, shards
from edna.errors import InvalidParameters
from edna.management.base import find_principal
from edna.operations.admin.catalogue import CatalogueEntry, ChosenFrom
from edna.spec import parsed_params

#: People in one selection. They are all fields of a page; for more there is everybody, or the command line.
MOST_CHOSEN: Final = 10_000
#: Rows from which a parameter is chosen by name.
MOST_LISTED: Final = 200
_LONGEST_KEY: Final = 255
_SIGNATURE_LASTS: Final = datetime.timedelta(hours=12)
_HELP: Final = {
    int: "A whole number.",
    float: "A number, such as 2.5.",
    datetime.date: "A date, such as 2026-01-31.",
    datetime.datetime: "A date and a time, such as 2026-01-31 14:30.",
}

ONE, CHOSEN, EVERYBODY = "one", "chosen", "everybody"


class ParamsForm(forms.Form):
    """A field for each parameter of a disguise. ``params`` are their values, of the declared types."""

    template_name_div = "edna/admin/fields.html"

    def __init__(self, *args: Any, entry: CatalogueEntry, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "label_suffix": ""})
        self.entry = entry
        self.params: dict[str, Any] = {}
        for name, kind in entry.params.items():
            self.fields[f"param-{name}"] = _field(name, kind, entry.choices.get(name))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        named = {name: cleaned.get(f"param-{name}") for name in self.entry.params}
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in named.items()}
        given = {name: text for name, text in texts.items() if text is not None}
        if len(given) < len(texts):
            return cleaned  # the field itself says what is wrong with it
        try:
            self.params = parsed_params(registry.get(self.entry.name), given)
        except InvalidParameters as error:
            raise ValidationError(str(error)) from None
        return cleaned


def _field(name: str, kind: type, chosen: ChosenFrom | None) -> forms.Field:
    label = name.replace("_", " ").capitalize()
    if chosen is not None:
        rows = chosen.model._default_manager.using(registry.database(chosen.model)).order_by(chosen.key)[
            : MOST_LISTED + 1
        ]
        listed = [(str(getattr(row, chosen.key)), str(row)) for row in rows]
        if len(listed) <= MOST_LISTED:
            return forms.ChoiceField(label=label, choices=[("", "Choose one"), *listed])
        words = chosen.model._meta
        help_text = f"The {chosen.key} of one of the {words.verbose_name_plural}: there are too many to list."
        return forms.CharField(label=label, help_text=help_text)
    if kind is bool:
        return forms.BooleanField(label=label, required=False)
    # Of text: what reads as which type is edna's to say, as for the commands.
    return forms.CharField(label=label, help_text=_HELP.get(kind, ""), strip=kind is not str)


class WhomForm(ParamsForm):
    """One person, everybody, or (from a list of users) those chosen there. ``principals`` is None for everybody."""

    whom = forms.ChoiceField(label="For whom", choices=[], widget=AdminRadioSelect)
    person = forms.CharField(label="The person", required=False, max_length=_LONGEST_KEY)
    staff = forms.BooleanField(
        label="Staff accounts and my own, too",
        help_text="Of everybody, and of people chosen in a list, they are left out otherwise.",
        required=False,
    )
    for_good = forms.BooleanField(
        label="For good, without a way back",
        help_text="Nothing is kept for them: neither you nor they can ever bring it back.",
        required=False,
    )
    chosen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, you: Sequence[Model] = (), may_for_good: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.principals: list[Model] | None = []
        self.gone = 0
        self.you = you
        if not you and not self.entry.knows_staff:
            del self.fields["staff"]
        if not may_for_good:
            del self.fields["for_good"]
        whom, person, chosen = self.fields["whom"], self.fields["person"], self.fields["chosen"]
        assert isinstance(whom, forms.ChoiceField)
        whom.choices = [(ONE, "one person"), (EVERYBODY, "everybody who owns such rows")]
        person.help_text = (
            f"The primary key or the log-in name of one of the {self.entry.people}. Write pk:42 where 42 could be both."
        )
        person.widget.attrs |= {"autocomplete": "off", "spellcheck": "false"}
        if self.data.get("whom") == CHOSEN:
            whom.choices = [(CHOSEN, "the people you have chosen")]
            whom.widget = forms.HiddenInput()
            person.widget = forms.HiddenInput()
            chosen.required = True
        # Parameters first, then whom.
        self.order_fields([name for name in self.fields if name.startswith("param-")])

    @property
    def with_staff(self) -> bool:
        """Whoever is named alone is meant."""
        return self.cleaned_data.get("whom") == ONE or bool(self.cleaned_data.get("staff"))

    @property
    def for_good_chosen(self) -> bool:
        return bool(self.cleaned_data.get("for_good"))

    @property
    def phrase(self) -> str:
        """What is to be typed to confirm it."""
        return f"{self.entry.name} for good" if self.for_good_chosen else self.entry.name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        model = self.entry.principal_model
        if model is None or "whom" not in cleaned:
            return cleaned
        if cleaned["whom"] == EVERYBODY:
            self.principals = None
        elif cleaned["whom"] == ONE:
            if not cleaned.get("person"):
                self.add_error("person", "Say who: type a primary key or a log-in name.")
                return cleaned
            try:
                self.principals = [find_principal(model, cleaned["person"])]
            except CommandError as error:
                self.add_error("person", str(error))
        elif "chosen" in cleaned:
            keys = _keys(model, cleaned["chosen"])
            # Their keys alone: what else is in their rows is none of this page's business.
            found = model._base_manager.using(registry.database(model)).only("pk").in_bulk(keys)
            self.principals, self.gone = list(found.values()), len(keys) - len(found)
        return cleaned


def chosen_field(principals: Sequence[Model]) -> str:
    return json.dumps([str(principal.pk) for principal in principals])


def _keys(model: type[Model], text: str) -> list[Any]:
    """
    Raises:
        ValidationError: it is no list of primary keys, or too long a one.
    """
    try:
        given = json.loads(text)
        if not isinstance(given, list) or any(type(key) is not str or not _possible(key) for key in given):
            raise TypeError
        keys = list(dict.fromkeys(model._meta.pk.to_python(key) for key in given))
        for key in keys:
            model._meta.pk.run_validators(key)  # a number that no column holds is an error to some databases
    except (ValueError, TypeError, OverflowError, RecursionError, ValidationError):
        raise ValidationError("Whom you chose cannot be read; go back to the list and choose again.") from None
    if not 0 < len(keys) <= MOST_CHOSEN:
        raise ValidationError(f"Choose between 1 and {MOST_CHOSEN:,} people; for more, choose everybody.")
    return keys


def _possible(key: str) -> bool:
    return len(key) <= _LONGEST_KEY and "\0" not in key


class ConfirmForm(WhomForm):
    """The same once more, with the name of the disguise typed (and, for good, that it is), and the number of the job, which was signed
    for this operator."""

    confirmation = forms.CharField(label="Confirm", required=False, max_length=120)
    submission = forms.CharField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, operator: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Of several databases, the one that the operator has seen a preview of.
        what = f"{operator} {self.entry.name} {shards.at_work.get() or ''}".rstrip()
        self._signer = TimestampSigner(salt=f"edna.operations.admin.submission {what}")
        self.fields["confirmation"].widget.attrs |= {"autocomplete": "off", "spellcheck": "false"}

    def new_submission(self) -> str:
        return self._signer.sign(str(secrets.randbits(63) or 1))

    def clean_confirmation(self) -> str:
        typed: str = self.cleaned_data["confirmation"]
        if typed != self.phrase:
            more = ", and that it is for good" if self.for_good_chosen else ""
            raise ValidationError(f"To confirm, type the name of the disguise{more}: {self.phrase}")
        return typed

    def clean_submission(self) -> int:
        try:
            return int(self._signer.unsign(self.cleaned_data["submission"], max_age=_SIGNATURE_LASTS))
        except (BadSignature, ValueError):
            raise ValidationError("This page is too old, or not yours. Look at the preview again.") from None


def in_words(form: ParamsForm) -> list[tuple[str, str]]:
    """The parameters as the page names them: a chosen row by its name."""
    shown = []
    for name in form.entry.params:
        field, value = form.fields[f"param-{name}"], str(form.data.get(f"param-{name}", ""))
        choices: Any = field.choices if isinstance(field, forms.ChoiceField) else ()
        names = dict(choices)
        shown.append((name, str(names.get(value, value))))
    return shown


def carried(data: Mapping[str, Any], entry: CatalogueEntry) -> list[tuple[str, str]]:
    """The parameters, to be sent along with the confirmation."""
    names = [f"param-{name}" for name in entry.params]
    return [(name, data[name]) for name in names if name in data]
