"""What a batch of a schedule's job asks and says, in this order: who is still meant, who was disguised, and who gets a mail.

Invariants: whoever returned, up to the transaction that would disguise them, is left alone; a receipt is mailed after the commit, at most
once. Does not know when a schedule runs (`rounds`), nor how a batch is done (`batches`).
"""

from __future__ import annotations

import datetime
import logging
from collections.abc import Iterable, Sequence

from django.db.models import Model
from django.views.decorators.debug import sensitive_variables

from edna import logs, registry, schedules
from edna.api import Receipt
from edna.clock import today as utc_day
from edna.errors import UnknownSchedule
from edna.operations.dormancy import absences
from edna.operations.dormancy.mailer import Mailer
from edna.operations.store import dormancy as stored
from edna.operations.store.dormancy import Told
from edna.schedules import Notice


def still_dormant(schedule_name: str, references: Iterable[str], using: str) -> set[str]:
    """Which of ``references`` the schedule's disguise is for now. Inside the batch's transaction: who is not locked out returns first.

    Nobody, if the project no longer has the schedule.
    """
    try:
        schedule = schedules.get(schedule_name)
    except UnknownSchedule:
        # A job that outlived its schedule: nobody is disguised.
        logs.event("schedule_unknown", level=logging.WARNING, area="schedules", schedule=schedule_name)
        return set()
    model = registry.principal_model_for(schedule.disguise)
    found = absences.read_now(schedule, model, list(references), using=using)
    dormant = set()
    for reference, absence in found.items():
        step = absences.next_step(schedule, absence)
        if step is not None and not step.days and step.due_on <= utc_day():
            dormant.add(reference)
    return dormant


def disguised(schedule_name: str, references: Iterable[str], using: str) -> None:
    """They were disguised just now, in this transaction: whose account stays is not dormant again until they have been here.

    What those were told whose account goes is forgotten by whatever removes them.
    """
    schedule = schedules.get(schedule_name)
    model = registry.principal_model_for(schedule.disguise)
    known = absences.read_now(schedule, model, list(references), using=using)
    days = datetime.timedelta(days=schedule.inactive_days)
    done = [Told(each.reference, 0, each.since + days) for each in known.values()]
    if done:
        stored.tell(schedule_name, model._meta.label_lower, done, using=using)


@sensitive_variables()
def after_commit(schedule_name: str, people: Sequence[tuple[Model, Receipt]]) -> int:
    """Mail the receipts; how many could not be. Raises nothing: it is done, and its owners have their passwords or recovery codes.

    At most once: the receipt is nowhere else, so that a crash between the commit and the mail loses it.
    """
    try:
        schedule = schedules.get(schedule_name)
    except UnknownSchedule:
        return len(people)
    failed = 0
    with Mailer(schedule) as mailer:
        for principal, receipt in people:
            failed += not mailer.send(Notice("applied", schedule.name, principal, utc_day(), 0, str(receipt)))
    return failed
