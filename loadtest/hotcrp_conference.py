"""The whole conference is anonymised by a job, and everybody takes back what is theirs.

One turn is one round of it: a member of the staff starts the job on the admin pages and watches it there; once it is over, the committee
reclaims, and then everybody else who had something, so that the next baseline finds the conference as it was.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterable
from typing import Any

import gevent

from loadtest.browser import Unexpected
from loadtest.crowd import Guided, all_at_once
from loadtest.disguisers import Disguiser
from loadtest.hotcrp_sight import CONFERENCE, LOGGED_IN
from loadtest.people import Account
from loadtest.samples import AROUND, DISGUISE, REVEAL, Sample

ANONYMISE = "hotcrp.anonymize-conference"
_CATALOGUE = f"/admin/edna_operations/disguisecatalogue/{ANONYMISE}"
#: How long a job may take that nobody works on, or that is too slow.
PATIENCE_SECONDS = 1200
#: A page that was asked for while the conference was anonymised may still be under way this long after it.
GRACE_SECONDS = 3
#: What the page says if many reclaim at once what they share, and the database gave way to others each time. It asks to try again.
BUSY = "The site is very busy."
TRIES = 20


class ConferenceAnonymised(Disguiser):
    """The member of the staff; those who reclaim each have a browser of their own."""

    def pair(self, account: Account) -> None:
        """It concerns everybody, so it makes no difference for whom."""
        facts = self.load.people.facts
        self.forget_cookies()
        self.enter("/admin/login/", {"username": facts["staff"], "password": self.load.people.password})
        everybody = [Account(email, code, facts["rows"][email]) for email, code in facts["codes"].items()]
        committee = set(facts["committee"])
        # Before, so that whoever is anonymised in a job that breaks off is brought back at the end.
        self.load.away.update((each.name, each) for each in everybody)
        CONFERENCE.close()
        self._anonymise()
        CONFERENCE.leave(text for email in committee for text in self._texts(email))
        everybody.sort(key=lambda each: each.name not in committee)
        self._reclaim(everybody)
        self._opened_again()

    def bring_back(self) -> None:
        if self.load.away:
            self._reclaim(list(self.load.away.values()))
            self._opened_again()

    def _texts(self, email: str) -> list[str]:
        name = self.load.people.facts["names"].get(email)
        return [email, name] if name else [email]

    def _anonymise(self) -> None:
        """Start the job and wait for its end, as somebody does who has the page open. The time from the button to the last person counts
        as one disguise."""
        form = self.get(f"{_CATALOGUE}/", name="the disguise", kind=AROUND)
        preview = self.post(
            f"{_CATALOGUE}/preview/", {"whom": "everybody"}, token=form.token, name="preview for everybody", kind=AROUND
        )
        fields = {
            "whom": "everybody",
            "chosen": "",
            "person": "",
            "submission": preview.find(r'name="submission" value="([^"]+)"'),
            "confirmation": ANONYMISE,
        }
        rows = int(preview.find(r"<div><b>([\d,]+)</b> rows?</div>").replace(",", ""))
        began, clock = time.time(), time.perf_counter()
        page = self.post(f"{_CATALOGUE}/apply/", fields, token=preview.token, name="start the job", kind=AROUND)
        address = page.find(r'data-live="(/admin/edna_operations/job/\d+/progress/)"')
        found = self._watched(address)
        ms = (time.perf_counter() - clock) * 1000
        self.load.samples.append(Sample(began, DISGUISE, "anonymise the conference (whole job)", ms, 200, rows))
        if found["figures"]["failed"] != "0" or found["figures"]["done"] != found["figures"]["total"]:
            raise Unexpected(f"the job has not done everybody: {found['figures']}")

    def _watched(self, address: str) -> Any:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            (found,) = json.loads(self.get(address, name="progress of the job", kind=AROUND).text)["jobs"]
            if not found["version"].startswith(("running", "waiting")):
                return found
            gevent.sleep(0.5)
        raise Unexpected("the job has not come to its end")

    def _reclaim(self, everybody: Iterable[Account]) -> None:
        """All of them, some at a time. One who fails stays away, and the others go on."""

        def one(browser: Member, account: Account) -> None:
            CONFERENCE.come_back(self._texts(account.name))
            browser.reclaim(account)
            del self.load.away[account.name]

        self.load.wrong += all_at_once(Member, self.environment, everybody, one)

    def _opened_again(self) -> None:
        """With the last conflict that is back, the conference is open; the chair's page says if it is not."""
        if self.load.away:
            return
        gevent.sleep(GRACE_SECONDS)
        CONFERENCE.open()
        chair = Member(self.environment)
        chair.enter("/login/", {"email": self.load.people.ordinary["chairs"][0], "password": self.load.people.password})
        home = chair.get("/", name="home", kind=AROUND)
        home.find(LOGGED_IN)
        if "This conference has been anonymised" in home.text:
            raise Unexpected("the conference is still closed when everybody is back")


class Member(Guided):
    """Somebody who was anonymised, with the recovery code."""

    abstract = True
    root = "/hotcrp"

    def reclaim(self, account: Account) -> None:
        for _ in range(TRIES):
            form = self.get("/disguised/", name="what is disguised (form)", kind=AROUND)
            code = {"recovery_code": account.recovery_code}
            page = self.post(
                "/disguised/reclaim/", code, token=form.token, name="reclaim", kind=REVEAL, rows=account.rows
            )
            if BUSY not in page.text:
                break
            gevent.sleep(random.uniform(0.5, 1.5))
        nothing = "There is nothing here that was made anonymous of you." in page.text
        if not nothing and not re.search(r"<h1>It is back</h1>", page.text):
            raise Unexpected("somebody could not reclaim everything")
