"""What pages say to people: counts in the site's own nouns, what a plan would do, what came back and what could not, and errors.

Keeps: none of it names an id, a secret or the content of a row; none of it is a word of the glossary.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.apps import apps
from django.db.models import Model
from django.utils import timezone
from django.utils.formats import date_format, get_format, number_format
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.timezone import get_current_timezone_name
from django.utils.translation import gettext, gettext_lazy, ngettext

from edna import api, errors, registry
from edna.spec import title_of

_EXPLANATIONS: Final[Mapping[type[errors.EdnaError], Promise]] = {
    errors.WrongCredentials: gettext_lazy(
        "This does not open your key. Check for typing errors, or use another way: the recovery code instead of the password, or the "
        "other way round."
    ),
    errors.RecoveryCodeMalformed: gettext_lazy(
        "The recovery code is incomplete or mistyped. It has seven groups of four characters; please copy it again. "
        "Spaces, dashes and capital letters do not matter."
    ),
    errors.KeyMalformed: gettext_lazy("This is not a complete secret key; please copy all of it again."),
    errors.ReceiptMalformed: gettext_lazy(
        "The receipt is incomplete or mistyped. Please copy all of it, from “edna1:” to its last character."
    ),
    errors.ReceiptUnknown: gettext_lazy(
        "Nothing is kept under this receipt any more. Most likely all of it is back already, or its time has run out."
    ),
    errors.ReceiptForeign: gettext_lazy(
        "This receipt was given to somebody else, and your key does not open what it leads to."
    ),
    errors.PrincipalNotRegistered: gettext_lazy(
        "Your account has no key yet, so nothing could be brought back later. Nothing was changed."
    ),
    errors.PrincipalAlreadyRegistered: gettext_lazy("Your account has its key already. Nothing was changed."),
    errors.NotYours: gettext_lazy("This key belongs to another account. Nothing was changed."),
    errors.BagError: gettext_lazy(
        "What is kept for you does not pass its check, so it was not used. Nothing was changed, and nothing is lost. Please tell those who "
        "run this site, and mention this word: %(name)s."
    ),
    errors.PolicyError: gettext_lazy(
        "What is kept for you is locked twice here, and this part of the site may not open the second lock, or not now. There is nothing "
        "wrong with your key or with what you typed. Nothing was changed, and nothing is lost. Please try again later; if that does not "
        "help, ask those who run this site, and mention this word: %(name)s."
    ),
    errors.MonitorUnavailable: gettext_lazy(
        "What is kept for you is locked twice here, and what opens the second lock cannot be reached right now. There is nothing wrong "
        "with your key or with what you typed. Nothing was changed, and nothing is lost. Please try again in some minutes."
    ),
    errors.AudienceTooSmall: gettext_lazy(
        "This cannot be done right now: the site promises that some people can read it in a case, and too few of them are left. Nothing "
        "was changed. Please tell those who run this site, and mention this word: %(name)s."
    ),
    errors.ReceiptsIncomplete: gettext_lazy(
        "Something of yours may be left that only a receipt leads to, and it would be lost. Please give all your receipts. "
        "Nothing was changed."
    ),
    errors.ErasureRefused: gettext_lazy(
        "The law makes those who run this site keep this for now, locked. Nothing was changed; please ask them for how long."
    ),
    errors.HandoverRefused: gettext_lazy(
        "What is kept for you has changed while this page was open, in another tab perhaps. Nothing was changed; please try again."
    ),
    errors.KeyNotProved: gettext_lazy(
        "Too much time has passed since you opened your key here, or you have logged in since. Nothing was changed; please try again."
    ),
    errors.QuorumUnavailable: gettext_lazy("Not enough guardians help yet. Nothing was changed; look again later."),
    errors.TicketRefused: gettext_lazy(
        "This guardian does not take that: the code is another one, or too many were wrong. Nothing was changed."
    ),
    errors.EnvelopeRefused: gettext_lazy(
        "The guardians have helped, but this is not your PIN. After three different ones you have to ask them again."
    ),
    errors.GuardianRefused: gettext_lazy(
        "A guardian could not be reached. Nothing was changed; please try again later."
    ),
    errors.PrincipalHasDevices: gettext_lazy(
        "You have devices, and a new key here would be one that none of them has. Nothing was changed. Under “My devices” you remove a "
        "device, or give it another key."
    ),
    errors.DeviceUnknown: gettext_lazy(
        "This is not the key of one of your devices, or no other device has added it yet. Nothing was changed."
    ),
    errors.DeviceRemoved: gettext_lazy(
        "This device was removed, and opens nothing any more. Another one of your devices can add it, as a new one."
    ),
    errors.DeviceLoggedOut: gettext_lazy(
        "Your account is here, so please log in first: then this device opens your key. Nothing was changed."
    ),
    errors.DeviceGroupEnded: gettext_lazy(
        "What your devices opened has another key now: you have begun anew with another first device, or made a new key. "
        "Nothing was changed."
    ),
    errors.DeviceCodeRefused: gettext_lazy(
        "No device shows this code now. Look at it on the new device, and type it again; if it is the same, begin anew there."
    ),
    errors.DatabaseNotChosen: gettext_lazy(
        "More than one account here opens with this, and nothing says which one you mean. Nothing was changed. Log in first; or, if the "
        "account is away, give its receipt, too, or its recovery code instead of the password."
    ),
    errors.DatabaseBusy: gettext_lazy("The site is very busy. Nothing was changed; please try again in a minute."),
    errors.ServerKeyUnknown: gettext_lazy(
        "This site was started with a wrong setting, and cannot hide or bring back anything. There is nothing wrong with what you "
        "typed, and nothing was changed. Please tell those who run this site."
    ),
    errors.EdnaError: gettext_lazy(
        "This cannot be done right now. Nothing was changed. Please tell those who run this site, and mention this word: %(name)s."
    ),
}

_REASONS: Final[Mapping[api.Reason, Promise]] = {
    api.Reason.ROW_EXISTS: gettext_lazy("There is another one in its place."),
    api.Reason.ROW_MISSING: gettext_lazy("It has been deleted meanwhile."),
    api.Reason.CHANGED: gettext_lazy("Somebody has changed it meanwhile, and we do not overwrite that."),
    api.Reason.UNIQUE_TAKEN: gettext_lazy("There is another one in its place."),
    api.Reason.REFERENCE_MISSING: gettext_lazy("What it belongs to is not there, or not yet."),
    api.Reason.CONSTRAINT: gettext_lazy("There is another one in its place."),
    api.Reason.OWNER_AWAY: gettext_lazy("It belongs to somebody else, too, who is away. It comes back when they do."),
    api.Reason.BAG_DAMAGED: gettext_lazy(
        "It may belong to somebody else, too, and a part of what is kept for you is damaged, so that we cannot tell. Please tell "
        "those who run this site."
    ),
    api.Reason.FILE_EXISTS: gettext_lazy("There is a file of that name already. Please tell those who run this site."),
    api.Reason.SCHEMA_CHANGED: gettext_lazy("The site has been rebuilt since. Please tell those who run this site."),
}


def explain(error: errors.EdnaError) -> str:
    """A sentence that says what to do about an error: that of the nearest class in the tree of errors."""
    if isinstance(error, errors.TooBusy):
        seconds = error.retry_after_seconds
        return _too_busy(seconds) % {"seconds": number_format(seconds)}
    sentence = next(_EXPLANATIONS[kind] for kind in type(error).__mro__ if kind in _EXPLANATIONS)
    return str(sentence) % {"name": type(error).__name__}


def _too_busy(seconds: int) -> str:
    return ngettext(
        "Many people are using their keys right now. Nothing was changed; please try again in a second.",
        "Many people are using their keys right now. Nothing was changed; please try again in %(seconds)s seconds.",
        seconds,
    )


def sentences() -> dict[str, str]:
    """What `explain` says of each class that has a sentence of its own, by its name. Scripts fill in ``%(name)s``, and seconds from 2."""
    told = {kind.__name__: str(sentence) for kind, sentence in _EXPLANATIONS.items()}
    return {**told, errors.TooBusy.__name__: _too_busy(2)}


def who_else_reads(disguise: str) -> str:
    """A sentence about others who can read what a disguise hides; "" if nobody can."""
    found = registry.find(disguise)
    if found is None or not found.audience:
        return ""
    said = gettext(
        "%(together)s of the people in “%(audience)s” can read together what this hides, without your key, if they give a reason. You are "
        "told when you come back."
    )
    return said % {"together": number_format(found.together), "audience": found.audience}


def why(reason: api.Reason) -> str:
    """A sentence that says why something could not come back."""
    unknown = gettext_lazy("It cannot be brought back as things are. Please tell those who run this site.")
    return str(_REASONS.get(reason, unknown))


def model_of(label: str) -> type[Model] | None:
    """None: it is gone from the site's code."""
    try:
        return apps.get_model(label)
    except (LookupError, ValueError):
        return None


