"""What is hidden now: opened by the key, for one page. Each with its day and what it covers; and what still waits, with the reasons.

Keeps: a receipt travels from the list to the next page in the body of a form, never in an address or a session; no
report of an error has one, or says who has hidden what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.apps import apps
from django.db.models import CharField, TextField
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.functional import Promise
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import View

from edna import api, registry
from edna.api_http.json_view import json_view
from edna.pages import handed, words
from edna.pages.base import KeyPage, ShownFields
from edna.pages.forms import ReceiptsForm
from edna.pages.people import People
from edna.reports import looks_secret

#: Rows that a page lists one by one. Below the number of form fields that Django accepts at once.
LISTED = 100
_QUOTED = 90
_BETWEEN = "/"


@dataclass(frozen=True, repr=False)
class Row:
    """What could not come back, as a page lists it. ``name`` says to the server which one is ticked."""

    name: str
    model: str
    what: str
    #: How its text begins.
    text: str
    why: str
    can_be_given_up: bool


@dataclass(frozen=True, repr=False)
class Group:
    """What could not come back of one kind and for one reason: in one line, with its rows behind it."""

    #: "12 remarks".
    what: str
    why: str
    rows: list[Row]
    #: How many more there are.
    left_out: int


class Hidden(KeyPage):
    """Asks for the key, and lists."""

    login_required = False
    form_class = ReceiptsForm
    template_name = "edna/hidden.html"
    is_asked_anew = True
    list_template_name = "edna/hidden_list.html"
    title: ClassVar[str | Promise] = gettext_lazy("What is hidden now")
    button: ClassVar[str | Promise] = gettext_lazy("Show it")
    hands = "list"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        others_read = self.pages.others_read()
        return super().get_context_data(**{"blank": _BLANK, **words.days(), "others_read": others_read, **kwargs})

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        waiting = self.waiting(unlocked)
        tried = {entry.receipt for entry in waiting}
        entries = [entry for entry in self.history(unlocked) if entry.receipt not in tried]
        return self.show(
            self.list_template_name,
            entries=[described(entry, self.pages) for entry in entries],
            waiting=[still_waiting(entry, self.pages) for entry in waiting],
            some_is_damaged=len(unlocked.damaged) > len(unlocked.barred),
            barred=len(unlocked.barred),
        )


class HiddenWords(View):
    """For a browser that opens the list by itself, the site's words for it: all of them, so that nobody learns which ones are used.

    As every page, it refuses the key of another account than the one that is logged in.
    """

    pages = People()

    @method_decorator(csrf_exempt)  # `json_view` protects
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        request.edna_pages = self.pages  # type: ignore[attr-defined]
        return _words(request)


@json_view(takes={}, proved=True)
def _words(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    handed.require_own(request)
    pages: People = request.edna_pages  # type: ignore[attr-defined]
    return {**words.of_what_is_hidden(), **titles(pages), "edits": pages.edit_addresses()}


def titles(pages: People) -> dict[str, Any]:
    """What the site calls each disguise; ``{name}`` stands for a parameter. By parameters, where it says so. ``others`` are those that
    these pages are not about; ``held`` says of which ones others can read what they hide."""
    found = registry.disguises()
    return {
        "titles": {
            name: title_by_name(name, pages, params={param: f"{{{param}}}" for param in each.params})
            for name, each in found.items()
        },
        "titles_of": {name: [[dict(params), title] for params, title in pages.titles_of(name)] for name in found},
        "others": [name for name in found if not pages.concern(name)],
        "held": {name: words.who_else_reads(name) for name, each in found.items() if each.audience},
    }


def title_by_name(name: str, pages: People, *, params: Mapping[str, Any] | None = None) -> str:
    """What the site calls it, of which no more is known here than its name."""
    nothing: Any = None
    entry = api.HistoryEntry(nothing, name, timezone.now(), {}, dict(params or {}))
    try:
        return pages.title_of(entry)
    except Exception:  # the site's own code: it may look up a parameter, and there is no value
        return words.called(name)


#: What a script fills in that has opened the list by itself.
_BLANK = ShownFields(
    receipt="{receipt}",
    title="{title}",
    day="{day}",
    covers=[""],
    held="{held}",
    edits=[ShownFields(address="{address}", what="", text="")],
    edits_left_out=0,
)


def described(entry: api.HistoryEntry, pages: People) -> ShownFields:
    """What the list says of one."""
    edits = [each for label, keys in entry.disowned().items() for each in _edits(label, keys, pages)]
    return ShownFields(
        edits=edits[:LISTED],
        edits_left_out=max(0, len(edits) - LISTED),
        receipt=entry.receipt,
        title=pages.title_of(entry),
        day=words.day(entry.applied_at),
        covers=words.counts(entry.counts),
        held=words.who_else_reads(entry.name),
    )


def _edits(label: str, keys: Sequence[Any], pages: People) -> list[ShownFields]:
    """Where the rows of a model are changed that somebody has disowned, of those that are there. One statement, if the site allows it."""
    address, model = pages.edit_addresses().get(label), words.model_of(label)
    if address is None or model is None:
        return []
    wanted = [model._meta.pk.to_python(key) for key in keys]
    there = model._base_manager.using(registry.database(model)).filter(pk__in=wanted).order_by("pk")
    return [
        ShownFields(
            address=address.replace("{key}", str(row.pk)).replace("{uuid}", str(row.pk)),
            what=words.noun(label),
            text=quoted(label, {field.name: field.value_from_object(row) for field in model._meta.concrete_fields}),
        )
        for row in there
    ]


def still_waiting(entry: api.Waiting, pages: People, *, given_up: Sequence[api.Held] = ()) -> ShownFields:
    """What ``edna/_waiting.html`` shows of one that was brought back, but not all of it; ``given_up`` was to go, and may be here still."""
    # Of one row two things may be held: the first counts.
    held = {(row.model, str(row.pk)): row for row in reversed(entry.held)}
    account_is_away = any(_is_account(row) for row in held.values())
    rows = [
        Row(
            name_of(row),
            row.model,
            words.noun(row.model),
            quoted(row.model, entry.sealed(row)),
            pages.why(row),
            # What belongs to an account waits for it.
            row.reason.can_be_accepted and not account_is_away,
        )
        for row in reversed(held.values())
    ]
    return ShownFields(
        receipt=entry.receipt,
        title=pages.title_of(entry),
        day=words.day(entry.applied_at),
        ready=words.counts(entry.ready),
        held=words.who_else_reads(entry.name),
        groups=grouped(rows),
        can_give_up=any(row.can_be_given_up for row in rows),
        stays_for_others=any((row.model, str(row.pk)) in held for row in given_up),
    )


def grouped(rows: Sequence[Row]) -> list[Group]:
    """In their order; no more rows than a form takes."""
    together: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        together.setdefault((row.model, row.why), []).append(row)
    groups, room = [], LISTED
    for (model, why), found in together.items():
        listed = found[:room]
        room -= len(listed)
        groups.append(Group(words.own(len(found), model), why, listed, len(found) - len(listed)))
    return groups


def _is_account(row: api.Held) -> bool:
    """Whether it is an account that is not here."""
    here = (api.Reason.CHANGED, api.Reason.ROW_MISSING)
    return words.is_account(row.model) and row.reason not in here


def quoted(label: str, values: dict[str, Any]) -> str:
    """How the row's first text begins, for its owner to recognise it."""
    model = words.model_of(label)
    for field in model._meta.concrete_fields if model else ():
        text = values.get(field.name)
        is_text = isinstance(field, CharField | TextField) and not field.choices and field.editable
        if is_text and isinstance(text, str) and text.strip() and not looks_secret(field.name):
            return Truncator(text.strip()).chars(_QUOTED)
    return ""


def name_of(row: api.Held) -> str:
    return _BETWEEN.join((row.model, row.reason, str(row.pk)))


def named(name: str) -> api.Held | None:
    """The row, as a reveal accepts it; None if the browser has sent something else."""
    try:
        model, reason, key = name.split(_BETWEEN, 2)
        apps.get_model(model)
        return api.Held(model, key, api.Reason(reason))
    except (ValueError, LookupError):
        return None
