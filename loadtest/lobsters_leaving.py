"""Members of Lobsters who delete their account, leave a topic, or are put away by the schedule; and come back."""

from __future__ import annotations

import html
import json
import random
import re
from typing import Any, ClassVar, Final

import gevent

from loadtest.browser import Load, Unexpected
from loadtest.disguisers import Disguiser, Manage, Steered
from loadtest.lobsters_neighbour import Neighbour
from loadtest.lobsters_town import Absence
from loadtest.people import Account
from loadtest.samples import AROUND, DISGUISE, REVEAL

RECEIPT = r'id="edna-receipt">([^<]+)<'
RECEIPT_IN_FORM = r'name="receipt" value="(edna1:lobsters\.topic:[^"]+)"'
HERE = "Your account is here"
LEAVING = "/privacy/do/lobsters.delete-account/"
DECAY: Final = "lobsters.decay"
_LOOK_SECONDS = 0.2
_lot: Final = random.Random()


class MemberWhoLeaves(Neighbour, Disguiser):
    """Deletes the account on its page; comes back with the receipt of the good-bye page, and a recovery code or the password."""

    #: Everybody's, for it may be another user who brings somebody back at the end.
    receipts: ClassVar[dict[str, str]] = {}
    #: What of theirs they look for.
    marks: ClassVar[tuple[str, ...]] = ("story", "comment")

    def log_in(self, account: Account) -> None:
        # To a page that costs the site little: it is the rest of a turn that matters.
        self.log_in_as(account.name, kind=AROUND, to="/lobsters/account")

    def leave(self, account: Account) -> None:
        # Either opens the key, which finds what was disowned; the password is derived for it.
        by_code = {"recovery_code": account.recovery_code}
        fields = {"password": self.load.people.password} if self.load.by_password else by_code
        page = self.persist(
            LEAVING, LEAVING, fields, name="delete account", kind=DISGUISE, rows=account.rows, seen=True
        )
        self.receipts[account.name] = page.find(RECEIPT)
        self._look_whether_gone(Absence(account))

    def come_back(self, account: Account) -> None:
        was_gone = self.town.gone.pop(account.name, None) is not None
        fields = {
            "receipt": self.receipts.pop(account.name, ""),
            "recovery_code": account.recovery_code,
            "password": "",
        }
        if self.load.by_password:
            fields |= {"recovery_code": "", "identifier": account.name, "password": self.load.people.password}
        address = "/privacy/return/"
        page = self.persist(address, address, fields, name="restore account", kind=REVEAL, rows=account.rows)
        if was_gone or HERE not in page.text:
            page.find(r"<h1>(It is back)<")

    def look(self, account: Account) -> None:
        """The profile with its numbers, a story and a comment of theirs, with the words and under the name."""
        self.forget_cookies()  # members leave ribbons where they read
        marks, author = account.marks, f'href="/lobsters/u/{account.name}"'
        profile = self.get(f"/u/{account.name}", name="look whether all is back", kind=AROUND, expect=(200, 404))
        if profile.status != 200:
            raise Unexpected("an account did not come back")
        for what in ("stories", "comments"):
            number = profile.find(rf'href="/lobsters/u/{re.escape(account.name)}/{what}">(\d+)<')
            if int(number) != marks[what]:
                raise Unexpected(f"not all {what} came back")
        if marked := self._marked(account):
            story, text = _lot.choice(marked)
            page = self.get(f"/stories/{story}", name="look whether all is back", kind=AROUND)
            if author not in page.text or html.escape(text) not in page.text:
                raise Unexpected("a story or comment did not come back")

    def _look_whether_gone(self, absence: Absence) -> None:
        """From here on everybody looks; the first one is who has left, at where something of theirs stood."""
        self.town.gone[absence.account.name] = absence
        self.forget_cookies()
        if marked := self._marked(absence.account):
            page = self.get(f"/stories/{_lot.choice(marked)[0]}", name="look whether all is gone", kind=AROUND)
            if absence.is_broken_by(page.text):
                self.load.wrong.append("a story's page shows somebody who is gone")

    def _marked(self, account: Account) -> list[tuple[str, str]]:
        """A story's page, and what stands there when they are here."""
        return [tuple(account.marks[name]) for name in self.marks if name in account.marks]


class MemberWhoLeavesATopic(MemberWhoLeaves):
    """Takes the name off a topic, and puts it back; the account stays."""

    marks = ("topic_story", "topic_comment")

    def leave(self, account: Account) -> None:
        topic = self.load.people.facts["topic"]
        chooser, address, tag = "/account/topic", "/account/topic/leave", {"tag": topic}
        chosen = self.get(chooser, name="leave a topic (form)", kind=AROUND)
        told = self.post(address, tag, token=chosen.token, name="leave a topic (preview)", kind=AROUND)
        fields = {**tag, "password": self.load.people.password, "seen": told.find(r'name="seen" value="([^"]+)"')}
        page = self.persist(
            *(chooser, address, fields), name="leave a topic", kind=DISGUISE, rows=account.marks["topic_rows"]
        )
        self.receipts[account.name] = page.find(RECEIPT)
        self._look_whether_gone(Absence(account, topic))

    def come_back(self, account: Account) -> None:
        self.town.gone.pop(account.name, None)
        receipt = self.receipts.pop(account.name, "")
        for each in [receipt] if receipt else self._looked_up(account):
            page = self.persist(
                *("/privacy/hidden/", "/privacy/back/"),
                {"receipt": each, "recovery_code": account.recovery_code, "password": ""},
                name="reclaim a topic",
                kind=REVEAL,
                rows=account.marks["topic_rows"],
            )
            page.find(r"<h1>(It is back)<")

    def _looked_up(self, account: Account) -> list[str]:
        """Receipts of what is still disguised, for whom no page has shown theirs."""
        fields = {"recovery_code": account.recovery_code}
        address = "/privacy/hidden/"
        page = self.persist(address, address, fields, name="what is hidden", kind=AROUND, rows=0)
        return page.all(RECEIPT_IN_FORM)


class DormantMember(MemberWhoLeaves, Steered):
    """Is put away by the schedule; comes back by recovery code alone. One job puts all of them away, and is paused between phases."""

    _job: ClassVar[str] = ""

    @classmethod
    def begin(cls, load: Load, manage: Manage) -> None:
        if cls._job:
            cls._steer(manage, "resume")
            return
        (report,) = json.loads(manage("edna_run_schedules", "--schedule", DECAY, "--json"))["schedules"]
        if report["due"] != len(load.people.disguisers["dormant"]) or not report["job"]:
            raise RuntimeError(f"the schedule has found {report['due']} dormant members, and job {report['job']}")
        cls._job = str(report["job"])

    @classmethod
    def end(cls, load: Load, manage: Manage) -> None:
        cls._steer(manage, "pause")
        while cls._report(manage)["runners"]:
            gevent.sleep(_LOOK_SECONDS)

    @classmethod
    def over(cls, load: Load, manage: Manage) -> None:
        report = cls._report(manage)
        if not report["done"] or report["failed"]:
            load.wrong.append(f"the schedule has put {report['done']} away, and failed with {report['failed']}")
        cls._steer(manage, "cancel")
        load.away.update({account.name: account for account in load.people.disguisers["dormant"]})

    @classmethod
    def _steer(cls, manage: Manage, action: str) -> None:
        try:
            manage("edna_jobs", action, cls._job)
        except RuntimeError:
            # It may have come to its end by itself.
            if cls._report(manage)["left"]:
                raise

    @classmethod
    def _report(cls, manage: Manage) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(manage("edna_jobs", "show", cls._job, "--json"))
        return found
