"""Pages on which students answer, under their own name or under disguise."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.forms import formset_factory
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

import edna

from ..answers import has_anonymous_answers, save_answers, texts_by_question
from ..forms import AnonymisedAnswerForm, KeyForm, LectureAnswersForm, OpenForm, ReclaimForm
from ..friendly import describe, explain
from ..keys import KEYS
from ..models import Answer, Lecture, Question, User
from .guards import confidential, member
from .waysback import WAYS_BACK

# A page of answers to edit; below the number of form fields that Django accepts at once.
EDITABLE_AT_ONCE = 200
INCOMPLETE = (
    "What this page sent back was not complete, so nothing was changed. Open the page again, then repeat your change."
)
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


@member
@confidential
@sensitive_variables()
def anonymised(request: HttpRequest) -> HttpResponse:
    """See one's anonymised answers, and what was disguised, by proving the key."""
    form = OpenForm(request.POST or None)
    if form.is_valid():
        try:
            unlocked = request.edna.unlock(**form.credentials())
            waiting = WAYS_BACK.waiting(unlocked)
            tried = [entry.receipt for entry in waiting]
            rows = _theirs(request)
            if chosen := form.cleaned_data["lecture"]:
                rows = rows.filter(question__lecture=chosen)
            fields = ("pk", "question_id", "text")
            found = list(
                rows.order_by("question__lecture", "question__number", "pk").values_list(*fields)[
                    : EDITABLE_AT_ONCE + 1
                ]
            )
            initial = [dict(zip(("answer", "question", "text"), row, strict=True)) for row in found[:EDITABLE_AT_ONCE]]
            context = {
                "formset": AnswerFormSet(initial=initial),
                "more": len(found) > EDITABLE_AT_ONCE,
                "lecture": chosen,
                "history": describe(entry for entry in KEYS.own_history(unlocked) if entry.receipt not in tried),
                **WAYS_BACK.offer(waiting),
                "save_form": KeyForm(auto_id="id_save_%s"),
                "reclaim_form": KeyForm(auto_id="id_reclaim_%s"),
            }
            return _anonymised_answers(request, context)
        except edna.errors.EdnaError as error:
            form.add_error(None, explain(error))
    return render(request, "websubmit/anonymised.html", {"form": form})


def _anonymised_answers(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    formset = context["formset"]
    keys = [form.question_key() for form in formset]
    questions = Question.objects.select_related("lecture").in_bulk({key for key in keys if key is not None})
    rows = [(questions.get(key), form) for key, form in zip(keys, formset, strict=True)]
    return render(request, "websubmit/anonymised_answers.html", {**context, "rows": rows})


@member
@confidential
@require_POST
@sensitive_variables()
def edit_anonymised(request: HttpRequest) -> HttpResponse:
    """Change anonymised answers while they stay anonymous: the same code as for named ones, under another author."""
    key_form = KeyForm(request.POST, auto_id="id_save_%s")
    formset = AnswerFormSet(request.POST)
    if key_form.is_valid() and formset.is_valid():
        try:
            request.edna.unlock(**key_form.credentials())
            texts = {row["answer"]: row["text"] for row in formset.cleaned_data if row}
            rows = list(_theirs(request).filter(pk__in=texts).order_by("author_id"))
            if len(rows) < len(texts):
                raise edna.errors.NotYours("This key does not speak for the author of each answer that was sent.")
            changed = [answer for answer in rows if answer.text != texts[answer.pk]]
            for _, answers in groupby(changed, key=lambda answer: answer.author_id):
                group = list(answers)
                with request.edna.speak_as(group[0]):
                    save_answers(request.user, {answer.question_id: texts[answer.pk] for answer in group})
            messages.success(request, _saved(len(changed)))
            return redirect("websubmit:anonymised")
        except edna.errors.EdnaError as error:
            key_form.add_error(None, explain(error))
    if not formset.management_form.is_valid():
        messages.error(request, INCOMPLETE)
        return redirect("websubmit:anonymised")
    if formset.non_form_errors() or any({"answer", "question"} & set(errors) for errors in formset.errors):
        messages.error(request, INCOMPLETE)
    return _anonymised_answers(request, {"formset": formset, "save_form": key_form, "held_receipts": []})


def _saved(changed: int) -> str:
    if not changed:
        return "Nothing was changed."
    return "Saved 1 anonymous answer." if changed == 1 else f"Saved {changed} anonymous answers."


@member
@confidential
@require_POST
@sensitive_variables()
def reclaim(request: HttpRequest) -> HttpResponse:
    """Put one's name back under what one disguise took it off."""
    form = ReclaimForm(request.POST)
    if form.is_valid():
        try:
            receipt = KEYS.own_receipt(form.cleaned_data["receipt"])
            unlocked = request.edna.unlock(**form.credentials())
            outcome = edna.reveal(receipt, unlocked)
            return render(request, "websubmit/reclaimed.html", WAYS_BACK.about(outcome, unlocked))
        except edna.errors.EdnaError as error:
            form.add_error(None, explain(error))
    return render(request, "websubmit/reclaim.html", {"form": form})


@member
@confidential
@require_POST
@sensitive_variables()
def give_up(request: HttpRequest) -> HttpResponse:
    """Have erased what cannot come back, after a page that asks once more."""
    return WAYS_BACK.give_up(request)
