"""Pages for the course staff. They can disguise; what is disguised only its owner can reveal."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Max
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

import edna
from apps.showcase.forms import ConfirmForm
from apps.showcase.once import once
from apps.showcase.transactions import posts_atomically

from ..answers import listing, table_rows
from ..forms import LectureForm, QuestionForm
from ..friendly import explain, preview
from ..models import Answer, Lecture, Question, User
from .guards import staff

PAGE = 200


@staff
@once
def lectures(request: HttpRequest) -> HttpResponse:
    """All lectures, and a form for another."""
    form = LectureForm(request.POST or None)
    if form.is_valid():
        added = form.save()
        messages.success(request, f"“{added}” is added. Now write its questions.")
        return redirect("websubmit:staff-lecture", pk=added.pk)
    rows = Lecture.objects.annotate(question_count=Count("questions")).order_by("pk")
    return render(request, "websubmit/staff/lectures.html", {"lectures": rows, "form": form})


@staff
@once
@posts_atomically
def lecture(request: HttpRequest, pk: int) -> HttpResponse:
    """One lecture: its title, its questions, and a form for another question."""
    edited = get_object_or_404(Lecture, pk=pk)
    adding = "text" in request.POST
    title_form = LectureForm(None if adding else request.POST or None, instance=edited)
    question_form = QuestionForm(request.POST if adding else None)
    if not adding and title_form.is_valid():
        title_form.save()
        messages.success(request, "The title is saved.")
        return redirect("websubmit:staff-lecture", pk=pk)
    if adding and question_form.is_valid():
        last = edited.questions.aggregate(last=Max("number"))["last"] or 0
        question_form.instance.lecture, question_form.instance.number = edited, last + 1
        question_form.save()
        messages.success(request, f"Question {last + 1} is added.")
        return redirect("websubmit:staff-lecture", pk=pk)
    context = {
        "lecture": edited,
        "questions": edited.questions.all(),
        "title_form": title_form,
        "question_form": question_form,
    }
    return render(request, "websubmit/staff/lecture.html", context)


@staff
def question(request: HttpRequest, pk: int) -> HttpResponse:
    edited = get_object_or_404(Question.objects.select_related("lecture"), pk=pk)
    form = QuestionForm(request.POST or None, instance=edited)
    if form.is_valid():
        form.save()
        messages.success(request, f"Question {edited.number} is saved.")
        return redirect("websubmit:staff-lecture", pk=edited.lecture_id)
    return render(request, "websubmit/staff/question.html", {"question": edited, "form": form})


@staff
def answers(request: HttpRequest, pk: int) -> HttpResponse:
    """Everything that was handed in for a lecture; ``?all=1`` puts it on one page."""
    shown = get_object_or_404(Lecture, pk=pk)
    rows = listing(shown)
    page = None if request.GET.get("all") else Paginator(rows, PAGE).get_page(request.GET.get("page"))
    return render(
        request, "websubmit/staff/answers.html", {"lecture": shown, "rows": table_rows(page or rows), "page": page}
    )


@staff
def users(request: HttpRequest) -> HttpResponse:
    """Who has an account; the placeholder authors of anonymised answers are nobody, and not listed."""
    people = User.objects.filter(is_anon=False).order_by("email")
    page = Paginator(people, PAGE).get_page(request.GET.get("page"))
    # Counted for this page only: over all answers it would be a walk through the whole table.
    counts = dict(
        Answer.objects.filter(author__in=[user.pk for user in page]).values_list("author").annotate(Count("pk"))
    )
    return render(
        request, "websubmit/staff/users.html", {"page": page, "rows": [(user, counts.get(user.pk, 0)) for user in page]}
    )


@staff
def anonymise(request: HttpRequest) -> HttpResponse:
    """Choose what to anonymise."""
    rows = Lecture.objects.annotate(question_count=Count("questions")).order_by("pk")
    return render(request, "websubmit/staff/anonymise.html", {"lectures": rows})


@staff
@once
def anonymise_lecture(request: HttpRequest, pk: int) -> HttpResponse:
    chosen = get_object_or_404(Lecture, pk=pk)
    return _anonymise(request, "websubmit.anonymize-lecture", {"lecture": pk}, f"the lecture “{chosen}”", chosen.label)


@staff
@once
def anonymise_all(request: HttpRequest) -> HttpResponse:
    return _anonymise(request, "websubmit.anonymize-all", {}, "all lectures", "all lectures")


def _anonymise(request: HttpRequest, name: str, params: dict[str, int], what: str, phrase: str) -> HttpResponse:
    """Preview, confirm, do: the preview is edna's own plan, and the plan writes nothing."""
    form = ConfirmForm(phrase, request.POST or None)
    if form.is_valid():
        try:
            edna.disguise_all(name, params=params, operator=request.user.get_username())
            messages.success(request, f"Done: the answers to {what} are anonymous now.")
            return redirect("websubmit:staff-anonymise")
        except edna.errors.EdnaError as error:
            form.add_error(None, explain(error))
    context = {"form": form, "what": what}
    try:
        plan = edna.plan_all(name, params=params)
        context["preview"], context["pseudoprincipals"] = preview(plan), plan.pseudoprincipals
    except edna.errors.EdnaError as error:
        context["problem"] = explain(error)
    return render(request, "websubmit/staff/anonymise_confirm.html", context)
