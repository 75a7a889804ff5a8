"""Pages on which students answer, under their own name or under disguise."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.forms import formset_factory
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

import edna
from edna.pages.base import KeyPage
from edna.pages.forms import KeyForm

from ..answers import has_anonymous_answers, save_answers, texts_by_question
from ..forms import AnonymisedAnswerForm, LectureAnswersForm, OpenForm
from ..models import Answer, Lecture, Question, User
from ..privacy import PAGES
from .guards import member

# A page of answers to edit; below the number of form fields that Django accepts at once.
EDITABLE_AT_ONCE = 200
INCOMPLETE = (
    "What this page sent back was not complete, so nothing was changed. Open the page again, then repeat your change."
)
ANSWERS = "websubmit/anonymised_answers.html"
AnswerFormSet = formset_factory(AnonymisedAnswerForm, extra=0, max_num=EDITABLE_AT_ONCE, absolute_max=EDITABLE_AT_ONCE)


@member
def lectures(request: HttpRequest) -> HttpResponse:
    answered = dict(Answer.objects.filter(author=request.user).values_list("question__lecture").annotate(Count("pk")))
    rows = Lecture.objects.annotate(question_count=Count("questions")).order_by("pk")
    return render(
        request, "websubmit/lectures.html", {"lectures": [(lecture, answered.get(lecture.pk, 0)) for lecture in rows]}
    )


@member
def lecture(request: HttpRequest, pk: int) -> HttpResponse:
    """A lecture's questions, with the student's answers to write and to change."""
    shown = get_object_or_404(Lecture, pk=pk)
    questions, texts = list(shown.questions.all()), texts_by_question(request.user, shown)
    form = LectureAnswersForm(questions, texts, request.POST or None)
    if form.is_valid():
        changes = form.changes()
        save_answers(request.user, changes)
        messages.success(request, "Your answers are saved." if changes else "Nothing was changed.")
        return redirect("websubmit:lecture", pk=pk)
    # Whether this student's answers are among the anonymised only their key can tell: so all who see gaps get the hint.
    some_anonymised = len(texts) < len(questions) and has_anonymous_answers(questions[0])
    context = {"lecture": shown, "form": form, "some_anonymised": some_anonymised}
    return render(request, "websubmit/lecture.html", context)


def _theirs(request: HttpRequest) -> Any:
    """The answers whose anonymous authors the unlocked key speaks for."""
    return Answer.objects.filter(author__in=request.edna.speaks_for(User))


class Anonymised(KeyPage):
    """See one's anonymised answers by proving the key."""

    pages = PAGES
    template_name = "websubmit/anonymised.html"
    is_asked_anew = True
    title = "Your anonymised answers"
    button = "Show my anonymised answers"
    form_class = OpenForm
    hands = "voices"

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        rows = _theirs(self.request)
        if chosen := form.cleaned_data["lecture"]:
            rows = rows.filter(question__lecture=chosen)
        rows = rows.order_by("question__lecture", "question__number", "pk").values_list("pk", "question_id", "text")
        found = list(rows[: EDITABLE_AT_ONCE + 1])
        initial = [dict(zip(("answer", "question", "text"), row, strict=True)) for row in found[:EDITABLE_AT_ONCE]]
        save_form = KeyForm(auto_id="id_save_%s", **self.whose())
        context = _answers(AnswerFormSet(initial=initial), save_form)
        return self.show(ANSWERS, **context | {"more": len(found) > EDITABLE_AT_ONCE, "lecture": chosen})


def _answers(formset: Any, key_form: KeyForm) -> dict[str, Any]:
    """What the page of anonymised answers shows."""
    keys = [form.question_key() for form in formset]
    questions = Question.objects.select_related("lecture").in_bulk({key for key in keys if key is not None})
    rows = [(questions.get(key), form) for key, form in zip(keys, formset, strict=True)]
    return {"formset": formset, "rows": rows, "form": key_form, "more": False, "lecture": None}


class EditAnonymised(KeyPage):
    """Change anonymised answers while they stay anonymous: the same code as for named ones, under another author."""

    pages = PAGES
    template_name = ANSWERS
    title = Anonymised.title
    hands = "voices"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect("websubmit:anonymised")

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        self.formset = AnswerFormSet(request.POST)
        if not self.formset.management_form.is_valid():
            messages.error(request, INCOMPLETE)
            return redirect("websubmit:anonymised")
        return super().post(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "auto_id": "id_save_%s"}

    def form_valid(self, form: Any) -> Any:
        return super().form_valid(form) if self.formset.is_valid() else self.form_invalid(form)

    def form_invalid(self, form: Any) -> Any:
        errors = self.formset.errors
        if self.formset.non_form_errors() or any({"answer", "question"} & set(each) for each in errors):
            messages.error(self.request, INCOMPLETE)
        return self.render_to_response(self.get_context_data(**_answers(self.formset, form)))

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        texts = {row["answer"]: row["text"] for row in self.formset.cleaned_data if row}
        rows = list(_theirs(self.request).filter(pk__in=texts).order_by("author_id"))
        if len(rows) < len(texts):
            form.add_error(
                None, "Your key does not speak for the author of this, so only its real author can change it."
            )
            return self.form_invalid(form)
        changed = [answer for answer in rows if answer.text != texts[answer.pk]]
        for _, answers in groupby(changed, key=lambda answer: answer.author_id):
            group = list(answers)
            with self.request.edna.speak_as(group[0]):
                save_answers(self.request.user, {answer.question_id: texts[answer.pk] for answer in group})
        messages.success(self.request, _saved(len(changed)))
        return redirect("websubmit:anonymised")


def _saved(changed: int) -> str:
    if not changed:
        return "Nothing was changed."
    return "Saved 1 anonymous answer." if changed == 1 else f"Saved {changed} anonymous answers."
