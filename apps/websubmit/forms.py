"""The forms of the pages, with labels and help in the words of a student."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError

from edna.pages.forms import KeyForm
from edna.pages.keys.forms import NewPasswordForm

from .models import Lecture, Question, User

MAX_ANSWER_LENGTH = 20_000
LARGEST_KEY = 2**63 - 1


class LowercaseEmailField(forms.EmailField):
    """E-mail addresses are compared, and stored, in lower case."""

    widget = forms.EmailInput(attrs={"autocomplete": "username"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": User._meta.get_field("email").max_length, **options})

    def to_python(self, value: Any) -> str:
        return User.objects.normalize_email(super().to_python(value))


class LoginForm(AuthenticationForm):
    """Django's own, in this site's words."""

    username = LowercaseEmailField(
        label="E-mail address", widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True})
    )
    error_messages = {
        "invalid_login": "No account has this e-mail address and password. If you deleted your account, you can return to it.",
        "inactive": "This account cannot log in.",
    }


class RegisterForm(NewPasswordForm):
    email = LowercaseEmailField(label="E-mail address")
    field_order = ("email", "new_password", "again")

    def clean(self) -> dict[str, Any]:
        self.user = User(email=self.cleaned_data.get("email", ""))  # the password must not be like it
        return super().clean()

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if User.objects.filter(email=email).exists():
            raise ValidationError("There is an account with this e-mail address already. Log in instead.")
        return email


class OpenForm(KeyForm):
    """Prove the key; look at one lecture or at all."""

    lecture = forms.ModelChoiceField(Lecture.objects.order_by("pk"), required=False, empty_label="All lectures")
    field_order = ("lecture", "password", "recovery_code", "secret_key")


class AnswerField(forms.CharField):
    """The text of an answer, with the line ends of the database instead of those of browsers."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=MAX_ANSWER_LENGTH, required=False, widget=forms.Textarea(attrs={"rows": 5}), **options
        )

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


class LectureAnswersForm(forms.Form):
    """All questions of a lecture, each with the student's answer."""

    def __init__(
        self, questions: Iterable[Question], texts: Mapping[int, str], data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data)
        self._texts = texts
        self._questions = {f"question_{question.pk}": question for question in questions}
        for name, question in self._questions.items():
            self.fields[name] = AnswerField(label=f"Question {question.number}", initial=texts.get(question.pk, ""))

    def rows(self) -> list[tuple[Question, forms.BoundField, bool]]:
        """For the template: question, its field, and whether it is answered."""
        return [(question, self[name], question.pk in self._texts) for name, question in self._questions.items()]

    def changes(self) -> dict[int, str]:
        """The new texts by question. A field that was not sent at all is left alone; one sent empty withdraws the answer."""
        sent = {question.pk: self.cleaned_data[name] for name, question in self._questions.items() if name in self.data}
        return {question: text for question, text in sent.items() if text != self._texts.get(question, "")}


class AnonymisedAnswerForm(forms.Form):
    """One row of the page on which a student edits anonymised answers."""

    answer = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=LARGEST_KEY)
    question = forms.IntegerField(widget=forms.HiddenInput, min_value=1, max_value=LARGEST_KEY)
    text = AnswerField(label="Your answer")

    def question_key(self) -> int | None:
        """The question that the page shows this row under; what came back in the hidden field may be anything."""
        try:
            key: int = self.fields["question"].clean(self["question"].value())
        except ValidationError:
            return None
        return key

    def clean_text(self) -> str:
        if not self.cleaned_data["text"]:
            raise ValidationError("An anonymised answer cannot be emptied. Reclaim it first, then withdraw it.")
        text: str = self.cleaned_data["text"]
        return text


class LectureForm(forms.ModelForm):
    class Meta:
        model = Lecture
        fields = ("label",)
        labels = {"label": "Title of the lecture"}


class QuestionForm(forms.ModelForm):
    class Meta:
        model = Question
        fields = ("text",)
        labels = {"text": "Text of the question"}
        widgets = {"text": forms.Textarea(attrs={"rows": 3})}