def noun(label: str) -> str:
    """``noun("school.answer")`` is "Answer"."""
    model = model_of(label)
    if is_account(label):
        return capfirst(gettext("your account"))
    return capfirst(str(model._meta.verbose_name)) if model else gettext("Something")


def count(rows: int, label: str) -> str:
    """``count(2, "school.answer")`` is "2 answers"."""
    model = model_of(label)
    if model is None:
        name = ngettext("thing", "things", rows)
    else:
        name = str(model._meta.verbose_name if rows == 1 else model._meta.verbose_name_plural)
    return gettext("%(number)s %(noun)s") % {"number": number_format(rows, force_grouping=True), "noun": name}


def counts(rows_by_model: Mapping[str, int]) -> list[str]:
    """The same for each of somebody's own, without what there is none of; one account is theirs."""
    return [own(rows, label) for label, rows in rows_by_model.items() if rows]


def day(moment: datetime.datetime) -> datetime.date:
    """The day of it, where the site is."""
    return (timezone.localtime(moment) if timezone.is_aware(moment) else moment).date()


def day_format() -> tuple[str, list[str]]:
    """How days are written here, and the names of the months as they stand in one: for a script. What tells more than day, month and
    year, such as a weekday, is left to pages that the server writes."""
    written = get_format("DATE_FORMAT")
    name = next((letter for letter in "FNMbE" if letter in re.sub(r"\\.", "", written)), "F")
    is_simple = not set(re.findall("[A-Za-z]", re.sub(r"\\.", "", written))) - set("djmnYy" + name)
    months = [date_format(datetime.date(2000, month, 1), name) for month in range(1, 13)]
    return written if is_simple else "j F Y", months


