"""The forms of the pages, with labels and help in the words of authors and reviewers.

Longer than most modules: it is one form after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from edna.pages.forms import KeyForm as EdnasKeyForm
from edna.pages.forms import password_field, secret_field
from edna.pages.keys.forms import NewPasswordForm

from . import reviews
from .models import (
    BY_AUTHOR,
    FOR_AUTHORS,
    FOR_PC,
    FOR_REVIEWERS,
    REVIEW_TEXTS,
    ContactInfo,
    Paper,
    PaperComment,
    PaperReview,
    PaperReviewPreference,
)
from .privacy import PAGES

LARGEST_KEY = 2**31 - 1


class LowercaseEmailField(forms.EmailField):
    """E-mail addresses are compared, and stored, in lower case."""

    widget = forms.EmailInput(attrs={"autocomplete": "username"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": ContactInfo._meta.get_field("email").max_length, **options})

    def to_python(self, value: Any) -> str:
        return ContactInfo.objects.normalize_email(super().to_python(value))


class BytesField(forms.CharField):
    """Text for a column of bytes: with the line ends of the database, and no longer in UTF-8 than the column."""

    def __init__(self, *, max_bytes: int, **options: Any) -> None:
        super().__init__(**options)
        self._max_bytes = max_bytes

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")

    def validate(self, value: str) -> None:
        super().validate(value)
        if (size := len(value.encode())) > self._max_bytes:
            raise ValidationError(f"This is too long: {size:,} bytes, of {self._max_bytes:,} that fit.")


class LoginForm(forms.Form):
    email = LowercaseEmailField(
        label="E-mail address", widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True})
    )
    password = password_field(label="Password", autocomplete="current-password")

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._request = request
        self._user: ContactInfo | None = None

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors:
            self._user = authenticate(self._request, hotcrp_email=data["email"], password=data["password"])
            if self._user is None:
                raise ValidationError(
                    "No account has this e-mail address and password. If you removed your account, you can come back to it."
                )
        return data

    def get_user(self) -> ContactInfo | None:
        return self._user


class RegisterForm(forms.Form):
    email = LowercaseEmailField(
        label="E-mail address",
        help_text="Papers that name this address become yours, so we first mail a link to it.",
    )


class NewAccountForm(NewPasswordForm):
    first_name = BytesField(label="First name", max_bytes=120)
    last_name = BytesField(label="Last name", max_bytes=120)
    affiliation = BytesField(label="Affiliation", max_bytes=2048, required=False)
    field_order = ("first_name", "last_name", "affiliation", "new_password", "again")


class KeyForm(EdnasKeyForm):
    """Nobody has to be logged in for it, and it makes no difference who is."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"pages": PAGES, **options})


class OpenForm(KeyForm):
    """Prove the key; look at the review of one paper or at all."""

    paper = forms.IntegerField(
        label="Only the paper with this number (optional)", required=False, min_value=1, max_value=LARGEST_KEY
    )


class ChosenReviewForm(KeyForm):
    review = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=LARGEST_KEY)


class ReviewForm(forms.Form):
    """Scores and texts. A draft may leave out what a submitted review must have."""

    def __init__(
        self, review: PaperReview, data: Mapping[str, Any] | None = None, *, draft: bool = False, **options: Any
    ) -> None:
        super().__init__(data, **options)
        for name in reviews.ASKED:
            label, words = reviews.SCORES[name]
            choices = [(0, "(no entry)"), *((value, f"{value}. {word}") for value, word in enumerate(words, start=1))]
            self.fields[name] = forms.TypedChoiceField(
                label=label, choices=choices, coerce=int, initial=getattr(review, name)
            )
        texts = review.texts
        for key, label in REVIEW_TEXTS.items():
            self.fields[key] = BytesField(
                label=label,
                max_bytes=reviews.LONGEST_TEXTS,
                required=False,
                initial=texts[key],
                widget=forms.Textarea(attrs={"rows": 10 if key == "t02" else 4}),
            )
        self._draft = draft
        self._kept = {key: text for key, text in texts.items() if key not in self.fields}

    @property
    def score_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in reviews.ASKED]

    @property
    def text_fields(self) -> list[forms.BoundField]:
        return [self[key] for key in REVIEW_TEXTS]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors:
            return data
        size = reviews.size_of({**self._kept, **{key: data[key] for key in REVIEW_TEXTS}})
        if size > reviews.LONGEST_TEXTS:
            raise ValidationError(
                f"The texts together are too long: {size:,} bytes, of {reviews.LONGEST_TEXTS:,} that fit."
            )
        if not self._draft:
            for name in reviews.REQUIRED:
                if not data[name]:
                    self.add_error(name, "Choose one before you submit.")
            if not data["t02"]:
                self.add_error("t02", "Write something for the authors before you submit.")
        return data


