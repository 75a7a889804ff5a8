"""The catalogue of disguises: what each does, what it would do, and applying it.

Keeps: a preview writes nothing, an application becomes a job; neither says whether somebody who is not here ever was. No page shows a
row's content, a receipt or a locator, and none of them reveals: this module has nothing to do it with.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from django.contrib import messages
from django.core.checks import ERROR as ERROR_LEVEL
from django.core.checks import CheckMessage, run_checks
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from edna import registry
from edna.api import PlannedTable
from edna.errors import EdnaError, JobUnknown, PrincipalError, UnknownDisguise
from edna.management.base import sentence
from edna.operations import jobs
from edna.operations.admin import catalogue, words
from edna.operations.admin.catalogue import CatalogueEntry
from edna.operations.admin.forms import CHOSEN, ONE, ConfirmForm, WhomForm, carried, chosen_field, in_words
from edna.operations.admin.jobs import Shown
from edna.operations.admin.pages import PagesAdmin
from edna.operations.admin.permissions import VIEW_JOBS, applicable, may, may_apply, may_for_good, operator_of
from edna.operations.jobs import preview
from edna.operations.jobs.preview import Chosen, Preview
from edna.words import count

#: Shown to those who may not see the others.
_OWN_JOBS: Final = 10
_NO_JOB = (
    "The server keeps no locators for this disguise: its receipts are the only way back, and a job could hand them to nobody. "
    "Apply it with manage.py edna_disguise, which writes them to a file."
)


class DisguisesAdmin(PagesAdmin):
    of_one_database = frozenset({"disguise", "preview", "apply"})

    def may_see(self, request: HttpRequest) -> bool:
        return bool(applicable(request))

    def pages(self) -> list[URLPattern]:
        return [
            *super().pages(),
            self.page("<str:name>/", self.disguise_view, "disguise"),
            self.page("<str:name>/preview/", self.preview_view, "preview"),
            self.page("<str:name>/apply/", self.apply_view, "apply"),
        ]

    @method_decorator(require_safe)
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        names = applicable(request)
        self.require(bool(names))
        problems = problems_by_disguise()
        rows = [
            (entry, Problems(problems.get(entry.source, []))) for entry in catalogue.entries() if entry.name in names
        ]
        # Who may see all jobs has a page for that.
        own = [] if may(request, VIEW_JOBS) else jobs.reports(operator=operator_of(request), most=_OWN_JOBS)
        shown = [Shown(report) for report in own if report.disguise in names]
        return self.show(request, "catalogue.html", title="Disguises", rows=rows, own=shown)

    @method_decorator(require_safe)
    def disguise_view(self, request: HttpRequest, name: str) -> HttpResponse:
        return self._disguise(request, self._entry(request, name))

    @method_decorator(require_POST)
    @method_decorator(sensitive_post_parameters("person", "chosen"))
    def preview_view(self, request: HttpRequest, name: str) -> HttpResponse:
        entry = self._entry(request, name)
        form = WhomForm(request.POST, entry=entry, **_allowed(request, entry))
        if not form.is_valid():
            return self._disguise(request, entry, form)
        return self._preview(request, entry, form)

    @method_decorator(require_POST)
    @method_decorator(sensitive_post_parameters("person", "chosen"))
    def apply_view(self, request: HttpRequest, name: str) -> HttpResponse:
        entry = self._entry(request, name)
        allowed = _allowed(request, entry)
        form = ConfirmForm(request.POST, entry=entry, operator=operator_of(request), **allowed)
        if not form.is_valid():
            before = WhomForm(request.POST, entry=entry, **allowed)
            return (
                self._preview(request, entry, before, form)
                if before.is_valid()
                else self._disguise(request, entry, before)
            )
        job = form.cleaned_data["submission"]
        if self._begun(job):
            return self._to_job(job)  # the button was pressed twice
        problems = Problems(problems_by_disguise().get(entry.source, []))
        chosen = None
        if entry.principal_model is not None and form.principals is not None:
            chosen = preview.choose(entry.principal_model, form.principals, staff=form.with_staff, but=form.you)
        if not _for_jobs(entry, form) or problems.errors or (chosen and not chosen.ready):
            return self._preview(request, entry, form)
        try:
            report = jobs.start(
                entry.name,
                params=form.params,
                principals=None if chosen is None else chosen.ready,
                operator=operator_of(request),
                job_id=job,
                staff=form.with_staff,
                but=() if form.with_staff or chosen is not None else form.you,
                left_out=None if chosen is None else _left_out(form, chosen),
                keep_no_way_back=form.for_good_chosen,
            )
        except EdnaError as error:
            return self._preview(request, entry, form, refusal=sentence(error))
        spared = words.staff_left_out(report.left_out)
        more = f" {spared} {'was' if report.left_out == 1 else 'were'} left out." if spared else ""
        messages.success(request, f"The job has begun: {form.phrase}.{more}")
        return self._to_job(job)

    @staticmethod
    def _begun(job: int) -> bool:
        try:
            jobs.report(job)
        except JobUnknown:
            return False
        return True

    def _to_job(self, job: int) -> HttpResponse:
        return HttpResponseRedirect(self.address("job_job", job))

    # What the pages are made of

    def _entry(self, request: HttpRequest, name: str) -> CatalogueEntry:
        # Before anything is looked up: whoever may not see it does not learn whether there is such a disguise.
        self.require(may_apply(request, name))
        try:
            return catalogue.entry(name)
        except UnknownDisguise:
            raise Http404("No disguise has this name.") from None

    def _disguise(self, request: HttpRequest, entry: CatalogueEntry, form: WhomForm | None = None) -> HttpResponse:
        return self.show(
            request,
            "disguise.html",
            title="Disguise",
            entry=entry,
            form=form or WhomForm(entry=entry, **_allowed(request, entry), initial={"whom": "one"}),
            problems=Problems(problems_by_disguise().get(entry.source, [])),
            no_job="" if entry.for_jobs else _NO_JOB,
        )

    def _preview(
        self,
        request: HttpRequest,
        entry: CatalogueEntry,
        form: WhomForm,
        confirm: ConfirmForm | None = None,
        *,
        refusal: str = "",
    ) -> HttpResponse:
        chosen = made = None
        problems = Problems(problems_by_disguise().get(entry.source, []))
        try:
            if form.principals is not None and entry.principal_model is not None:
                chosen = preview.choose(entry.principal_model, form.principals, staff=form.with_staff, but=form.you)
            if not problems.errors and (chosen is None or chosen.ready):
                made = preview.preview(
                    entry.name,
                    params=form.params,
                    principals=None if chosen is None else chosen.ready,
                    staff=form.with_staff,
                    but=form.you,
                )
        except EdnaError as error:
            refusal = refusal or sentence(error)
        # The job would be refused: no button, and the page says why.
        for_jobs = _for_jobs(entry, form)
        ready = made is not None and not refusal and for_jobs and not made.without_key
        new = ConfirmForm(entry=entry, operator=operator_of(request))
        return self.show(
            request,
            "preview.html",
            title="Preview",
            entry=entry,
            problems=problems,
            chosen=chosen,
            gone=form.gone,
            preview=made,
            tiles=_tiles(made) if made else [],
            rate=words.rate(made.people_per_second) if made else "",
            lines=_lines(made) if made else [],
            beyond_reach=made.plan.beyond_reach if made and made.plan else {},
            keys_not_found=made.plan.keys_not_found if made and made.plan else {},
            empty=bool(made and made.plan and not made.plan.rows),
            most_rows=f"{preview.MOST_ROWS:,}",
            refusal=refusal,
            no_job="" if for_jobs else _NO_JOB,
            for_good=form.for_good_chosen,
            phrase=form.phrase,
            ready=ready,
            confirm=confirm or new,
            submission=new.new_submission(),
            whom="everybody" if chosen is None else CHOSEN,
            keys="" if chosen is None else chosen_field(chosen.principals),
            typed=form.cleaned_data.get("person", "") if chosen else "",
            params=carried(form.data, entry),
            shown=in_words(form),
            staff=_staff(form, chosen, made),
            with_staff=form.with_staff,
        )


def _allowed(request: HttpRequest, entry: CatalogueEntry) -> dict[str, Any]:
    """What a form has to know of the operator."""
    return {"you": _you(request, entry), "may_for_good": may_for_good(request)}


def _for_jobs(entry: CatalogueEntry, form: WhomForm) -> bool:
    """Whether there are no receipts that a job would have to hand to somebody."""
    return entry.for_jobs or form.for_good_chosen


def _you(request: HttpRequest, entry: CatalogueEntry) -> list[Model]:
    """The operator, if they are one of those whom the disguise is for."""
    user: Any = request.user
    mine = user._meta.concrete_model
    if entry.principal_model is None or entry.principal_model._meta.concrete_model is not mine:
        return []
    try:
        # Somebody of another database may have the same primary key.
        return [user] if registry.database_of(user, entry.principal_model) == registry.database() else []
    except PrincipalError:
        return []


def _left_out(form: WhomForm, chosen: Chosen) -> int:
    """How many of those chosen are not disguised, because they run the site."""
    return 0 if form.with_staff else chosen.staff + chosen.you


def _staff(form: WhomForm, chosen: Chosen | None, made: Preview | None) -> str:
    """Who of those meant runs the site; "" if nobody does. Left out, or taken along: the page says which."""
    counted = chosen or made
    if "staff" not in form.fields or counted is None:
        return ""
    if counted.staff is None:
        return "Staff accounts, and your own, may be among them"
    others, alone = counted.staff, form.cleaned_data.get("whom") == ONE
    if counted.you:
        more = f" and {count(others, 'other staff account')}" if others else ""
        return "This is your own account" if alone else f"You{more} are among them"
    if not others:
        return ""
    return (
        "This is a staff account"
        if alone
        else f"{count(others, 'staff account')} {'is' if others == 1 else 'are'} among them"
    )


def _tiles(made: Preview) -> list[tuple[str, str]]:
    tiles = (
        []
        if made.plan is None and not made.people
        else [(f"{made.people:,}", "account" if made.people == 1 else "accounts")]
    )
    if made.plan is not None:
        rows, new = made.plan.rows, made.plan.pseudoprincipals
        tiles += [
            (f"{rows:,}", "row" if rows == 1 else "rows"),
            (f"{new:,}", "new placeholder user" if new == 1 else "new placeholder users"),
            (words.size(made.plan.estimated_bytes), "to be sealed"),
        ]
    if made.seconds is not None:
        tiles.append((words.duration(made.seconds), "of work, estimated"))
    return tiles


def _lines(made: Preview) -> list[tuple[str, PlannedTable, str]]:
    tables = made.plan.tables if made.plan else []
    return [(words.OPERATIONS.get(line.operation, line.operation), line, f"{line.rows:,}") for line in tables]


class Problems:
    """What the checks say about one disguise."""

    def __init__(self, messages: list[CheckMessage]) -> None:
        self.errors = [message for message in messages if message.level >= ERROR_LEVEL]
        self.warnings = [message for message in messages if message.level < ERROR_LEVEL]

    def __bool__(self) -> bool:
        return bool(self.errors or self.warnings)

    @property
    def in_words(self) -> str:
        parts = [count(len(found), noun) for found, noun in ((self.errors, "error"), (self.warnings, "warning"))]
        return ", ".join(part for part in parts if not part.startswith("0 ")) or "checks passed"


def problems_by_disguise() -> dict[str, list[CheckMessage]]:
    """Those of edna's checks that are about one disguise and are not silenced, by where it is written. They send no queries."""
    found: dict[str, list[CheckMessage]] = {}
    for message in _checked(tuple(registry.disguises().values()), tuple(registry.generators())):
        if isinstance(message.obj, str) and not message.is_silenced():
            found.setdefault(message.obj, []).append(message)
    return found


@functools.lru_cache(maxsize=1)
def _checked(*_: Any) -> tuple[CheckMessage, ...]:
    """Once for what is registered: they read definitions, and take a fraction of a second."""
    return tuple(run_checks(tags=["edna"]))


def _operator(request: HttpRequest) -> str:
    return str(request.user.get_username())
