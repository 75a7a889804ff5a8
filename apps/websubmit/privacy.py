"""The pages of edna for students and staff: in the frame of this site, in front of its own log-in."""

from __future__ import annotations

from collections.abc import Iterator

import edna
from edna.urls import Pages

from .models import Lecture

_TAKEN = "There is another one in its place, for example because you answered the question again. Withdraw that one, then try again."
_OF_ANSWERS = {
    edna.Reason.REFERENCE_MISSING: "Its question is not there now; perhaps the course staff have deleted it.",
    edna.Reason.ROW_EXISTS: _TAKEN,
    edna.Reason.UNIQUE_TAKEN: _TAKEN,
    # The constraint that can be in the way here is that of one answer per author and question.
    edna.Reason.CONSTRAINT: _TAKEN,
}


def _nameless(lecture: Lecture) -> str:
    return f"The staff took the names off “{lecture}”"


class Privacy(Pages):
    name = "websubmit-privacy"
    user_model = "websubmit.User"
    login_url = "websubmit:login"
    base_template_name = "websubmit/privacy.html"

    def title_of(self, entry: edna.HistoryEntry | edna.Waiting) -> str:
        lecture = Lecture.objects.filter(pk=entry.params.get("lecture")).first()
        return _nameless(lecture) if lecture else super().title_of(entry)

    def titles_of(self, name: str) -> Iterator[tuple[dict[str, int], str]]:
        if name == "websubmit.anonymize-lecture":
            yield from (({"lecture": lecture.pk}, _nameless(lecture)) for lecture in Lecture.objects.all())

    def why(self, row: edna.Held) -> str:
        ours = _OF_ANSWERS.get(row.reason) if row.model == "websubmit.answer" else None
        return ours or super().why(row)


PAGES = Privacy()