class CommentForm(forms.Form):
    text = BytesField(
        label="Your comment",
        max_bytes=PaperComment._meta.get_field("comment").max_length,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    audience = forms.TypedChoiceField(
        label="Who reads it",
        coerce=int,
        choices=[
            (FOR_REVIEWERS, "Reviewers and committee"),
            (FOR_PC, "Committee only"),
            (FOR_AUTHORS, "Authors, too, who do not see your name"),
        ],
    )

    def __init__(self, *args: Any, author: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        self._author = author
        if author:
            del self.fields["audience"]

    def comment_type(self) -> int:
        return BY_AUTHOR | FOR_REVIEWERS if self._author else self.cleaned_data["audience"]


class AssignForm(forms.Form):
    reviewer = forms.ModelChoiceField(ContactInfo.objects.none(), label="Ask for a review")

    def __init__(self, eligible: Any, *args: Any) -> None:
        super().__init__(*args)
        self.fields["reviewer"].queryset = eligible
        self.fields["reviewer"].label_from_instance = lambda contact: contact.name or contact.email


class PaperForm(forms.Form):
    """The number of a paper."""

    paper = forms.IntegerField(
        label="Number of the paper",
        min_value=1,
        max_value=LARGEST_KEY,
        widget=forms.NumberInput(attrs={"autocomplete": "off"}),
    )


class ChairKeyForm(forms.Form):
    """A chair's key for cases of misconduct: sent for one request, stored nowhere."""

    chair_key = secret_field(label="Your chair key", help_text="The one that this page has shown you once.")


class NewChairsForm(ChairKeyForm):
    """Who else holds a key: a card for each, which their owners were shown with their key."""

    cards = forms.CharField(
        label="Cards of the other chairs",
        help_text="One a line, as they were shown: a name, a colon, 128 letters and digits. They are no secret; have each from its owner.",
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "autocomplete": "off"}),
    )
    field_order = ("cards", "chair_key")

    def clean_cards(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in filter(None, map(str.strip, self.cleaned_data["cards"].splitlines())):
            called, _, card = line.rpartition(":")
            called = called.strip()
            if not called or called in found or len(called) > 150:
                raise ValidationError("Each line has a name of its own, a colon, and a card.")
            found[called] = card.strip()
        return found


class CaseForm(ChairKeyForm):
    """Of which review chairs want to know who wrote it, and why."""

    review = forms.CharField(
        label="Review", help_text="As its paper shows it, such as 12A.", max_length=20, widget=forms.TextInput()
    )
    reason = forms.CharField(
        label="Reason",
        help_text="The other chairs see it, and so does whoever wrote the review when they come back.",
        max_length=200,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    field_order = ("review", "reason", "chair_key")

    def clean_review(self) -> PaperReview:
        paper, ordinal = reviews.parse_name(self.cleaned_data["review"])
        found = PaperReview.objects.filter(paper=paper, review_ordinal=ordinal, review_submitted__isnull=False).first()
        if ordinal == 0 or found is None:
            raise ValidationError("There is no submitted review of this name.")
        return found


EXPERTISE = ((None, "–"), (2, "Expert"), (1, "Good"), (0, "Some"), (-1, "Little"), (-2, "None"))


class PreferencesForm(forms.Form):
    """A table: for each paper a preference and an expertise."""

    def __init__(
        self,
        papers: Iterable[Paper],
        known: Mapping[int, PaperReviewPreference],
        data: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(data, auto_id="id_%s")
        self._papers = list(papers)
        for paper in self._papers:
            row = known.get(paper.pk)
            self.fields[f"preference_{paper.pk}"] = forms.IntegerField(
                min_value=-100, max_value=100, required=False, initial=(row.preference or None) if row else None
            )
            self.fields[f"expertise_{paper.pk}"] = forms.TypedChoiceField(
                choices=[("" if value is None else value, word) for value, word in EXPERTISE],
                coerce=int,
                empty_value=None,
                required=False,
                initial="" if row is None or row.expertise is None else row.expertise,
            )

    def rows(self) -> list[tuple[Paper, forms.BoundField, forms.BoundField]]:
        return [(paper, self[f"preference_{paper.pk}"], self[f"expertise_{paper.pk}"]) for paper in self._papers]

    def entered(self) -> dict[int, tuple[int, int | None]]:
        """Preference and expertise by paper. What was not sent at all is left out."""
        return {
            paper.pk: (
                self.cleaned_data[f"preference_{paper.pk}"] or 0,
                self.cleaned_data[f"expertise_{paper.pk}"],
            )
            for paper in self._papers
            if f"preference_{paper.pk}" in self.data
        }
