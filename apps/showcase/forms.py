"""Typing a given phrase, before what the staff of an application cannot undo."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError


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
