"""Jobs: those at work with their progress, those that are over with what became of them, and the buttons to steer them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from edna import conf
from edna.errors import EdnaError, JobUnknown
from edna.management.base import sentence
from edna.operations import jobs
from edna.operations.admin import words
from edna.operations.admin.pages import PagesAdmin
from edna.operations.admin.permissions import CONTROL, VIEW_JOBS, applicable, may, may_apply, operator_of
from edna.operations.jobs import JobReport, JobState

MOST_SHOWN: Final = 100

_SAID: Final = {
    "pause": "The job pauses after the accounts that it is at.",
    "resume": "The job goes on.",
    "cancel": "Nothing more is done by this job. What was done stays done; each person can take it back.",
    "retry": "The job tries the accounts again for which it failed.",
}
_CANCELLED_FOR_GOOD: Final = "Nothing more is done by this job. What was done stays done, for good."
_ACTIONS: Final[dict[str, Callable[..., JobReport]]] = {
    "pause": jobs.pause,
    "resume": jobs.resume,
    "cancel": jobs.cancel,
    "retry": jobs.retry,
}
#: What to do when nobody works on a job that should run.
_RUNNERS: Final = {
    "command": "No process works on it now. Start one: manage.py edna_run --forever",
    "celery": "No worker has taken it yet. Are Celery workers and the beat running? Storage and health says more.",
    "eager": "It is about to begin, in the process of the site. If that was restarted, start another: manage.py edna_run",
}


class JobsAdmin(PagesAdmin):
    permission = VIEW_JOBS

    def pages(self) -> list[URLPattern]:
        return [
            *super().pages(),
            self.page("progress/", self.progress_of_all_view, "progress_of_all"),
            self.page("<int:job>/", self.job_view, "job"),
            self.page("<int:job>/progress/", self.progress_view, "progress"),
            self.page("<int:job>/<str:action>/", self.action_view, "action"),
        ]

    @method_decorator(require_safe)
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        self.require(self.may_see(request))
        running = [Shown(report) for report in jobs.reports(unfinished=True, most=MOST_SHOWN)]
        over = [Shown(report) for report in jobs.reports(most=MOST_SHOWN) if not _unfinished(report)]
        return self.show(request, "jobs.html", title="Jobs", running=running, over=over, most=MOST_SHOWN)

    @method_decorator(require_safe)
    def job_view(self, request: HttpRequest, job: int) -> HttpResponse:
        shown = Shown(self._visible(request, job))
        return self.show(
            request,
            "job.html",
            title=f"Job {job}",
            job=shown,
            may_control=may(request, CONTROL),
            may_see_all=self.may_see(request),
        )

    @method_decorator(require_safe)
    @method_decorator(never_cache)
    def progress_view(self, request: HttpRequest, job: int) -> HttpResponse:
        return JsonResponse({"jobs": [Shown(self._visible(request, job)).live()]})

    @method_decorator(require_safe)
    @method_decorator(never_cache)
    def progress_of_all_view(self, request: HttpRequest) -> HttpResponse:
        self.require(self.may_see(request))
        reports = jobs.reports(unfinished=True, most=MOST_SHOWN)
        return JsonResponse({"jobs": [Shown(report).live() for report in reports]})

    @method_decorator(require_POST)
    def action_view(self, request: HttpRequest, job: int, action: str) -> HttpResponse:
        self.require(may(request, CONTROL))
        if action not in _ACTIONS:
            raise Http404("Nothing of that kind can be done to a job.")
        try:
            report = _ACTIONS[action](job, operator=operator_of(request))
        except JobUnknown:
            raise Http404("There is no such job.") from None
        except EdnaError as error:
            messages.error(request, sentence(error))
        else:
            for_good = action == "cancel" and report.keep_no_way_back
            messages.success(request, _CANCELLED_FOR_GOOD if for_good else _SAID[action])
        if self.may_see(request) or is_own(request, self._report(job)):
            return HttpResponseRedirect(self.address("job_job", job))
        return HttpResponseRedirect(self.address_of_index())

    def _visible(self, request: HttpRequest, job: int) -> JobReport:
        """The job, for those who may see all, and for whoever has started it. Nobody else learns whether there is one."""
        if self.may_see(request):
            return self._report(job)
        self.require(bool(applicable(request)))
        try:
            report = jobs.report(job)
        except JobUnknown:
            raise PermissionDenied from None
        self.require(is_own(request, report))
        return report

    @staticmethod
    def _report(job: int) -> JobReport:
        try:
            return jobs.report(job)
        except JobUnknown:
            raise Http404("There is no such job.") from None


def is_own(request: HttpRequest, report: JobReport) -> bool:
    """Whether the operator has started it, and may still apply what it applies."""
    return report.operator == operator_of(request) and may_apply(request, report.disguise)


def _unfinished(report: JobReport) -> bool:
    return report.state in (JobState.RUNNING, JobState.PAUSED)


class Shown:
    """A job in words. It has counts of people and names none of them."""

    def __init__(self, report: JobReport) -> None:
        self.report = report
        partly = report.state is JobState.FINISHED and report.done and report.failed
        self.state = f"finished, {report.failed:,} failed" if partly else report.standing
        self.is_running = report.state is JobState.RUNNING
        self.is_paused = report.state is JobState.PAUSED
        self.is_over = not (self.is_running or self.is_paused)
        self.by = report.operator or (f"the schedule {report.schedule}" if report.schedule else "the command line")
        self.whom = "everybody who owns such rows" if report.everybody else "a selection"
        self.left_out = words.staff_left_out(report.left_out)
        self.params = sorted(report.params.items())
        self.failures = [(words.reason(name), name, number) for name, number in sorted(report.failures.items())]
        self.limit = "no limit" if report.limit_per_second is None else words.rate(report.limit_per_second)
        self.took = words.duration(report.seconds)

    @property
    def percent(self) -> int:
        worked = self.report.done + self.report.skipped + self.report.failed
        return 100 if not self.report.total else 100 * worked // self.report.total

    @property
    def figures(self) -> dict[str, str]:
        """What changes while it runs."""
        report = self.report
        return {
            "percent": f"{self.percent} %",
            "done": f"{report.done:,}",
            "total": f"{report.total:,}",
            "left": f"{report.left:,}",
            "skipped": f"{report.skipped:,}",
            "failed": f"{report.failed:,}",
            "rate": words.rate(report.rate_per_second),
            "remaining": words.duration(report.remaining_seconds) if self.is_running and report.left else "–",
            "runners": f"{report.runners} of {report.concurrency}",
            "took": self.took,
        }

    @property
    def idle(self) -> str:
        """What to do if it should run and does not."""
        return _RUNNERS[conf.job_runner()] if self.report.waits else ""

    @property
    def style(self) -> str:
        """Of its state: green is for what goes well, and for what was done for all."""
        if not self.report.sound or (self.report.failed and self.is_over):
            return "edna-bad"
        good = self.is_running or self.report.state is JobState.FINISHED
        return "edna-good" if good and not self.report.waits else "edna-warn"

    @property
    def version(self) -> str:
        """Changes when more than figures has changed, so that the page has to be made anew."""
        return f"{self.report.standing} {len(self.failures)}"

    def live(self) -> dict[str, Any]:
        return {
            # As text: a browser's numbers are too short for it.
            "id": str(self.report.id),
            "version": self.version,
            "percent": self.percent,
            "figures": self.figures,
        }
