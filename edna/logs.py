"""One line of the log for each thing that edna did: ``event key=value key=value``, and the same as attributes of the record.

Invariant: ids, names of disguises, counts, seconds and classes of errors only. No principal, not even by number: a line that says
who was disguised at which moment would tie a person to what changed in the tables at that moment. No value, receipt or locator, and
no error's words. Knows no disguise and no table: callers choose what to say, from the types that `event` takes.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Final

#: The parent of all of edna's loggers: ``edna.jobs``, ``edna.expiry`` ...
logger: Final = logging.getLogger("edna")

_PLAIN = re.compile(r"[\w.:/+-]+", re.ASCII)

#: `logging` refuses these: a line of the log must not fail whoever writes it.
_TAKEN: Final = {*vars(logging.makeLogRecord({})), "message", "asctime"}

Field = str | int | float | bool | None


def event(name: str, *, level: int = logging.INFO, area: str = "", **fields: Field) -> None:
    """Log that something happened, with ``fields`` in the order given; those that are None are left out.

    ``area`` is the last part of the logger's name (``"jobs"`` for ``edna.jobs``). Names of fields are attributes of the log record, so
    that a formatter for JSON finds them, unless records have an attribute of that name anyway (``name``, ``module``, ``created`` ...).
    """
    to = logger.getChild(area) if area else logger
    if not to.isEnabledFor(level):
        return
    said = {key: _short(value) for key, value in fields.items() if value is not None}
    # One argument, no percent signs to fill in: what a name holds is never taken for a format.
    text = " ".join([name, *(f"{key}={_written(value)}" for key, value in said.items())])
    attributes = {key: value for key, value in said.items() if key not in _TAKEN}
    to.log(level, "%s", text, extra={**attributes, "event": name}, stacklevel=2)


def _short(value: Field) -> Field:
    return round(value, 3) if isinstance(value, float) else value


def _written(value: Field) -> str:
    """Quoted where it is more than a word: a line break in a name must not begin a line of its own."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
