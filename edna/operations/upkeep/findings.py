"""What a look at the store can find: a word for each, how bad it is, what it means and what to do.

Guarantees: nothing in here names a person, a value, a key or a locator.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Final


class Severity(enum.StrEnum):
    """``NOTE`` is no reason to do anything; ``ATTENTION`` is work that waits; ``DAMAGE`` is not as edna wrote it."""

    NOTE = "note"
    ATTENTION = "attention"
    DAMAGE = "damage"


@dataclass(frozen=True)
class Kind:
    severity: Severity
    meaning: str
    remedy: str


_BACKUP: Final = "restore these rows from a backup, and find out who wrote to the table"
_UNTAGGED: Final = (
    "put a missing key back into MAC_KEYS and run edna_vouch, or restore the rows from a backup and find out who wrote to "
    "the table"
)
_NOTE, _ATTENTION, _DAMAGE = Severity.NOTE, Severity.ATTENTION, Severity.DAMAGE

KINDS: Final[dict[str, Kind]] = {
    "server_key": Kind(
        _DAMAGE,
        "the key that would seal is none that this database knows, so that nothing can be disguised; what follows may be due to that",
        "put the right key in front of MAC_KEYS; if it is new on purpose, manage.py edna_keys add",
    ),
    "server_key_missing": Kind(
        _ATTENTION,
        "a server key that this database knows is not in MAC_KEYS: what was made under it does not verify",
        "put it back, behind the present one, and run manage.py edna_vouch; or, if nothing needs it any more, manage.py edna_keys forget",
    ),
    "entry_key": Kind(_DAMAGE, "an entry's public key has not 32 bytes", _BACKUP),
    "entry_number": Kind(
        _DAMAGE,
        "the entry of a removed principal has a number that is not the one of its key: nobody finds it by the key",
        _BACKUP,
    ),
    "entry_key_useless": Kind(
        _ATTENTION,
        "nobody can open what is sealed to an entry's public key: an earlier release took it",
        "delete the entry and register them again, with another key; find out who wrote to the table, if nobody's code registers keys",
    ),
    "entry_list": Kind(
        _DAMAGE,
        "an entry's list of locators is cut: not a multiple of 80 bytes, or of 1200 where its key is of the hybrid kind",
        _BACKUP,
    ),
    "entry_detached": Kind(_DAMAGE, "an entry of a removed principal says more than its key and its list", _BACKUP),
    "entry_dated": Kind(_DAMAGE, "an entry of somebody who is there has a day on which it expires", _BACKUP),
    "entry_tag": Kind(
        _DAMAGE,
        "this site did not note whose key an entry has, or not as it is now: nothing is sealed to it, nobody speaks for whom it names, "
        "and nothing is swept by it",
        "put a missing key back into MAC_KEYS and run edna_vouch, or restore the rows and find out who wrote to the table; "
        "edna_vouch --entry if they are right",
    ),
    "entry_of_another": Kind(
        _DAMAGE,
        "an entry has the tag of another of the site's databases, or of when there was one alone: somebody has copied it here, or nobody "
        "has vouched for it since; until then it does not count, as without a tag",
        "find out who wrote to the table; edna_vouch --entry if somebody was moved here, edna_vouch --formerly or --formerly-alone if an "
        "alias was changed, or if there was one database",
    ),
    "entry_model": Kind(
        _ATTENTION,
        "an entry is of a model that is no principal model",
        'put the model back into EDNA["PRINCIPAL_MODELS"]',
    ),
    "entry_without_row": Kind(
        _ATTENTION, "an entry's user was deleted past Django", "manage.py edna_sweep, before somebody gets the same key"
    ),
    "row_without_entry": Kind(
        _DAMAGE,
        "a row is a pseudoprincipal's, and has no entry: it passes for a user",
        "restore the entry, or delete the row",
    ),
    "duplicate": Kind(_DAMAGE, "rows share what has to be unique", "restore the table with its indexes"),
    "slot": Kind(_DAMAGE, "a key slot has a length that none has", _BACKUP),
    "bag_index": Kind(_DAMAGE, "a bag's index has not 32 bytes", _BACKUP),
    "bag_container": Kind(_DAMAGE, "a bag is no sealed container: cut, extended, or of another make", _BACKUP),
    "bag_bucket": Kind(_DAMAGE, "a bag expires on a day that is not the first of a month", _BACKUP),
    "replay": Kind(
        _DAMAGE,
        "a logged update does not open with the server's keys, or was made in another of the site's databases",
        "put a missing key back into MAC_KEYS, or delete the row; edna_vouch --formerly or --formerly-alone if an alias was changed, or if "
        "there was one database",
    ),
    "file_task": Kind(
        _DAMAGE,
        "a file task was not noted by this site, or not in this one of its databases",
        "put a missing key back into MAC_KEYS, or delete the row; edna_vouch --formerly or --formerly-alone if an alias was changed, or if "
        "there was one database",
    ),
    "file_task_old": Kind(_ATTENTION, "a file has waited for more than a day", "manage.py edna_files says why"),
    "audit": Kind(
        _DAMAGE,
        "entries of the audit trail were changed, one before them is missing, or (the number after the last) its end is",
        "compare with the log edna.audit; edna_vouch --formerly or --formerly-alone if an alias was changed, or if there was one database",
    ),
    "expiry_overdue": Kind(
        _ATTENTION, "bags or entries should have been erased by now", "manage.py edna_expire, every night"
    ),
    "hold_misplaced": Kind(
        _ATTENTION, "a legal hold is on a day on which nothing expires", "manage.py edna_hold lift, and place"
    ),
    "job": Kind(
        _DAMAGE,
        "this site did not note a job, or not as it is now: it is not done",
        "put a missing key back into MAC_KEYS, or find out who wrote to the table and delete the rows; edna_vouch if they are right",
    ),
    "job_item": Kind(
        _DAMAGE,
        "this site did not put somebody on the list of a job: they are not disguised by it",
        "put a missing key back into MAC_KEYS, or find out who wrote to the table and delete the rows; edna_vouch if they are right",
    ),
    "audience_updates": Kind(
        _DAMAGE,
        "this site did not make an update of an audience, or not as it is now: whatever needs that audience is refused",
        _UNTAGGED,
    ),
    "audience_names": Kind(
        _DAMAGE,
        "this site did not give a member of an audience their name, or not as it is now: whatever shows members is refused",
        _UNTAGGED,
    ),
    "audience_shares": Kind(
        _DAMAGE,
        "this site did not deal shares of an audience, or not as they are now: nothing is sealed to them, and no disguise "
        "that declares the audience is applied",
        _UNTAGGED,
    ),
    "held_copies": Kind(
        _DAMAGE,
        "this site did not put a copy for an audience where it lies, or not as it is now: nobody opens it",
        _UNTAGGED,
    ),
    "hold_requests": Kind(
        _DAMAGE,
        "no member has asked what a request of an audience says, or not as it is now: nobody agrees to it, or reads it",
        _UNTAGGED,
    ),
    "set_back": Kind(
        _DAMAGE,
        "the audit trail knows later changes of an audience, or later shares, than the tables have: an earlier state was put back, and "
        "who went since counts again",
        "restore the table from a backup that has them, or take those members out again and have shares handed on; find out who "
        "wrote to it",
    ),
    "device_record": Kind(
        _DAMAGE,
        "a record of devices is not as it was sealed, or lies where another one did: whoever needs it is refused",
        _BACKUP,
    ),
    "device_forged": Kind(
        _DAMAGE, "no device of the group has signed an operation of its log: all of its devices refuse the log", _BACKUP
    ),
    "device_order": Kind(
        _DAMAGE,
        "an operation does not follow the one before it: one is missing, was swapped, comes again, or is of another log; all devices of "
        "the group refuse the log",
        _BACKUP,
    ),
    "device_end": Kind(
        _DAMAGE,
        "the log of a group does not end with the key that its person has: its end is missing, or a key was put into the entry past edna; "
        "the record that names the group is given",
        _BACKUP,
    ),
    "job_waiting": Kind(_ATTENTION, "a job has no runner", "manage.py edna_run, or start the workers"),
    "residue": Kind(_ATTENTION, "rows of jobs that are not there", "manage.py edna_sweep"),
    "orphan": Kind(_ATTENTION, "nothing refers to a pseudoprincipal any more", "manage.py edna_sweep"),
    "orphan_kept": Kind(
        _NOTE,
        "nothing refers to a pseudoprincipal any more, but something may name it",
        "manage.py edna_sweep --made-by-hand",
    ),
    "person_damaged": Kind(
        _DAMAGE,
        "bags of the person whose key was given do not open, or are missing, or an entry that was vouched for names another than the bag "
        "with its key",
        _BACKUP,
    ),
    "person_file": Kind(_DAMAGE, "the sealed content of a file of that person does not open, or is missing", _BACKUP),
    "person_foreign": Kind(
        _ATTENTION, "the person's list names bags that are sealed to another key", "see threat-model.md, 29"
    ),
    "person_nothing": Kind(
        _NOTE, "the person's list names disguises of which nothing is kept: expired, or deleted", "none"
    ),
}

#: How many rows of one kind are named.
MOST_NAMED: Final = 100


@dataclass
class Finding:
    """``ids`` are numbers of edna's own rows, buckets, or check values of server keys; of many, some. ``count`` is of all."""

    kind: str
    count: int = 0
    ids: list[int | str] = field(default_factory=list)

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind].severity

    def as_dict(self) -> dict[str, Any]:
        kind = KINDS[self.kind]
        words = {"meaning": kind.meaning, "remedy": kind.remedy}
        return {"kind": self.kind, "severity": kind.severity.value, "count": self.count, "ids": self.ids, **words}


@dataclass
class Verified:
    """What was looked at, in numbers by name, and what was found."""

    seen: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def count(self, name: str, number: int) -> None:
        self.seen[name] = self.seen.get(name, 0) + number

    def find(self, kind: str, ids: list[Any], *, count: int | None = None) -> None:
        """``count`` if there are more than are named."""
        if not ids and not count:
            return
        found = next((each for each in self.findings if each.kind == kind), None)
        if found is None:
            found = Finding(kind)
            self.findings.append(found)
        found.count += len(ids) if count is None else count
        found.ids += ids[: MOST_NAMED - len(found.ids)]

    def how_many(self, severity: Severity) -> int:
        return sum(each.count for each in self.findings if each.severity is severity)

    @property
    def worst(self) -> Severity | None:
        """None if all is sound."""
        order = list(Severity)
        return max((each.severity for each in self.findings), key=order.index, default=None)
