"""Pages on which two chairs read together who wrote a review, in a case of misconduct.

The right to open them is a chair's; what opens anything is the chair's own key, which is sent for one request. Nobody reads alone, and
whoever wrote the review is told when they come back.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

import edna
from apps.showcase.once import once
from edna import audiences

from .. import cases as cases_
from .. import words
from ..forms import CaseForm, ChairKeyForm, NewChairsForm
from ..names import name_of
from ..policy import Conference, Viewer, papers_for
from .guards import chair, confidential, show


@chair
def cases(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    return _list(request)


def _list(request: HttpRequest, *, form: ChairKeyForm | None = None) -> HttpResponse:
    chairs = cases_.chairs()
    context = {
        "cases": cases_.every(),
        "chairs": chairs,
        "together": cases_.TOGETHER,
        "is_held": cases_.is_held(),
        "form": form or ChairKeyForm(),
        "waiting": [person.name for person in chairs if not person.has_share],
    }
    return show(request, "cases.html", context)


@require_POST
@chair
@confidential
@sensitive_variables()
def make_key(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """A chair's key and card: shown once, and stored nowhere."""
    made = audiences.new_member()
    called = name_of(viewer.user, viewer.user.email)
    context = {"secret": made.secret_key.expose_text(), "card": f"{called}: {made.card}"}
    return show(request, "case_key.html", context)


@chair
@confidential
@sensitive_variables()
def add_chairs(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """The first chair makes the circle of those with keys; later one of them takes others in."""
    form = NewChairsForm(request.POST or None)
    if form.is_valid():
        called = name_of(viewer.user, viewer.user.email)
        data = form.cleaned_data
        try:
            cases_.begin_or_add(data["chair_key"], data["cards"], called=called)
        except edna.errors.EdnaError as error:
            form.add_error(None, words.OF_CASES.explain(error))
        else:
            messages.success(request, "They hold keys now. From now on, whoever leaves is told.")
            return redirect("hotcrp:cases")
    return show(request, "case_chairs.html", {"form": form, "begun": cases_.are_set_up()})


@chair
@once
@confidential
@sensitive_variables()
def open_case(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    form = CaseForm(request.POST or None)
    if form.is_valid():
        review, data = form.cleaned_data["review"], form.cleaned_data
        try:
            # Of a paper with which one has a conflict, nobody opens a case. While the conference is closed, that cannot be told: whoever
            # agrees sees the number of the paper.
            if not Conference.now().closed and not papers_for(viewer).filter(pk=review.paper_id).exists():
                form.add_error("review", "You have a conflict with this paper. Let another chair open the case.")
            elif not review.contact.is_guise:
                form.add_error("review", "The name of its writer is not hidden: see the page of the paper.")
            else:
                cases_.open_case(review, data["chair_key"], reason=data["reason"])
                messages.success(request, "The case is open. Another chair has to agree to it.")
                return redirect("hotcrp:cases")
        except edna.errors.EdnaError as error:
            form.add_error(None, words.OF_CASES.explain(error))
    return show(request, "case_open.html", {"form": form, "chairs": cases_.chairs()})


@chair
@confidential
@sensitive_variables()
def case(request: HttpRequest, viewer: Viewer, number: int) -> HttpResponse:
    found = _found(number)
    form = ChairKeyForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        key = form.cleaned_data["chair_key"]
        try:
            if request.POST.get("do") == "read":
                context["writers"] = cases_.read(found, key)
            else:
                cases_.agree(found, key)
                messages.success(request, "You have agreed. Whoever has agreed can read now, if another chair has.")
                return redirect("hotcrp:case", number)
        except edna.errors.EdnaError as error:
            form.add_error(None, words.OF_CASES.explain(error))
        found = _found(number)
    return show(request, "case.html", {**context, "case": found, "together": cases_.TOGETHER})


def _found(number: int) -> cases_.Case:
    for each in cases_.every():
        if any(request.id == number for request in each.requests):
            return each
    raise Http404("There is no such case.")


@require_POST
@chair
@confidential
@sensitive_variables()
def hand_on(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """So that chairs who came later can read, too."""
    form = ChairKeyForm(request.POST)
    if not form.is_valid():
        return _list(request, form=form)
    try:
        done = cases_.hand_on(form.cleaned_data["chair_key"])
    except edna.errors.EdnaError as error:
        form.add_error(None, words.OF_CASES.explain(error))
        return _list(request, form=form)
    said = "Every chair with a key can read now." if done else "Handed on. Another chair has to do the same."
    messages.success(request, said)
    return redirect("hotcrp:cases")