def days() -> dict[str, Any]:
    """What `edna/_days.html` says to a script, which is to write days as this page does."""
    written, months = day_format()
    return {"zone": get_current_timezone_name(), "day_format": written, "months": months}


def own(rows: int, label: str) -> str:
    return gettext("your account") if rows == 1 and is_account(label) else count(rows, label)


def is_account(label: str) -> bool:
    return model_of(label) in registry.principal_models()


def preview(plan: api.Plan) -> list[str]:
    """What a plan would do, a sentence for each operation and table, without those that it would not touch."""
    rows: Counter[tuple[str, str]] = Counter()
    for table in plan.tables:
        rows[table.operation, table.model] += table.rows
    lines = []
    for (operation, model), number in rows.items():
        if not number:
            continue
        lines.append(_WHAT_HAPPENS[operation] % {"what": own(number, model)})
    return lines


_WHAT_HAPPENS: Final[Mapping[str, Promise]] = {
    "remove": gettext_lazy("Removed: %(what)s"),
    "modify": gettext_lazy("Changed, so that it no longer tells about you: %(what)s"),
    "decorrelate": gettext_lazy("Kept, but without your name: %(what)s"),
}


def called(name: str) -> str:
    """The title of a disguise, as people read it; of one whose code is gone, too."""
    found = registry.find(name)
    return found.called() if found else title_of(name)


def of_what_is_hidden() -> dict[str, Any]:
    """For a script that counts by itself: the nouns of what they touch, and how a number goes with a noun."""
    disguises = registry.disguises()
    models = {each.model for disguise in disguises.values() for each in disguise.transformations}
    things = [ngettext("thing", "things", rows) for rows in (1, 2)]
    nouns = {
        model._meta.label_lower: [str(model._meta.verbose_name), str(model._meta.verbose_name_plural)]
        for model in models
    }
    return {
        "nouns": {**nouns, "": things},
        "accounts": [model._meta.label_lower for model in registry.principal_models()],
        "account": gettext("your account"),
        "of": gettext("%(number)s %(noun)s"),
    }


def held(rows: Iterable[api.Held]) -> list[str]:
    """What could not be brought back yet, and why; counted, for primary keys tell people nothing."""
    # Of one row two things may be held for the same reason.
    each = dict.fromkeys((row.model, str(row.pk), row.reason) for row in rows)
    reasons = Counter((model, reason) for model, _, reason in each)
    return [
        gettext("%(what)s: %(why)s") % {"what": own(number, model), "why": why(reason)}
        for (model, reason), number in reasons.items()
    ]
